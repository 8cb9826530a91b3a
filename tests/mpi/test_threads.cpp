// SPDX-License-Identifier: BSD-3-Clause
// test_threads.cpp - several threads at once, each with its own communicator (user case A24,
// blocking calls).
#include <mpi.h>
#include <wring.h>

#include <algorithm>
#include <atomic>
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
  return cases.finish();
}
