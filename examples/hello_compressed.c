/* SPDX-License-Identifier: BSD-3-Clause
 * hello_compressed.c - sums a vector over all ranks with compressed traffic and prints the error.
 *
 *   mpicc hello_compressed.c $(pkg-config --cflags --libs wring) -lm -o hello_compressed
 *   mpirun -n 4 ./hello_compressed int8
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <wring.h>

enum { COUNT = 1 << 20 };

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  /* How values travel: "none", "bf16", "int8:block=64", ... By default an error ends the program;
   * we ask to have it returned, because the codec's name comes from the user. */
  MPIX_Codec codec;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int error = MPIX_Codec_create(argc > 1 ? argv[1] : "bf16", &codec);
  if (error != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(error, text, &length);
    if (rank == 0) fprintf(stderr, "%s\n", text);
    MPI_Finalize();
    return 1;
  }

  float *mine = malloc(COUNT * sizeof *mine);
  float *sum = malloc(COUNT * sizeof *sum);
  if (mine == NULL || sum == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < COUNT; i++) mine[i] = (float)((rank + 1) * sin(0.001 * i));

  /* The call: MPI_Allreduce with one more argument. All ranks get the same bytes. */
  MPIX_Allreduce_compressed(mine, sum, COUNT, MPI_FLOAT, MPI_SUM, codec, MPI_COMM_WORLD);

  double largest = 0.0; /* the ranks' factors add up to ranks * (ranks + 1) / 2 */
  for (int i = 0; i < COUNT; i++) {
    largest = fmax(largest, fabs(sum[i] - ranks * (ranks + 1) / 2.0 * sin(0.001 * i)));
  }
  if (rank == 0) {
    char spec[256];
    int size = sizeof spec;
    MPIX_Codec_to_string(codec, spec, &size);
    printf("%d floats, %d ranks, codec %s: largest error %.2e of values up to %.0f\n", COUNT, ranks,
           spec, largest, ranks * (ranks + 1) / 2.0);
  }

  free(mine);
  free(sum);
  MPIX_Codec_free(&codec);
  MPI_Finalize();
  return 0;
}
