// SPDX-License-Identifier: BSD-3-Clause
// test_threads.cpp - several threads at once, each with its own communicator (user case A24).
#include <mpi.h>
#include <wring.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../common/mpi_check.hpp"

namespace {

constexpr int kThreads = 4;

int g_rank, g_size;
const wring::test::Cases* g_cases;

/// A thread's calls; returns how many went wrong.
int calls_of_thread(int thread, MPI_Comm comm, int calls) {
  int wrong = 0;
  std::vector<float> in(50000), out(50000);
  for (int i = 0; i < calls; ++i) {
    const int n = i % 3 == 0 ? 50000 - thread : 1 + i % 500;
    const float mine = static_cast<float>(g_rank + 1 + thread);
    std::fill_n(in.begin(), n, mine);
    std::fill_n(out.begin(), n, -1.0f);
    // A codec of its own for each call, made and freed while other threads do the same.
    MPIX_Codec codec = MPIX_CODEC_NULL;
    wrong += MPIX_Codec_create(i % 2 ? "bf16" : "fp16", &codec) != MPI_SUCCESS;
    wrong += MPIX_Allreduce_compressed(in.data(), out.data(), n, MPI_FLOAT, MPI_SUM, codec, comm) !=
             MPI_SUCCESS;
    wrong += MPIX_Codec_free(&codec) != MPI_SUCCESS;
    const float expected = static_cast<float>(g_size * (g_size + 1) / 2 + g_size * thread);
    for (int k = 0; k < n; ++k) wrong += out[static_cast<std::size_t>(k)] != expected;
    if (i % 7 == 0) MPI_Barrier(comm);  // MPI's own traffic between
  }
  return wrong;
}

void threads_at_once() {
  MPI_Comm comms[kThreads];
  for (MPI_Comm& c : comms) MPI_Comm_dup(MPI_COMM_WORLD, &c);
  std::atomic<int> wrong[kThreads] = {};
  std::vector<std::thread> threads;
  const int calls = g_cases->repetitions(300, 20);
  for (int t = 0; t < kThreads; ++t) {
    // Each rank starts its threads, hence the first calls on the communicators, in another order,
    // with time for each to get into its call.
    const int which = (t + g_rank) % kThreads;
    threads.emplace_back(
        [&, which] { wrong[which] = calls_of_thread(which, comms[which], calls); });
    usleep(10000);
  }
  for (auto& t : threads) t.join();
  for (int t = 0; t < kThreads; ++t)
    CHECK(wrong[t] == 0, "thread %d: %d wrong", t, wrong[t].load());
  for (MPI_Comm& c : comms) CHECK_SUCCESS(MPI_Comm_free(&c));
}

/// Plans, nonblocking and blocking calls of one thread, in an order of this rank's own where plans allow it;
/// returns how many went wrong.
int mix_of_thread(int thread, MPI_Comm comm, int rounds) {
  constexpr int kPlans = 3;
  const int counts[kPlans] = {1 + thread, 3000, 40000};
  std::mt19937 random(static_cast<unsigned>(100 * g_rank + thread));
  std::vector<float> in(40000), out[kPlans], of_call(500), of_blocking(2000);
  MPIX_Plan plans[kPlans];
  int wrong = 0;
  for (int p = 0; p < kPlans; ++p) {
    out[p].resize(in.size());
    wrong += MPIX_Allreduce_compressed_init(in.data(), out[p].data(), counts[p], MPI_FLOAT, MPI_SUM, p ? MPIX_CODEC_BF16 : MPIX_CODEC_NONE,
                                            comm, MPI_INFO_NULL, &plans[p]) != MPI_SUCCESS;
  }
  if (wrong != 0) return wrong;
  for (int i = 0; i < rounds; ++i) {
    std::fill(in.begin(), in.end(), static_cast<float>(g_rank + 1 + thread));
    const float expected = static_cast<float>(g_size * (g_size + 1) / 2 + g_size * thread);
    int order[kPlans] = {0, 1, 2};
    std::shuffle(order, order + kPlans, random);
    for (int p : order) wrong += MPIX_Plan_start(plans[p]) != MPI_SUCCESS;
    MPI_Request requests[2];
    wrong += MPIX_Iallreduce_compressed(in.data(), of_call.data(), 500, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE, comm, &requests[0]) != MPI_SUCCESS;
    wrong += MPIX_Plan_request(plans[2], &requests[1]) != MPI_SUCCESS;
    wrong += MPIX_Allreduce_compressed(in.data(), of_blocking.data(), 2000, MPI_FLOAT, MPI_SUM, MPIX_CODEC_BF16, comm) != MPI_SUCCESS;
    if (i % 2) {
      wrong += MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) != MPI_SUCCESS;
    } else {
      for (MPI_Request& r : requests) wrong += MPI_Wait(&r, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    }
    std::shuffle(order, order + kPlans, random);
    for (int p : order) {
      wrong += MPIX_Plan_wait(plans[p]) != MPI_SUCCESS;
      for (int k = 0; k < counts[p]; ++k) wrong += out[p][static_cast<std::size_t>(k)] != expected;
      std::fill(out[p].begin(), out[p].end(), -1.0f);
    }
    for (float x : of_call) wrong += x != expected;
    for (float x : of_blocking) wrong += x != expected;
    std::fill(of_call.begin(), of_call.end(), -1.0f);
  }
  for (MPIX_Plan& plan : plans) wrong += MPIX_Plan_free(&plan) != MPI_SUCCESS;
  return wrong;
}

/// 16 communicators, one thread each.
void everything_at_once() {
  constexpr int kMany = 16;
  MPI_Comm comms[kMany];
  for (MPI_Comm& c : comms) MPI_Comm_dup(MPI_COMM_WORLD, &c);
  std::atomic<int> wrong[kMany] = {};
  std::vector<std::thread> threads;
  const int rounds = g_cases->repetitions(20, 6);
  for (int t = 0; t < kMany; ++t) {
    const int which = (5 * t + 3 * g_rank) % kMany;  // in another order on each rank
    threads.emplace_back([&, which] { wrong[which] = mix_of_thread(which, comms[which], rounds); });
  }
  for (auto& t : threads) t.join();
  for (int t = 0; t < kMany; ++t) CHECK(wrong[t] == 0, "thread %d: %d wrong", t, wrong[t].load());
  for (MPI_Comm& c : comms) CHECK_SUCCESS(MPI_Comm_free(&c));
}

void errors_in_threads() {
  // Every thread finds its own text.
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        MPIX_Codec codec = MPIX_CODEC_NULL;
        const int code = MPIX_Codec_create("int8:block=3", &codec);
        char text[MPI_MAX_ERROR_STRING] = "";
        int length = 0;
        wrong += code == MPI_SUCCESS || wring::test::error_class(code) != MPI_ERR_ARG;
        MPI_Error_string(code, text, &length);
        wrong += std::string(text).find("int8:block=3") == std::string::npos;
      }
    });
  }
  for (auto& t : threads) t.join();
  CHECK(wrong == 0, "%d wrong", wrong.load());
}

}  // namespace

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (level < MPI_THREAD_MULTIPLE) {
    std::printf("skipped: this MPI has no MPI_THREAD_MULTIPLE\n");
    MPI_Finalize();
    return 77;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  wring::test::Cases cases(argc, argv);
  g_cases = &cases;
  g_rank = cases.rank();
  g_size = cases.size();
  cases.run("A24 ThreadsAtOnce", threads_at_once, 40);
  cases.run("A24 ErrorsInThreads", errors_in_threads);
  cases.run("A24 EverythingAtOnce", everything_at_once, 90);
  return cases.finish();
}
