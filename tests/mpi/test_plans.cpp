// SPDX-License-Identifier: BSD-3-Clause
// test_plans.cpp - what plans promise when they are used as intended, and what calls on plans in
// every state give (user cases A20, A21, A22).
#include <mpi.h>
#include <wring.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "../common/mpi_check.hpp"
#include "../common/plan_check.hpp"

namespace {

using wring::test::description_of;
using wring::test::stats_of;
using wring::test::SumPlan;

int g_rank, g_size;

struct Named {
  const char* name;
  MPIX_Codec codec;
};
const Named kCodecs[] = {
    {"none", MPIX_CODEC_NONE}, {"bf16", MPIX_CODEC_BF16}, {"int8", MPIX_CODEC_INT8}};

// --- A20 --------------------------------------------------------------------------------------

void contents_at_start() {
  // Scales of other magnitudes from start to start, and none at all.
  const double values[] = {1, 0, std::ldexp(1.0, 100), std::ldexp(1.0, -60), -4};
  for (const Named& c : kCodecs) {
    for (bool in_place : {false, true}) {
      for (int n : {1, 4097, 100000}) {
        SumPlan sum(n, c.codec, MPI_COMM_WORLD, in_place);
        CHECK_SUCCESS(sum.code());
        const std::string where =
            std::string(c.name) + (in_place ? ", in place, " : ", ") + std::to_string(n);
        const int turns = n < 100000 ? 100 : 10;
        for (int turn = 0; turn < turns; ++turn) {
          sum.fill(values[turn % 5] * (1 << turn % 4));
          CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
          if (turn % 3 == 0) {
            for (int flag = 0; !flag;) CHECK_SUCCESS(MPIX_Plan_test(sum.plan, &flag));
          } else {
            CHECK_SUCCESS(MPIX_Plan_wait(sum.plan));
          }
          sum.check((where + ", start " + std::to_string(turn)).c_str());
          if (turn % 10 == 1)
            CHECK(wring::test::same_everywhere(sum.result().data(), sum.result().bytes()), "%s",
                  where.c_str());
        }
      }
    }
  }
}

/// Between the end of a start and the next nothing is written any more.
void nothing_after_the_end() {
  SumPlan sum(50000, MPIX_CODEC_BF16);
  for (int turn = 0; turn < 20; ++turn) {
    sum.fill(1);
    CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
    CHECK_SUCCESS(MPIX_Plan_wait(sum.plan));
    sum.check("after the wait");
    for (std::size_t i = 0; i < sum.result().size(); ++i) sum.result()[i] = 77;
    float x = 1, y = 0;
    CHECK_SUCCESS(MPIX_Allreduce_compressed(&x, &y, 1, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE,
                                            MPI_COMM_WORLD));
    std::size_t changed = 0;
    for (std::size_t i = 0; i < sum.result().size(); ++i) changed += sum.result()[i] != 77;
    CHECK(changed == 0, "%zu elements were written after the end", changed);
  }
}

// --- A21 --------------------------------------------------------------------------------------

/// Every way to ask after a plan that is not running says: over.
void expect_inactive(MPIX_Plan plan, const char* when) {
  int flag = 0;
  MPI_Request request = static_cast<MPI_Request>(MPI_REQUEST_NULL);
  MPIX_Plan several[] = {plan, MPIX_PLAN_NULL, plan};
  CHECK_SUCCESS(MPIX_Plan_wait(plan));
  CHECK_SUCCESS(MPIX_Plan_test(plan, &flag));
  CHECK(flag == 1, "%s", when);
  CHECK_SUCCESS(MPIX_Plan_waitall(3, several));
  CHECK_SUCCESS(MPIX_Plan_request(plan, &request));
  CHECK(request == MPI_REQUEST_NULL, "%s: an inactive plan has a request", when);
  CHECK_SUCCESS(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

void inactive_plans() {
  for (int n : {0, 1, 30000}) {
    SumPlan sum(n, MPIX_CODEC_BF16);
    expect_inactive(sum.plan, "before the first start");
    for (int turn = 0; turn < 3; ++turn) {
      sum.fill(turn);
      CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
      CHECK_SUCCESS(MPIX_Plan_wait(sum.plan));
      sum.check("start");
      expect_inactive(sum.plan, "after the end");
    }
  }
  CHECK_SUCCESS(MPIX_Plan_waitall(0, nullptr));
  CHECK_SUCCESS(MPIX_Plan_startall(0, nullptr));
}

void mixed_with_inactive_and_null() {
  SumPlan a(20000, MPIX_CODEC_BF16), never(20000, MPIX_CODEC_NONE), b(3, MPIX_CODEC_NONE);
  for (int turn = 0; turn < 10; ++turn) {
    a.fill(1);
    b.fill(2);
    CHECK_SUCCESS(MPIX_Plan_start(a.plan));
    CHECK_SUCCESS(MPIX_Plan_start(b.plan));
    MPIX_Plan all[] = {MPIX_PLAN_NULL, a.plan, never.plan, b.plan, a.plan};
    CHECK_SUCCESS(MPIX_Plan_waitall(5, all));
    a.check("a");
    b.check("b");
  }
}

void active_plans() {
  for (int n : {0, 1, 300000}) {
    SumPlan sum(n, MPIX_CODEC_BF16), second(n, MPIX_CODEC_NONE), third(n, MPIX_CODEC_NONE);
    for (int turn = 0; turn < 3; ++turn) {
      sum.fill(1 << turn);
      second.fill(2);
      third.fill(3);
      CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
      CHECK_CLASS(MPIX_Plan_start(sum.plan), MPI_ERR_REQUEST);
      MPIX_Plan handle = sum.plan;
      CHECK_CLASS(MPIX_Plan_free(&handle), MPI_ERR_REQUEST);
      CHECK(handle == sum.plan, "a plan that was not freed has lost its handle");
      // startall stops at the active one; those before are started.
      MPIX_Plan plans[] = {second.plan, sum.plan, third.plan};
      CHECK_CLASS(MPIX_Plan_startall(3, plans), MPI_ERR_REQUEST);
      CHECK_CLASS(MPIX_Plan_start(second.plan), MPI_ERR_REQUEST);
      CHECK_SUCCESS(MPIX_Plan_start(third.plan));
      CHECK_SUCCESS(MPIX_Plan_waitall(3, plans));
      sum.check("the plan that was started twice");
      second.check("the one before");
      third.check("the one after");
    }
  }
}

void handles_that_are_none() {
  SumPlan sum(100, MPIX_CODEC_NONE);
  MPIX_Plan freed = sum.plan;
  CHECK_SUCCESS(MPIX_Plan_free(&sum.plan));
  CHECK(sum.plan == MPIX_PLAN_NULL, "the handle of a freed plan is not null");
  SumPlan other(100, MPIX_CODEC_NONE);  // takes the place of the freed one
  for (MPIX_Plan plan : {freed, static_cast<MPIX_Plan>(MPIX_PLAN_NULL)}) {
    int flag = 0, len = 0;
    MPI_Request request;
    MPIX_Stats stats;
    stats.size = sizeof stats;
    MPIX_Plan copy = plan;
    CHECK_CLASS(MPIX_Plan_start(plan), MPI_ERR_REQUEST);
    CHECK_CLASS(MPIX_Plan_startall(1, &plan), MPI_ERR_REQUEST);
    CHECK_CLASS(MPIX_Plan_wait(plan), MPI_ERR_REQUEST);
    CHECK_CLASS(MPIX_Plan_test(plan, &flag), MPI_ERR_REQUEST);
    CHECK_CLASS(MPIX_Plan_request(plan, &request), MPI_ERR_REQUEST);
    CHECK_CLASS(MPIX_Plan_describe(plan, nullptr, &len), MPI_ERR_REQUEST);
    CHECK_CLASS(MPIX_Plan_get_stats(plan, &stats), MPI_ERR_REQUEST);
    CHECK_CLASS(MPIX_Plan_free(&copy), MPI_ERR_REQUEST);
  }
  CHECK_CLASS(MPIX_Plan_waitall(1, &freed), MPI_ERR_REQUEST);
  CHECK_CLASS(MPIX_Plan_free(nullptr), MPI_ERR_ARG);
  CHECK_CLASS(MPIX_Plan_startall(-1, nullptr), MPI_ERR_COUNT);
  CHECK_CLASS(MPIX_Plan_startall(2, nullptr), MPI_ERR_ARG);
  CHECK_CLASS(MPIX_Plan_waitall(-1, nullptr), MPI_ERR_COUNT);
  CHECK_CLASS(MPIX_Plan_waitall(2, nullptr), MPI_ERR_ARG);
  CHECK_CLASS(MPIX_Plan_test(other.plan, nullptr), MPI_ERR_ARG);
  CHECK_CLASS(MPIX_Plan_request(other.plan, nullptr), MPI_ERR_REQUEST);
  other.fill(1);
  CHECK_SUCCESS(MPIX_Plan_start(other.plan));
  CHECK_SUCCESS(MPIX_Plan_wait(other.plan));
  other.check("the next plan");
}

// --- A22 --------------------------------------------------------------------------------------

void among_other_calls() {
  SumPlan a(80000, MPIX_CODEC_BF16), b(2000, MPIX_CODEC_NONE);
  for (int turn = 0; turn < 10; ++turn) {
    a.fill(1);
    b.fill(2);
    CHECK_SUCCESS(MPIX_Plan_start(a.plan));
    int mine = g_rank + turn, sum = 0;
    PMPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == g_size * (g_size - 1) / 2 + turn * g_size, "%d", sum);
    for (int n : {1, 30000}) {
      std::vector<float> in(static_cast<std::size_t>(n), static_cast<float>(g_rank)), out(in.size());
      CHECK_SUCCESS(MPIX_Allreduce_compressed(in.data(), out.data(), n, MPI_FLOAT, MPI_SUM,
                                              MPIX_CODEC_NONE, MPI_COMM_WORLD));
      CHECK(out.front() == g_size * (g_size - 1) / 2 && out.back() == out.front(), "%g",
            static_cast<double>(out.front()));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_SUCCESS(MPIX_Plan_start(b.plan));
    CHECK_SUCCESS(MPIX_Plan_wait(b.plan));
    b.check("b");
    CHECK_SUCCESS(MPIX_Plan_wait(a.plan));
    a.check("a");
  }
}

void in_any_order() {
  constexpr int kPlans = 7;
  const int counts[kPlans] = {1, 100, 3000, 0, 40000, 200000, 5};
  std::vector<std::unique_ptr<SumPlan>> sums;
  for (int k = 0; k < kPlans; ++k)
    sums.push_back(std::make_unique<SumPlan>(counts[k], kCodecs[k % 2].codec));
  for (int turn = 0; turn < 30; ++turn) {
    for (int k = 0; k < kPlans; ++k) sums[static_cast<std::size_t>(k)]->fill(1 << (turn + k) % 5);
    const auto nth = [&](int k, int step) -> SumPlan& {  // another order on each rank and turn
      return *sums[static_cast<std::size_t>((k * step + g_rank + turn) % kPlans)];
    };
    for (int k = 0; k < kPlans; ++k) CHECK_SUCCESS(MPIX_Plan_start(nth(k, 1 + g_rank % 3).plan));
    for (int k = 0; k < kPlans; ++k) {
      SumPlan& sum = nth(k, 1 + (g_rank + turn) % 4);
      CHECK_SUCCESS(MPIX_Plan_wait(sum.plan));
      sum.check("in another order");
    }
  }
}

/// One rank waits for a plan while its peer, which has started it, is in a call of MPI that waits
/// for the first rank.
void beside_a_barrier() {
  if (!wring::test::moves_on_in_any_call()) return;
  SumPlan sum(300000, MPIX_CODEC_BF16);
  for (int turn = 0; turn < 5; ++turn) {
    sum.fill(1);
    CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
    if ((g_rank + turn) % 2) MPI_Barrier(MPI_COMM_WORLD);
    CHECK_SUCCESS(MPIX_Plan_wait(sum.plan));
    if ((g_rank + turn) % 2 == 0) MPI_Barrier(MPI_COMM_WORLD);
    sum.check("beside a barrier");
  }
}

// --- what plans say about themselves ------------------------------------------------------------

void statistics() {
  for (int n : {0, 10, 200000}) {
    SumPlan sum(n, MPIX_CODEC_BF16);
    const MPIX_Stats before = stats_of(sum.plan);
    CHECK(before.size == sizeof before && before.starts == 0 && before.raw_bytes == 0 &&
              before.wire_bytes == 0 && before.frames == 0 && before.escapes == 0 &&
              before.dropped_nonfinite == 0 && before.seconds_total == 0,
          "%d elements: a plan that never ran", n);
    for (int turn = 1; turn <= 4; ++turn) {
      sum.fill(1);
      CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
      const MPIX_Stats active = stats_of(sum.plan);
      CHECK(active.starts == turn - 1 || active.starts == turn, "%lld", active.starts);
      CHECK_SUCCESS(MPIX_Plan_wait(sum.plan));
      const MPIX_Stats s = stats_of(sum.plan);
      CHECK(s.starts == turn, "%lld starts, not %d", s.starts, turn);
      CHECK(std::isnan(s.max_error) && std::isnan(s.bias), "nothing was checked");
      const bool sends = n > 0 && g_size > 1;
      CHECK((s.raw_bytes > 0) == sends && (s.wire_bytes > 0) == sends && (s.frames > 0) == sends,
            "%d elements: %lld, %lld, %lld", n, s.raw_bytes, s.wire_bytes, s.frames);
      if (n == 200000 && g_size > 1)
        CHECK(static_cast<double>(s.wire_bytes) <= 0.51 * static_cast<double>(s.raw_bytes) &&
                  s.seconds_total > 0 && s.seconds_encode > 0 && s.seconds_decode > 0 &&
                  s.seconds_wire >= 0 && s.seconds_encode + s.seconds_decode <= s.seconds_total,
              "%lld of %lld bytes, %g s: %g, %g, %g", s.wire_bytes, s.raw_bytes, s.seconds_total,
              s.seconds_encode, s.seconds_wire, s.seconds_decode);
    }
  }
}

void sizes_of_statistics() {
  SumPlan sum(1000, MPIX_CODEC_NONE);
  sum.fill(1);
  CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
  CHECK_SUCCESS(MPIX_Plan_wait(sum.plan));
  // A caller built with an older header knows less, one with a newer header more.
  for (std::size_t size : {sizeof(std::size_t), offsetof(MPIX_Stats, wire_bytes),
                           sizeof(MPIX_Stats), sizeof(MPIX_Stats) + 64}) {
    alignas(MPIX_Stats) unsigned char bytes[sizeof(MPIX_Stats) + 128];
    std::memset(bytes, 0x5a, sizeof bytes);
    auto* stats = reinterpret_cast<MPIX_Stats*>(bytes);
    stats->size = size;
    CHECK_SUCCESS(MPIX_Plan_get_stats(sum.plan, stats));
    CHECK(stats->size == size, "%zu", stats->size);
    if (size > sizeof stats->size) CHECK(stats->starts == 1, "%lld", stats->starts);
    for (std::size_t i = std::min(size, sizeof *stats); i < sizeof bytes; ++i)
      CHECK(bytes[i] == 0x5a, "size %zu: byte %zu was written", size, i);
  }
  MPIX_Stats stats;
  for (std::size_t size : {std::size_t{0}, sizeof(std::size_t) - 1}) {
    stats.size = size;
    CHECK_CLASS(MPIX_Plan_get_stats(sum.plan, &stats), MPI_ERR_ARG);
  }
  CHECK_CLASS(MPIX_Plan_get_stats(sum.plan, nullptr), MPI_ERR_ARG);
}

void descriptions() {
  SumPlan sum(50000, MPIX_CODEC_BF16);
  const std::string text = description_of(sum.plan);
  CHECK(text.find(g_size > 1 ? "bf16" : "copy") != std::string::npos, "%s", text.c_str());
  for (int len : {0, 1, 5, static_cast<int>(text.size()), static_cast<int>(text.size()) + 1, 4000}) {
    std::vector<char> buf(4001, '#');
    int inout = len;
    CHECK_SUCCESS(MPIX_Plan_describe(sum.plan, buf.data(), &inout));
    CHECK(inout == static_cast<int>(text.size()) + 1, "%d bytes are needed", inout);
    const auto kept = static_cast<std::size_t>(std::min(len, inout));
    CHECK(len == 0 || std::string(buf.data()) == text.substr(0, kept - 1), "%s", buf.data());
    for (std::size_t i = kept; i < buf.size(); ++i) CHECK(buf[i] == '#', "byte %zu", i);
  }
  int len = 5;
  CHECK_CLASS(MPIX_Plan_describe(sum.plan, nullptr, &len), MPI_ERR_ARG);
  CHECK_CLASS(MPIX_Plan_describe(sum.plan, nullptr, nullptr), MPI_ERR_ARG);
  len = -1;
  CHECK_CLASS(MPIX_Plan_describe(sum.plan, nullptr, &len), MPI_ERR_ARG);
  sum.fill(1);
  CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
  CHECK(description_of(sum.plan) == text, "it says something else while it is active");
  CHECK_SUCCESS(MPIX_Plan_wait(sum.plan));
  CHECK(description_of(sum.plan) == text, "it says something else after a start");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int failed = 0;
  {
    wring::test::Cases cases(argc, argv);
    g_rank = cases.rank();
    g_size = cases.size();
    cases.run("A20 ContentsAtStart", contents_at_start);
    cases.run("A20 NothingAfterTheEnd", nothing_after_the_end);
    cases.run("A21 InactivePlans", inactive_plans);
    cases.run("A21 MixedWithInactiveAndNull", mixed_with_inactive_and_null);
    cases.run("A21 ActivePlans", active_plans);
    cases.run("A21 HandlesThatAreNone", handles_that_are_none);
    cases.run("A22 AmongOtherCalls", among_other_calls);
    cases.run("A22 InAnyOrder", in_any_order);
    cases.run("A22 BesideABarrier", beside_a_barrier);
    cases.run("Statistics", statistics);
    cases.run("SizesOfStatistics", sizes_of_statistics);
    cases.run("Descriptions", descriptions);
    failed = cases.finish();
  }
  return failed;
}
