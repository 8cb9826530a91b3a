// SPDX-License-Identifier: BSD-3-Clause
// test_progress.cpp - large plans and nonblocking calls beside computation (user case A23). With
// WRING_PROGRESS=thread they must end while the program calls nothing at all, which shows in the receive
// buffer; without it only the answer counts.
#include <mpi.h>
#include <wring.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "../common/mpi_check.hpp"

namespace {

int g_rank, g_size;
constexpr int kCount = 16 << 20;  // 64 MiB
std::vector<float> g_in, g_out;

bool is(const char* name, const char* value) {
  const char* text = std::getenv(name);
  return text != nullptr && std::string(text) == value;
}

/// Whether starts move on by themselves: the thread may not call MPI at MPI_THREAD_SINGLE.
bool by_itself() { return is("WRING_PROGRESS", "thread") && !is("WRING_TRANSPORT", "mpi"); }

/// Computes until `ready` says that it may stop, or for so many rounds. No call of MPI or Wring.
template <class Ready>
bool compute(long rounds, Ready&& ready) {
  volatile double x = 1;
  for (long i = 0; i < rounds; ++i) {
    for (int k = 0; k < 1000; ++k) x = std::sqrt(x + k);
    if (ready()) return true;
  }
  return false;
}

void fill(float value) {
  for (std::size_t i = 0; i < g_in.size(); ++i) g_in[i] = value * static_cast<float>((g_rank + 1) * (1 + static_cast<int>(i % 7)));
  std::fill(g_out.begin(), g_out.end(), -1.0f);
}

/// Computes beside what runs; true if its result came meanwhile, if it must.
void beside_computation(const char* what) {
  if (!by_itself()) {
    compute(20000, [] { return false; });
    return;
  }
  const volatile float* out = g_out.data();
  std::size_t next = 0;  // every element in the end
  const bool ended = compute(50000000, [&] {
    while (next < g_out.size() && out[next] != -1) ++next;
    return next == g_out.size();
  });
  CHECK(ended, "%s: %zu of %d elements came while nobody called", what, next, kCount);
}

void check(float value, const char* what) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < g_out.size(); ++i)
    wrong += g_out[i] != value * static_cast<float>(g_size * (g_size + 1) / 2 * (1 + static_cast<int>(i % 7)));
  CHECK(wrong == 0, "%s: %zu elements are wrong", what, wrong);
}

void plans() {
  for (MPIX_Codec codec : {MPIX_CODEC_BF16, MPIX_CODEC_NONE}) {
    MPIX_Plan plan = MPIX_PLAN_NULL;
    CHECK_SUCCESS(MPIX_Allreduce_compressed_init(g_in.data(), g_out.data(), kCount, MPI_FLOAT,
                                                 MPI_SUM, codec, MPI_COMM_WORLD, MPI_INFO_NULL,
                                                 &plan));
    for (int turn = 0; turn < 2; ++turn) {
      fill(1.0f + static_cast<float>(turn));
      CHECK_SUCCESS(MPIX_Plan_start(plan));
      beside_computation("plan");
      CHECK_SUCCESS(MPIX_Plan_wait(plan));
      check(1.0f + static_cast<float>(turn), "plan");
    }
    CHECK_SUCCESS(MPIX_Plan_free(&plan));
  }
}

void calls() {
  MPI_Request request = MPI_REQUEST_NULL;
  fill(1);
  CHECK_SUCCESS(MPIX_Iallreduce_compressed(g_in.data(), g_out.data(), kCount, MPI_FLOAT, MPI_SUM,
                                           MPIX_CODEC_BF16, MPI_COMM_WORLD, &request));
  beside_computation("nonblocking call");
  CHECK_SUCCESS(MPI_Wait(&request, MPI_STATUS_IGNORE));
  check(1, "nonblocking call");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  wring::test::Cases cases(argc, argv);
  g_rank = cases.rank();
  g_size = cases.size();
  g_in.resize(kCount);
  g_out.resize(kCount);
  cases.run("A23 PlansBesideComputation", plans, 100);
  cases.run("A23 CallsBesideComputation", calls);
  return cases.finish();
}
