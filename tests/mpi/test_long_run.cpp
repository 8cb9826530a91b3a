// SPDX-License-Identifier: BSD-3-Clause
// test_long_run.cpp - what only shows after many calls: leaks, worn-out numbers, mixed-up traffic
// (user cases A25, A26, A38, A46). Communicators that the library makes are counted by the wrappers
// below.
#include <mpi.h>
#include <wring.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "../common/mpi_check.hpp"
#include "runtime/runtime.hpp"

namespace {

int g_rank, g_size;
int g_made, g_freed;  // communicators, through the wrappers, that is by the library

}  // namespace

// The library's calls of these end here: it is linked statically. This file itself calls PMPI_.
extern "C" int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* out) {
  ++g_made;
  return PMPI_Comm_dup(comm, out);
}
extern "C" int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* out) {
  ++g_made;
  return PMPI_Comm_split(comm, color, key, out);
}
extern "C" int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* out) {
  ++g_made;
  return PMPI_Comm_create(comm, group, out);
}
extern "C" int MPI_Comm_free(MPI_Comm* comm) {
  ++g_freed;
  return PMPI_Comm_free(comm);
}

namespace {

const wring::test::Cases* g_cases;

long resident_bytes() {
  long pages = 0, resident = 0;
  if (FILE* f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(f);
  }
  return resident * sysconf(_SC_PAGESIZE);
}

constexpr long kMiB = 1 << 20;

void small_call(MPI_Comm comm, int i) {
  float in[3] = {static_cast<float>(g_rank), static_cast<float>(i), 1}, out[3] = {-1, -1, -1};
  CHECK_SUCCESS(
      MPIX_Allreduce_compressed(in, out, 1 + i % 3, MPI_FLOAT, MPI_SUM, MPIX_CODEC_BF16, comm));
  CHECK(out[0] == g_size * (g_size - 1) / 2, "call %d: %g", i, static_cast<double>(out[0]));
}

void many_calls() {
  const int calls = g_cases->repetitions(100000, 2000);
  const int warm_up = 2000;  // all kinds of calls, and pools as large as ranks that run apart need
  std::vector<double> in(20000, 1), out(20000);
  const auto mixed = [&](int i) {
    small_call(MPI_COMM_WORLD, i);
    if (i % 50 == 0)
      CHECK_SUCCESS(MPIX_Allreduce_compressed(in.data(), out.data(), 20000, MPI_DOUBLE, MPI_SUM,
                                              MPIX_CODEC_INT8, MPI_COMM_WORLD));
    if (i % 10 == 5)
      CHECK_SUCCESS(MPIX_Allreduce_compressed(in.data(), out.data(), 1 + i / 10 % 97, MPI_DOUBLE,
                                              MPI_MAX, MPIX_CODEC_NONE, MPI_COMM_WORLD));
  };
  for (int i = 0; i < warm_up; ++i) mixed(i);
  const long before = resident_bytes();
  const int made = g_made;
  for (int i = 0; i < calls; ++i) mixed(i);
  const long growth = resident_bytes() - before;
  CHECK(growth < kMiB, "%d calls: resident memory grew by %ld bytes", calls, growth);
  CHECK(g_made == made && g_made - g_freed <= 1, "%d communicators made, %d freed", g_made,
        g_freed);
}

void many_communicators() {
#ifdef MPICH_VERSION  // waits in MPI_Comm_dup without yielding; has 2,048 context identifiers
  const int turns = g_cases->repetitions(2100, 10);
#else
  const int turns = g_cases->repetitions(5000, 60);
#endif
  const auto turn = [](int i) {
    MPI_Comm copy = MPI_COMM_NULL;
    PMPI_Comm_dup(MPI_COMM_WORLD, &copy);
    const int made = g_made, alive = g_made - g_freed;
    small_call(copy, i);
    small_call(copy, i + 1);
    CHECK(g_made - made <= 1, "turn %d: %d communicators for one of the user", i, g_made - made);
    PMPI_Comm_free(&copy);
    CHECK(g_made - g_freed == alive, "turn %d: %d communicators alive, %d before", i,
          g_made - g_freed, alive);
  };
  for (int i = 0; i < turns / 10 + 1; ++i) turn(i);
  const long before = resident_bytes();
  for (int i = 0; i < turns; ++i) turn(i);
  const long growth = resident_bytes() - before;
  int too_much = growth >= kMiB;
  PMPI_Allreduce(MPI_IN_PLACE, &too_much, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (!too_much) return;
  // What MPI itself keeps of as many communicators is not ours.
  const long begin = resident_bytes();
  for (int i = 0; i < turns; ++i) {
    MPI_Comm copy[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
    PMPI_Comm_dup(MPI_COMM_WORLD, &copy[0]);
    PMPI_Comm_split(copy[0], 0, g_rank, &copy[1]);
    PMPI_Comm_free(&copy[1]);
    PMPI_Comm_free(&copy[0]);
  }
  const long of_mpi = resident_bytes() - begin;
  CHECK(growth < kMiB + of_mpi,
        "%d communicators: resident memory grew by %ld bytes, by %ld without Wring", turns, growth,
        of_mpi);
}

/// The library's name for a plan.
wring::runtime::PlanHandle handle_of(MPIX_Plan plan) {
  return reinterpret_cast<wring::runtime::PlanHandle>(plan);
}

void one_element_calls() {
  const int calls = g_cases->full() ? 1000000 : g_cases->repetitions(20000, 2000);
  for (int i = 0; i < calls; ++i) {
    double mine = g_rank + i, sum = -1;
    const int code = MPIX_Allreduce_compressed(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPIX_CODEC_NONE,
                                               MPI_COMM_WORLD);
    if (code != MPI_SUCCESS || sum != g_size * (g_size - 1) / 2 + static_cast<double>(i) * g_size) {
      CHECK(false, "call %d: %s, %g", i, wring::test::error_text(code), sum);
      return;
    }
  }
}

/// More ranks than processors: that it ends is all that is asked for here.
void more_ranks_than_processors() {
  const bool few = !g_cases->full();
  for (int i = 0; i < (few ? 500 : 10000); ++i) small_call(MPI_COMM_WORLD, i);
  std::vector<float> in(1 << 20, 1), out(1 << 20);
  MPIX_Plan plan = MPIX_PLAN_NULL;
  CHECK_SUCCESS(MPIX_Allreduce_compressed_init(in.data(), out.data(), 1 << 20, MPI_FLOAT, MPI_SUM,
                                               MPIX_CODEC_BF16, MPI_COMM_WORLD, MPI_INFO_NULL,
                                               &plan));
  for (int i = 0; i < (few ? 3 : 50); ++i) {
    CHECK_SUCCESS(MPIX_Allreduce_compressed(in.data(), out.data(), 1 << 20, MPI_FLOAT, MPI_SUM,
                                            MPIX_CODEC_NONE, MPI_COMM_WORLD));
    CHECK_SUCCESS(MPIX_Plan_start(plan));
    CHECK_SUCCESS(MPIX_Plan_wait(plan));
    CHECK(out[12345] == static_cast<float>(g_size), "%g", static_cast<double>(out[12345]));
  }
  CHECK_SUCCESS(MPIX_Plan_free(&plan));
}

void worn_out_numbers_of_plans() {
  const int counts[] = {5, 60000, 0, 3000};
  for (std::uint32_t start : {0xfffffffdu, 0x7ffffffdu}) {
    for (int n : counts) {
      std::vector<float> in(static_cast<std::size_t>(n)), out(in.size());
      MPIX_Plan plan = MPIX_PLAN_NULL;
      CHECK_SUCCESS(MPIX_Allreduce_compressed_init(in.data(), out.data(), n, MPI_FLOAT, MPI_SUM,
                                                   MPIX_CODEC_BF16, MPI_COMM_WORLD, MPI_INFO_NULL,
                                                   &plan));
      CHECK(wring::runtime::set_next_plan_start(handle_of(plan), start).ok(), "%u", start);
      PMPI_Barrier(MPI_COMM_WORLD);
      for (int i = 0; i < 10; ++i) {
        for (float& x : in) x = static_cast<float>((g_rank + 1) * (i + 1));
        CHECK_SUCCESS(MPIX_Plan_start(plan));
        small_call(MPI_COMM_WORLD, i);
        CHECK_SUCCESS(MPIX_Plan_wait(plan));
        std::size_t wrong = 0;
        for (float x : out) wrong += std::abs(x - (i + 1) * g_size * (g_size + 1) / 2.0f) > 0.01f * x;
        CHECK(wrong == 0, "start %d from %u: %zu of %d elements", i, start, wrong, n);
      }
      CHECK_SUCCESS(MPIX_Plan_free(&plan));
    }
  }
}

void worn_out_numbers() {
  void* value = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &found);
  const auto tag_ub = static_cast<std::uint32_t>(*static_cast<int*>(value));
  MPI_Comm comm = MPI_COMM_NULL;
  PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const MPIX_Codec codecs[] = {MPIX_CODEC_NONE, MPIX_CODEC_FP16, MPIX_CODEC_BF16};
  for (std::uint32_t start : {tag_ub - 2, 0xfffffffdu, 0x7ffffffdu}) {
    CHECK(wring::runtime::set_next_start(comm, start).ok(), "%u", start);
    int got = -1;
    const int mine = static_cast<int>(start) + g_rank;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
    for (int i = 0; i < 10; ++i) {
      const int n = i % 4 == 3 ? 0 : i % 2 ? 5 : 60000;
      std::vector<float> in(static_cast<std::size_t>(n), static_cast<float>(g_rank + 1)),
          out(in.size(), -1);
      CHECK_SUCCESS(MPIX_Allreduce_compressed(in.data(), out.data(), n, MPI_FLOAT, MPI_SUM,
                                              codecs[i % 3], comm));
      for (float x : out)
        CHECK(x == g_size * (g_size + 1) / 2, "call %d from %u: %g", i, start,
              static_cast<double>(x));
    }
    int done = 1;
    MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
    CHECK(!done, "the user's receive got a message that the user did not send");
    PMPI_Barrier(comm);
    MPI_Send(&mine, 1, MPI_INT, (g_rank + 1) % g_size, static_cast<int>(tag_ub), comm);
    MPI_Status status;
    MPI_Wait(&request, &status);
    CHECK(got == static_cast<int>(start) + (g_rank + g_size - 1) % g_size &&
              status.MPI_TAG == static_cast<int>(tag_ub),
          "%d", got);
  }
  PMPI_Comm_free(&comm);
}

// --- A38
// --------------------------------------------------------------------------------------------

template <class T>
void random_call(std::mt19937_64& random, const std::vector<T>& in, std::vector<T>& out,
                 MPI_Datatype type, int i) {
  static const MPIX_Codec codecs[] = {MPIX_CODEC_NONE, MPIX_CODEC_FP16, MPIX_CODEC_BF16,
                                      MPIX_CODEC_INT8, MPIX_CODEC_INT4};
  // 1 B to 4 MiB, each doubling as likely as any other.
  const double bytes =
      std::exp2(static_cast<double>(random() % 22) + static_cast<double>(random() % 1000) / 1000);
  const auto n = std::max<std::size_t>(1, static_cast<std::size_t>(bytes) / sizeof(T));
  const MPIX_Codec codec = codecs[random() % 5];
  const auto count = static_cast<int>(n);
  wring::runtime::CallInfo info;
  if (const auto form = random() % 4; form < 2) {
    CHECK_SUCCESS(MPIX_Allreduce_compressed(in.data(), out.data(), count, type, MPI_SUM, codec,
                                            MPI_COMM_WORLD));
    info = wring::runtime::last_call(MPI_COMM_WORLD);
  } else if (form == 2) {
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_SUCCESS(MPIX_Iallreduce_compressed(in.data(), out.data(), count, type, MPI_SUM, codec,
                                             MPI_COMM_WORLD, &request));
    CHECK_SUCCESS(MPI_Wait(&request, MPI_STATUS_IGNORE));
    info = wring::runtime::last_call(MPI_COMM_WORLD);
  } else {
    MPIX_Plan plan = MPIX_PLAN_NULL;
    CHECK_SUCCESS(MPIX_Allreduce_compressed_init(in.data(), out.data(), count, type, MPI_SUM, codec,
                                                 MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    CHECK_SUCCESS(MPIX_Plan_start(plan));
    CHECK_SUCCESS(MPIX_Plan_wait(plan));
    info = wring::runtime::last_start(handle_of(plan));
    CHECK_SUCCESS(MPIX_Plan_free(&plan));
  }
  // The input has a period of 7, and every codec block its largest magnitude.
  CHECK(info.compressed && info.problem.count == n, "call %d", i);
  if (!info.compressed) return;
  const double total = g_size * (g_size + 1) / 2;
  double exact[7], bound[7];
  for (int k = 0; k < 7; ++k) {
    exact[k] = total * (1 + k);
    bound[k] = wring::plan::ErrorBound(info.problem, info.choice)(exact[k], total * 7, exact[k]);
  }
  // Of long vectors some elements everywhere, and the ends; all of them now and then.
  const std::size_t step = n < 5000 || i % 50 == 0 ? 1 : 61;
  std::size_t wrong = 0;
  for (std::size_t j = n - 1; j < n; j -= step)
    wrong += !(std::abs(static_cast<double>(out[j]) - exact[j % 7]) <= bound[j % 7]);
  wrong += !(std::abs(static_cast<double>(out[0]) - exact[0]) <= bound[0]);
  CHECK(wrong == 0, "call %d: %zu of %zu elements, %s", i, wrong, n, info.choice.algorithm->name);
}

void ever_changing_calls() {
  constexpr std::size_t kMost = 4 << 20;
  std::vector<float> in32(kMost / sizeof(float)), out32(in32.size());
  std::vector<double> in64(kMost / sizeof(double)), out64(in64.size());
  for (std::size_t i = 0; i < in32.size(); ++i)
    in32[i] = static_cast<float>((g_rank + 1) * (1 + static_cast<int>(i % 7)));
  for (std::size_t i = 0; i < in64.size(); ++i)
    in64[i] = (g_rank + 1) * (1 + static_cast<int>(i % 7));
  std::mt19937_64 random(38);  // the same on all ranks
  const char* algorithms[] = {"auto", "recursive_doubling", "one_shot", "tree", "ring", "rabenseifner", "direct", "hierarchical"};
  const int calls = g_cases->full() ? 20000 : g_cases->repetitions(3000, 150);
  for (int i = 0; i < calls; ++i) {
    const char* algorithm = algorithms[random() % std::size(algorithms)];
    CHECK(wring::runtime::set_algorithm(MPI_COMM_WORLD, algorithm).ok(), "%s", algorithm);
    if (random() % 2) {
      random_call(random, in32, out32, MPI_FLOAT, i);
    } else {
      random_call(random, in64, out64, MPI_DOUBLE, i);
    }
  }
  CHECK(wring::runtime::set_algorithm(MPI_COMM_WORLD, "auto").ok(), "auto");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  wring::test::Cases cases(argc, argv);
  g_cases = &cases;
  g_rank = cases.rank();
  g_size = cases.size();
  cases.run("A25 ManyCalls", many_calls, 120);
  cases.run("A25 ManyCommunicators", many_communicators, 120);
  cases.run("A25 OneElementCalls", one_element_calls, 240);
  cases.run("A26 WornOutNumbers", worn_out_numbers);
  cases.run("A26 WornOutNumbersOfPlans", worn_out_numbers_of_plans);
  cases.run("A38 EverChangingCalls", ever_changing_calls, 240);
  cases.run("A46 MoreRanksThanProcessors", more_ranks_than_processors, 120);
  return cases.finish();
}
