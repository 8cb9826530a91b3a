// SPDX-License-Identifier: BSD-3-Clause
// test_traffic.cpp - bytes that are really saved (user case A48), and no allocation in a repeated
// call.
//
// Where the linker can, the program is linked with --wrap=malloc and so on: calls of these from the
// library, which is linked statically, are counted, those of MPI and UCX are not.
#include <mpi.h>
#include <wring.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "../common/mpi_check.hpp"
#include "runtime/runtime.hpp"

namespace {

std::atomic<long> g_allocations{0};

}  // namespace

// --- allocations
// ------------------------------------------------------------------------------------

namespace {

// Not inline: compilers would warn of the mix of new and free.
[[gnu::noinline]] void* allocate(std::size_t bytes, std::size_t align) {
  ++g_allocations;
  void* p =
      std::aligned_alloc(align, (bytes + align - 1) / align * align + (bytes == 0 ? align : 0));
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
[[gnu::noinline]] void deallocate(void* p) noexcept { std::free(p); }

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t align) {
  return allocate(bytes, static_cast<std::size_t>(align));
}
void operator delete(void* p) noexcept { deallocate(p); }
void operator delete(void* p, std::size_t) noexcept { deallocate(p); }
void operator delete(void* p, std::align_val_t) noexcept { deallocate(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { deallocate(p); }

#ifdef WRING_TEST_WRAP
extern "C" {
void* __real_malloc(std::size_t);
void* __real_calloc(std::size_t, std::size_t);
void* __real_realloc(void*, std::size_t);
void* __real_aligned_alloc(std::size_t, std::size_t);
void* __wrap_malloc(std::size_t n) { return ++g_allocations, __real_malloc(n); }
void* __wrap_calloc(std::size_t n, std::size_t each) {
  return ++g_allocations, __real_calloc(n, each);
}
void* __wrap_realloc(void* p, std::size_t n) { return ++g_allocations, __real_realloc(p, n); }
void* __wrap_aligned_alloc(std::size_t a, std::size_t n) {
  return ++g_allocations, __real_aligned_alloc(a, n);
}
}
#endif

namespace {

int g_rank, g_size;

struct Named {
  const char* name;
  MPIX_Codec codec;
  double most;  ///< of wire bytes to raw bytes
};
const Named kCodecs[] = {{"none", MPIX_CODEC_NONE, 1.01},
                         {"fp16", MPIX_CODEC_FP16, 0.51},
                         {"bf16", MPIX_CODEC_BF16, 0.51},
                         {"int8", MPIX_CODEC_INT8, 0.27},
                         {"int4", MPIX_CODEC_INT4, 0.15}};

void bytes_are_saved() {
  constexpr int kCount = 1 << 20;
  std::vector<float> in(kCount), out(kCount);
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<float>((i * 2654435761u) % 1000003) / 1000003 - 0.5f;
  for (const char* algorithm : {"auto", "ring"}) {
    CHECK(wring::runtime::set_algorithm(MPI_COMM_WORLD, algorithm).ok(), "%s", algorithm);
    for (const Named& c : kCodecs) {
      CHECK_SUCCESS(MPIX_Allreduce_compressed(in.data(), out.data(), kCount, MPI_FLOAT, MPI_SUM,
                                              c.codec, MPI_COMM_WORLD));
      const auto info = wring::runtime::last_call(MPI_COMM_WORLD);
      unsigned long long mine[2] = {info.wire_bytes, info.raw_bytes}, all[2] = {0, 0};
      PMPI_Allreduce(mine, all, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
      const double ratio = static_cast<double>(all[0]) / static_cast<double>(all[1]);
      CHECK(info.compressed && all[1] > 0 && ratio <= c.most, "%s, %s: %llu of %llu bytes, %.4f",
            algorithm, c.name, all[0], all[1], ratio);
      // Raw bytes are those of the least that any all-reduce can do: 2 (R - 1) times the vector.
      CHECK(all[1] == 2ull * static_cast<unsigned>(g_size - 1) * kCount * sizeof(float), "%llu",
            all[1]);
      if (std::string(c.name) == "none") CHECK(ratio >= 1, "%.4f", ratio);
    }
  }
}

/// A codec that saves nothing, because the message is small, says so.
void small_messages_go_raw() {
  CHECK(wring::runtime::set_algorithm(MPI_COMM_WORLD, "auto").ok(), "auto");
  float in[10] = {}, out[10];
  CHECK_SUCCESS(
      MPIX_Allreduce_compressed(in, out, 10, MPI_FLOAT, MPI_SUM, MPIX_CODEC_INT8, MPI_COMM_WORLD));
  const auto info = wring::runtime::last_call(MPI_COMM_WORLD);
  CHECK(std::string(info.choice.codec.codec->name) == "none", "%s", info.choice.codec.codec->name);
  CHECK(std::string(info.choice.reason).find("raw") != std::string::npos, "%s", info.choice.reason);
}

void no_allocation() {
  // The counters count.
  const long before = g_allocations;
  delete new std::vector<int>(100);
  CHECK(g_allocations >= before + 2, "allocations are not counted");
#ifdef WRING_TEST_WRAP
  const long without_malloc = g_allocations;
  void* volatile kept = std::malloc(100);
  std::free(kept);
  CHECK(g_allocations > without_malloc, "malloc is not counted");
#endif

  std::vector<double> in(100000, 1), out(100000);
  for (const char* algorithm : {"auto", "recursive_doubling", "one_shot", "tree", "ring", "rabenseifner", "direct", "hierarchical"}) {
    CHECK(wring::runtime::set_algorithm(MPI_COMM_WORLD, algorithm).ok(), "%s", algorithm);
    for (const Named& c : kCodecs) {
      for (int n : {1, 1000, 100000}) {
        for (MPI_Datatype type : {MPI_FLOAT, MPI_DOUBLE}) {
          if (type == MPI_DOUBLE && std::string(algorithm) != "auto") continue;
          const auto call = [&] {
            return MPIX_Allreduce_compressed(in.data(), out.data(), n, type, MPI_SUM, c.codec,
                                             MPI_COMM_WORLD);
          };
          // The first calls make the plan, and the pools as large as they have to be, which depends
          // on how far ranks run apart.
          for (int i = 0; i < 5; ++i) CHECK_SUCCESS(call());
          MPI_Barrier(MPI_COMM_WORLD);
          long least = 1 << 30;
          for (int turn = 0; turn < 40 && least > 0; ++turn) {
            const long begin = g_allocations;
            int failed = 0;
            for (int i = 0; i < 4; ++i) failed += call() != MPI_SUCCESS;
            const long made = g_allocations - begin;
            CHECK(failed == 0, "%s", c.name);
            // All ranks repeat together if any has to: a pool may still have had to grow.
            long worst = 0;
            MPI_Allreduce(&made, &worst, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
            least = std::min(least, worst);
          }
          CHECK(least == 0, "%s, %s, %d elements: %ld allocations in 4 calls", algorithm, c.name, n,
                least);
        }
      }
    }
  }
}

/// A program that alternates between some calls, as a training with its layers does: none of them
/// is decided anew.
void no_allocation_in_turn() {
  CHECK(wring::runtime::set_algorithm(MPI_COMM_WORLD, "auto").ok(), "auto");
  std::vector<float> in(20000, 1), out(20000);
  const auto round = [&] {
    int failed = 0;
    for (int n = 1; n <= 40; ++n) {
      failed += MPIX_Allreduce_compressed(in.data(), out.data(), 500 * n, MPI_FLOAT, MPI_SUM,
                                          kCodecs[n % 5].codec, MPI_COMM_WORLD) != MPI_SUCCESS;
    }
    return failed;
  };
  for (int i = 0; i < 5; ++i) CHECK(round() == 0, "round %d", i);
  long least = 1 << 30;
  for (int turn = 0; turn < 40 && least > 0; ++turn) {
    const long begin = g_allocations;
    CHECK(round() == 0, "turn %d", turn);
    const long made = g_allocations - begin;
    long worst = 0;
    MPI_Allreduce(&made, &worst, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    least = std::min(least, worst);
  }
  CHECK(least == 0, "%ld allocations in 40 calls that were all made before", least);
}

/// Starts of plans, and nonblocking calls that overlap, after the first few. What MPI allocates for a
/// request is not counted.
void no_allocation_without_waiting() {
  CHECK(wring::runtime::set_algorithm(MPI_COMM_WORLD, "auto").ok(), "auto");
  constexpr int kPlans = 6;
  std::vector<std::vector<float>> in(kPlans, std::vector<float>(60000, 1)), out = in;
  MPIX_Plan plans[kPlans];
  const int counts[kPlans] = {1, 0, 500, 5000, 60000, 30000};
  for (std::size_t k = 0; k < kPlans; ++k)
    CHECK_SUCCESS(MPIX_Allreduce_compressed_init(in[k].data(), out[k].data(), counts[k], MPI_FLOAT,
                                                 MPI_SUM, kCodecs[k % 5].codec, MPI_COMM_WORLD,
                                                 MPI_INFO_NULL, &plans[k]));
  const auto round = [&] {
    int failed = MPIX_Plan_startall(kPlans, plans);
    MPI_Request requests[5];
    for (std::size_t k = 0; k < 4; ++k)
      failed += MPIX_Iallreduce_compressed(in[k].data(), out[k].data() + 30000, 1 + 7000 * (static_cast<int>(k) / 2),
                                           MPI_FLOAT, MPI_SUM, kCodecs[k % 3].codec, MPI_COMM_WORLD, &requests[k]);
    failed += MPIX_Plan_request(plans[4], &requests[4]);
    failed += MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
    return failed + MPIX_Plan_waitall(kPlans, plans);
  };
  for (int i = 0; i < 10; ++i) CHECK(round() == 0, "round %d", i);
  long least = 1 << 30;
  for (int turn = 0; turn < 40 && least > 0; ++turn) {
    const long begin = g_allocations;
    int failed = 0;
    for (int i = 0; i < 4; ++i) failed += round();
    const long made = g_allocations - begin;
    CHECK(failed == 0, "turn %d", turn);
    long worst = 0;
    MPI_Allreduce(&made, &worst, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    least = std::min(least, worst);
  }
  CHECK(least == 0, "%ld allocations in 4 rounds", least);
  for (MPIX_Plan& plan : plans) CHECK_SUCCESS(MPIX_Plan_free(&plan));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  wring::test::Cases cases(argc, argv);
  g_rank = cases.rank();
  g_size = cases.size();
  cases.run("A48 BytesAreSaved", bytes_are_saved);
  cases.run("A48 SmallMessagesGoRaw", small_messages_go_raw);
  cases.run("Allocation NoneInARepeatedCall", no_allocation);
  cases.run("Allocation NoneInCallsByTurns", no_allocation_in_turn);
  cases.run("Allocation NoneInStartsAndNonblockingCalls", no_allocation_without_waiting);
  return cases.finish();
}
