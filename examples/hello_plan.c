/* SPDX-License-Identifier: BSD-3-Clause
 * hello_plan.c - a plan is made once and started in each step, beside messages of the program's own.
 *
 *   mpicc hello_plan.c $(pkg-config --cflags --libs wring) -o hello_plan
 *   mpirun -n 4 ./hello_plan */
#include <stdio.h>
#include <stdlib.h>
#include <wring.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, n = 1 << 20;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  float *mine = malloc(n * sizeof *mine), *mean = malloc(n * sizeof *mean);

  /* Collective, like MPI_Allreduce_init: here it is decided how the average travels. */
  MPIX_Plan plan;
  MPIX_Allreduce_compressed_init(mine, mean, n, MPI_FLOAT, WRING_AVG, MPIX_CODEC_INT8, MPI_COMM_WORLD,
                                 MPI_INFO_NULL, &plan);
  for (int step = 0; step < 3; step++) {
    for (int i = 0; i < n; i++) mine[i] = (float)(rank + step);

    MPIX_Plan_start(plan); /* the plan's buffers are the library's until it has ended */
    MPI_Request requests[3];
    MPI_Status statuses[3];
    MPIX_Plan_request(plan, &requests[0]);
    double value = rank, neighbour;
    MPI_Irecv(&neighbour, 1, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(&value, 1, MPI_DOUBLE, (rank + 1) % ranks, 0, MPI_COMM_WORLD, &requests[2]);
    /* ... compute what needs neither ... */
    MPI_Waitall(3, requests, statuses);
    if (rank == 0) printf("step %d: mean %.3f, neighbour %g\n", step, mean[n - 1], neighbour);
  }

  MPIX_Stats stats = {.size = sizeof stats};
  MPIX_Plan_get_stats(plan, &stats);
  if (rank == 0) printf("%lld starts, %lld bytes sent instead of %lld\n", stats.starts, stats.wire_bytes, stats.raw_bytes);
  MPIX_Plan_free(&plan);
  free(mine);
  free(mean);
  MPI_Finalize();
  return 0;
}
