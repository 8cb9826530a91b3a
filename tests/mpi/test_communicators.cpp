// SPDX-License-Identifier: BSD-3-Clause
// test_communicators.cpp - Wring's calls among those of MPI, and on many communicators (user cases
// A22, A27).
#include <mpi.h>
#include <wring.h>

#include <string>
#include <vector>

#include "../common/mpi_check.hpp"

namespace {

int g_rank, g_size;

/// Our blocking call on comm with small integers, exact; `what` tells where.
void reduce(MPI_Comm comm, int n, MPIX_Codec codec, const char* what) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  // Equal magnitudes are exact with every codec here but int8 and int4, where they are within half
  // a step.
  std::vector<float> in(static_cast<std::size_t>(n), static_cast<float>(rank + 1)),
      out(in.size(), -1);
  CHECK_SUCCESS(
      MPIX_Allreduce_compressed(in.data(), out.data(), n, MPI_FLOAT, MPI_SUM, codec, comm));
  const float expected = static_cast<float>(size * (size + 1) / 2);
  std::size_t wrong = 0;
  for (float x : out) wrong += x != expected;
  CHECK(wrong == 0, "%s: %zu of %d elements are not %g, the first is %g", what, wrong, n,
        static_cast<double>(expected), static_cast<double>(out[0]));
}

void among_collectives_of_mpi() {
  for (int turn = 0; turn < 10; ++turn) {
    for (int n : {1, 1000, 100000}) {
      std::vector<double> pending(50000, g_rank), result(50000, -1);
      MPI_Request requests[2];
      MPI_Iallreduce(pending.data(), result.data(), 50000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                     &requests[0]);
      int mine = g_rank + turn, sum = 0;
      PMPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      CHECK(sum == g_size * (g_size - 1) / 2 + turn * g_size, "%d", sum);
      reduce(MPI_COMM_WORLD, n, MPIX_CODEC_NONE, "while an all-reduce of MPI is pending");
      MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
      reduce(MPI_COMM_WORLD, n, MPIX_CODEC_BF16, "while a barrier of MPI is pending, too");
      PMPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
      CHECK(sum == g_size - 1 + turn, "%d", sum);
      MPI_Barrier(MPI_COMM_WORLD);
      if (g_rank % 2) {
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      } else {
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      }
      for (double x : result) CHECK(x == g_size * (g_size - 1) / 2, "%g", x);
    }
  }
}

void user_messages() {
  // Receives with wildcards, posted before, get the user's messages and nothing else.
  const int to = (g_rank + 1) % g_size, from = (g_rank + g_size - 1) % g_size;
  for (int turn = 0; turn < 5; ++turn) {
    int got = -1, mine = 1000 * turn + g_rank;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    for (int n : {1, 70000})
      reduce(MPI_COMM_WORLD, n, MPIX_CODEC_FP16, "with a receive of the user pending");
    int done = 1;
    MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
    CHECK(!done, "the user's receive got a message that the user did not send");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&mine, 1, MPI_INT, to, turn, MPI_COMM_WORLD);
    MPI_Status status;
    MPI_Wait(&request, &status);
    CHECK(got == 1000 * turn + from && status.MPI_TAG == turn && status.MPI_SOURCE == from,
          "%d from %d", got, status.MPI_SOURCE);
  }
}

/// Groups of the world: the first 3/5 of the ranks, the rest, and, where there are enough, the last
/// rank.
int group_of(int rank) {
  if (g_size >= 4 && rank == g_size - 1) return 2;
  return rank < (3 * g_size + 4) / 5 ? 0 : 1;
}

void groups() {
  MPI_Comm group = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, group_of(g_rank), 0, &group);
  // Each group has its own number of calls, counts and codecs; the last makes no call at all.
  if (group_of(g_rank) == 0) {
    for (int i = 0; i < 30; ++i) reduce(group, 1 + 997 * i, MPIX_CODEC_NONE, "first group");
  } else if (group_of(g_rank) == 1) {
    for (int i = 0; i < 17; ++i)
      reduce(group, 40000 - 2001 * i, i % 2 ? MPIX_CODEC_FP16 : MPIX_CODEC_BF16, "second group");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_SUCCESS(MPI_Comm_free(&group));
}

void overlapping_communicators() {
  // The same ranks in another order, and neighbours; used alternately, freed in another order.
  MPI_Comm reversed = MPI_COMM_NULL, pairs = MPI_COMM_NULL, copy = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -g_rank, &reversed);
  MPI_Comm_split(MPI_COMM_WORLD, g_rank / 2, 0, &pairs);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (int i = 0; i < 5; ++i) {
    reduce(reversed, 20000, MPIX_CODEC_BF16, "ranks in reverse");
    reduce(pairs, 3000 * i + 1, MPIX_CODEC_NONE, "pairs");
    reduce(copy, 20000, MPIX_CODEC_NONE, "copy");
    reduce(MPI_COMM_WORLD, 20000, MPIX_CODEC_FP16, "world");
  }
  CHECK_SUCCESS(MPI_Comm_free(&reversed));
  reduce(copy, 20000, MPIX_CODEC_FP16, "copy, with another freed");
  CHECK_SUCCESS(MPI_Comm_free(&copy));
  reduce(pairs, 20000, MPIX_CODEC_FP16, "pairs, with others freed");
  CHECK_SUCCESS(MPI_Comm_free(&pairs));
}

void inter_communicator() {
  if (g_size < 2) return;
  const int low = (g_size + 1) / 2;  // ranks below form one group
  const bool first = g_rank < low;
  MPI_Comm local = MPI_COMM_NULL, inter = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, first, 0, &local);
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, first ? low : 0, 5, &inter);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  for (int n : {1, 30000}) {
    std::vector<float> in(static_cast<std::size_t>(n), static_cast<float>(g_rank)),
        out(in.size(), -1);
    CHECK_SUCCESS(MPIX_Allreduce_compressed(in.data(), out.data(), n, MPI_FLOAT, MPI_SUM,
                                            MPIX_CODEC_INT4, inter));
    int expected = 0;  // the sum of the other group, exactly
    for (int r = first ? low : 0; r < (first ? g_size : low); ++r) expected += r;
    CHECK(out.front() == expected && out.back() == expected, "%g, not %d",
          static_cast<double>(out.front()), expected);
  }
  float x = 1, y = 0;
  const int code =
      MPIX_Allreduce_compressed(&x, &y, 1, MPI_FLOAT, WRING_AVG, MPIX_CODEC_NONE, inter);
  CHECK(wring::test::error_class(code) == MPI_ERR_COMM, "WRING_AVG: %s",
        wring::test::error_text(code));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_SUCCESS(MPI_Comm_free(&inter));
  CHECK_SUCCESS(MPI_Comm_free(&local));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  wring::test::Cases cases(argc, argv);
  g_rank = cases.rank();
  g_size = cases.size();
  // First, so that nothing has touched MPI_COMM_WORLD when groups call.
  cases.run("A27 GroupsAtOnce", groups);
  cases.run("A22 AmongCollectivesOfMpi", among_collectives_of_mpi);
  cases.run("A26 WildcardReceiveOfTheUser", user_messages);
  cases.run("A27 OverlappingCommunicators", overlapping_communicators);
  cases.run("A27 InterCommunicator", inter_communicator);
  return cases.finish();
}
