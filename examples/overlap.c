/* SPDX-License-Identifier: BSD-3-Clause
 * overlap.c - hides an all-reduce behind the computation of a time step, and prints how much of it.
 *
 *   mpirun -n 4 ./overlap -n 4194304 -c int8 -p thread
 *
 * A model as many are: each rank swaps the edges of its part of a grid with its neighbours, integrates the
 * part (here the heat equation, by Jacobi sweeps), and needs the mean over all ranks of a long vector (here
 * the state of an ensemble member) by the end of the step. A plan, made once, averages the vector while the
 * sweeps run. The swap comes before the start: behind it, it would queue for the same link. */
#define _POSIX_C_SOURCE 200112L /* getopt */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wring.h>

enum { columns = 514, rows = 256 }; /* of a rank's part of the grid, edges left and right included */

static int rank, ranks, sweeps = 0, in_thread = 1;
static float grid[2][rows + 2][columns]; /* before and after a sweep; rows 0 and rows + 1 are the neighbours' */
static MPIX_Plan plan;

static void swap_edges(void) {
  const int above = rank > 0 ? rank - 1 : MPI_PROC_NULL, below = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  MPI_Sendrecv(grid[0][1], columns, MPI_FLOAT, above, 0, grid[0][rows + 1], columns, MPI_FLOAT, below, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(grid[0][rows], columns, MPI_FLOAT, below, 1, grid[0][0], columns, MPI_FLOAT, above, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void sweep(void) {
  for (int i = 1; i <= rows; i++)
    for (int j = 1; j < columns - 1; j++)
      grid[1][i][j] = 0.25f * (grid[0][i - 1][j] + grid[0][i + 1][j] + grid[0][i][j - 1] + grid[0][i][j + 1]);
  memcpy(grid[0][1], grid[1][1], sizeof grid[0] - 2 * sizeof grid[0][0]);
}

static double slowest(double ms) {
  MPI_Allreduce(MPI_IN_PLACE, &ms, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return ms;
}

/* A time step with the average, the sweeps, or both: milliseconds of it, and of the wait at its end. */
static double time_step(int with_average, int with_sweeps, double *wait) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  if (with_sweeps) swap_edges();
  if (with_average) MPIX_Plan_start(plan); /* from here to the wait, the plan's buffers are not ours */
  for (int s = 0; with_sweeps && s < sweeps; s++) {
    sweep();
    int over; /* without the thread, the plan moves on only when Wring is called */
    if (with_average && !in_thread) MPIX_Plan_test(plan, &over);
  }
  const double ready = MPI_Wtime();
  if (with_average) MPIX_Plan_wait(plan); /* now the mean is there */
  const double end = MPI_Wtime();
  *wait = slowest(1e3 * (end - ready));
  return slowest(1e3 * (end - begin));
}

static int compare(const void *a, const void *b) {
  return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static double median(double *values, int n) {
  qsort(values, n, sizeof *values, compare);
  return values[n / 2];
}

/* Compares the mean with that of MPI_Allreduce in double precision; the bound is that of the plan. */
static int check(const float *member, const float *mean, int n, const char *description) {
  double *exact = malloc(n * sizeof *exact), largest = 0.0, error = 0.0;
  for (int i = 0; i < n; i++) {
    exact[i] = member[i];
    largest = fmax(largest, fabsf(member[i]));
  }
  MPI_Allreduce(MPI_IN_PLACE, exact, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < n; i++) error = fmax(error, fabs(mean[i] - exact[i] / ranks));
  free(exact);
  MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);

  /* "..., error at most 7.91e-03 x the mean over ranks of block maxima, ..."; one rank alone copies. */
  const char *factor = strstr(description, "error at most ");
  double bound = factor ? strtod(factor + strlen("error at most "), NULL) * largest / ranks : 0.0;
  if (rank == 0) printf("largest error %.2e, bound %.2e: %s\n", error, bound, error <= bound ? "right" : "WRONG");
  return error <= bound;
}

int main(int argc, char **argv) {
  int n = 1 << 22, steps = 20, bad = 0, level;
  const char *spec = "int8";
  /* Whatever the transport, the thread may then use it: that of MPI is one. */
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  opterr = rank == 0;
  for (int option; (option = getopt(argc, argv, "n:c:p:t:s:")) != -1;) switch (option) {
      case 'n': n = atoi(optarg); break;
      case 'c': spec = optarg; break;
      case 'p': in_thread = strcmp(optarg, "mpi") != 0; break;
      case 't': steps = atoi(optarg); break;
      case 's': sweeps = atoi(optarg); break;
      default: bad = 1;
    }
  if (bad || optind < argc || n < 1 || steps < 1 || sweeps < 0) {
    if (rank == 0)
      fprintf(stderr, "Usage: overlap [-n ELEMENTS] [-c CODEC] [-p thread|mpi] [-t STEPS] [-s SWEEPS]\n"
              "Without -s, a step has as many sweeps as take five times as long as the average.\n");
    MPI_Finalize();
    return 2;
  }
  float *member = malloc(n * sizeof *member), *mean = malloc(n * sizeof *mean);
  for (int i = 0; i < n; i++) member[i] = (float)(273.0 + 20.0 * sin(1e-4 * i) + cos(0.37 * i + rank));
  for (int j = 0; j < columns; j++) grid[0][rows / 2][j] = grid[1][rows / 2][j] = 100.0f;

  MPIX_Codec codec;
  MPI_Info hints;
  MPIX_Codec_create(spec, &codec);
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "wring_progress", in_thread ? "thread" : "mpi");
  MPIX_Allreduce_compressed_init(member, mean, n, MPI_FLOAT, WRING_AVG, codec, MPI_COMM_WORLD, hints, &plan);
  MPI_Info_free(&hints);
  MPIX_Codec_free(&codec);

  char description[512];
  int size = sizeof description;
  MPIX_Plan_describe(plan, description, &size);
  if (rank == 0) printf("%d ranks, progress by %s: %s\n", ranks, in_thread ? "a thread" : "calls", description);

  /* Of the average, the sweeps, both, in turns, so that all see the same machine; and of the wait in both. */
  double *times[4], unused;
  for (int i = 0; i < 4; i++) times[i] = malloc(steps * sizeof *times[i]);
  if (sweeps == 0) {
    sweeps = 100;
    for (int i = 0; i < steps; i++) times[0][i] = time_step(1, 0, &unused), times[1][i] = time_step(0, 1, &unused);
    sweeps = (int)fmin(100000.0, fmax(1.0, 5.0 * sweeps * median(times[0], steps) / median(times[1], steps)));
  }
  for (int step = -1; step < steps; step++) { /* the first is not counted */
    const int i = step < 0 ? 0 : step;
    times[0][i] = time_step(1, 0, &unused);
    times[1][i] = time_step(0, 1, &unused);
    times[2][i] = time_step(1, 1, &times[3][i]);
  }
  const double average = median(times[0], steps), computation = median(times[1], steps);
  const double both = median(times[2], steps), wait = median(times[3], steps);
  const double hidden = 100.0 * (average + computation - both) / average;
  if (rank == 0)
    printf("average alone    %9.3f ms\ncomputation alone%9.3f ms, %d sweeps\nboth together    %9.3f ms\n"
           "hidden           %9.0f %% of the average\nwait at the end  %9.0f %% of the average\n",
           average, computation, sweeps, both, fmin(100.0, fmax(0.0, hidden)), 100.0 * wait / average);
  int right = check(member, mean, n, description);

  MPIX_Plan_free(&plan);
  free(member);
  free(mean);
  for (int i = 0; i < 4; i++) free(times[i]);
  MPI_Finalize();
  return right ? 0 : 1;
}
