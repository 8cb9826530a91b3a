/* SPDX-License-Identifier: BSD-3-Clause
 * hello_compressed.c - sums a vector over all ranks with compressed traffic and prints the error.
 *
 *   mpicc hello_compressed.c $(pkg-config --cflags --libs wring) -lm -o hello_compressed
 *   mpirun -n 4 ./hello_compressed int8 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <wring.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, n = 1 << 20;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  float *mine = malloc(n * sizeof *mine), *sum = malloc(n * sizeof *sum);
  for (int i = 0; i < n; i++) mine[i] = (float)((rank + 1) * sin(0.001 * i));

  /* How values travel: "none", "bf16", "int8:block=64" ... A bad name is an MPI error with a text that
   * says what is wrong with it; unless you set another error handler, it ends the program. */
  MPIX_Codec codec;
  MPIX_Codec_create(argc > 1 ? argv[1] : "bf16", &codec);

  /* MPI_Allreduce with one more argument. All ranks get the same bytes. */
  MPIX_Allreduce_compressed(mine, sum, n, MPI_FLOAT, MPI_SUM, codec, MPI_COMM_WORLD);

  double largest = 0.0, factors = ranks * (ranks + 1) / 2.0;
  for (int i = 0; i < n; i++) largest = fmax(largest, fabs(sum[i] - factors * sin(0.001 * i)));
  char spec[256];
  int size = sizeof spec;
  MPIX_Codec_to_string(codec, spec, &size);
  if (rank == 0) printf("%d ranks, codec %s: largest error %.2e in sums up to %g\n", ranks, spec, largest, factors);

  MPIX_Codec_free(&codec);
  free(mine);
  free(sum);
  MPI_Finalize();
  return 0;
}
