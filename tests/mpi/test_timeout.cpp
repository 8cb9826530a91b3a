// SPDX-License-Identifier: BSD-3-Clause
// test_timeout.cpp - a rank that does not come: whoever waits gets an error within WRING_TIMEOUT, in every
// form of call, and things work again once it does come.
#include <mpi.h>
#include <wring.h>

#include <cstdlib>
#include <string>

#include "../common/capture.hpp"
#include "../common/mpi_check.hpp"
#include "../common/plan_check.hpp"

namespace {

using wring::test::error_text;
using wring::test::SumPlan;

int g_rank, g_size;

void expect_timeout(int code, const char* form) {
  const std::string text = error_text(code);
  CHECK(text.find("no frame for") != std::string::npos || text.find("WRING_TIMEOUT") != std::string::npos,
        "%s: %s", form, text.c_str());
}

/// The last rank comes only after all others have given up; the start is over for it as well, unless all
/// that it needs has been sent before.
template <class Begin>
void late_rank(const char* form, Begin&& begin_and_wait) {
  if (g_size == 1) return;
  wring::test::Capture capture;
  const bool late = g_rank == g_size - 1;
  if (late) MPI_Barrier(MPI_COMM_WORLD);
  const int code = begin_and_wait();
  if (!late || code != MPI_SUCCESS) expect_timeout(code, form);
  if (!late) MPI_Barrier(MPI_COMM_WORLD);
  capture.end_with_failures();
  SumPlan next(5000, MPIX_CODEC_NONE);
  next.fill(1);
  CHECK_SUCCESS(MPIX_Plan_start(next.plan));
  CHECK_SUCCESS(MPIX_Plan_wait(next.plan));
  next.check(form);
}

void late_ranks() {
  SumPlan sum(20000, MPIX_CODEC_BF16);
  float in[10] = {}, out[10];
  late_rank("blocking call", [&] {
    return MPIX_Allreduce_compressed(in, out, 10, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE,
                                     MPI_COMM_WORLD);
  });
  late_rank("plan", [&] {
    CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
    return MPIX_Plan_wait(sum.plan);
  });
  late_rank("plan, tested", [&] {
    CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
    int flag = 0, code = MPI_SUCCESS;
    while (!flag) code = MPIX_Plan_test(sum.plan, &flag);
    return code;
  });
  late_rank("request of a plan", [&] {
    MPI_Request request;
    CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
    CHECK_SUCCESS(MPIX_Plan_request(sum.plan, &request));
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
  });
  late_rank("nonblocking call", [&] {
    MPI_Request request;
    CHECK_SUCCESS(MPIX_Iallreduce_compressed(in, out, 10, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE,
                                             MPI_COMM_WORLD, &request));
    int flag = 0, code = MPI_SUCCESS;
    while (!flag && code == MPI_SUCCESS) code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    return code;
  });
  // Both now end well.
  sum.fill(1);
  CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
  CHECK_SUCCESS(MPIX_Plan_wait(sum.plan));
  sum.check("at last");
}

/// A rank that computes for longer than the limit while others have long done their part.
void busy_rank() {
  SumPlan sum(20000, MPIX_CODEC_BF16);
  for (int turn = 0; turn < 2; ++turn) {
    sum.fill(1);
    CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
    int flag = 0;
    CHECK_SUCCESS(MPIX_Plan_test(sum.plan, &flag));
    usleep(1500000);  // on all ranks: none of them waits meanwhile
    if (!flag) CHECK_SUCCESS(MPIX_Plan_wait(sum.plan));
    sum.check("after a long computation");
  }
}

}  // namespace

int main(int argc, char** argv) {
  setenv("WRING_TIMEOUT", "0.7", 1);
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  wring::test::Cases cases(argc, argv);
  g_rank = cases.rank();
  g_size = cases.size();
  cases.run("LateRanks", late_ranks);
  cases.run("BusyRanks", busy_rank);
  return cases.finish();
}
