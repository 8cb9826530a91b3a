// SPDX-License-Identifier: BSD-3-Clause
// sim_cases.hpp - calls of simulated ranks, and checks of what they give.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/expected.hpp"
#include "sim/sim.hpp"

namespace wring::sim {

inline codec::Spec spec_of(const std::string& text) {
  codec::Spec spec;
  EXPECT_TRUE(codec::parse(text, spec).ok()) << text;
  return spec;
}

/// Specifications of all codecs of this build with their defaults.
inline std::vector<codec::Spec> all_codecs() {
  std::vector<codec::Spec> all;
  for (const auto* c : codec::all()) all.push_back({.codec = c, .params = c->defaults});
  return all;
}

/// All algorithms, and null for the choice of the library.
inline std::vector<const algorithm::Algorithm*> all_choices() {
  std::vector<const algorithm::Algorithm*> all{nullptr};
  for (const auto* a : algorithm::all()) all.push_back(a);
  return all;
}

inline const char* name_of_choice(const algorithm::Algorithm* a) { return a ? a->name : "auto"; }

inline plan::Problem problem_of(int size, std::uint64_t count, Dtype dtype, Op op,
                                const codec::Spec& codec) {
  return {.count = count,
          .dtype = dtype,
          .element_bytes = static_cast<std::uint32_t>(size_of(dtype)),
          .op = op,
          .opaque_id = 0,
          .size = size,
          .codec = codec};
}

/// The calls of all ranks, whose inputs are values rounded to the type. Small frames, so that there
/// are many of them.
inline std::vector<Call> calls_of(const plan::Problem& problem,
                                  const algorithm::Algorithm* algorithm, const test::Value& value,
                                  bool in_place = false) {
  std::vector<Call> calls(static_cast<std::size_t>(problem.size));
  const std::size_t each = size_of(problem.dtype);
  for (int r = 0; r < problem.size; ++r) {
    Call& call = calls[static_cast<std::size_t>(r)];
    call.problem = problem;
    // What looks at nodes gets some, not all of one size.
    if (algorithm != nullptr && algorithm->symmetry == algorithm::Symmetry::grid) {
      call.problem.nodes = algorithm::Nodes::blocks(problem.size, 3);
    }
    call.settings.algorithm = algorithm;
    call.settings.segment_bytes = 2048;
    call.in_place = in_place;
    call.data.resize(problem.count * each);
    for (std::uint64_t i = 0; i < problem.count; ++i) {
      save(problem.dtype, value(r, i), call.data.data() + i * each);
    }
  }
  return calls;
}

inline test::Expected expected_of(const std::vector<Call>& calls) {
  const plan::Problem& p = calls[0].problem;
  const std::size_t each = size_of(p.dtype);
  return test::expect(p, plan::choose(p, calls[0].settings), [&](int r, std::uint64_t i) {
    return load(p.dtype, calls[static_cast<std::size_t>(r)].data.data() + i * each);
  });
}

inline double result_at(const Call& call, const Outcome& outcome, std::uint64_t i) {
  return load(call.problem.dtype, outcome.result.data() + i * size_of(call.problem.dtype));
}

/// Success on all ranks, the same bytes on all ranks, every element within its published bound.
/// That guards and send buffers are untouched is part of the outcome's code (sim.hpp).
inline void expect_right(const std::vector<Call>& calls, const std::vector<Outcome>& outcomes) {
  for (std::size_t r = 0; r < outcomes.size(); ++r) {
    ASSERT_EQ(outcomes[r].code, Code::ok) << "rank " << r << ": " << outcomes[r].what;
    ASSERT_EQ(outcomes[r].result, outcomes[0].result)
        << "rank " << r << " has other bytes than rank 0";
  }
  const test::Expected e = expected_of(calls);
  for (std::uint64_t i = 0; i < calls[0].problem.count; ++i) {
    const double got = result_at(calls[0], outcomes[0], i);
    ASSERT_TRUE(test::within(got, e.exact[i], e.bound[i]))
        << "element " << i << ": " << got << " for " << e.exact[i] << ", bound " << e.bound[i];
  }
}

/// Runs a list of calls on every rank, each rank going on to its next call as soon as the last one
/// is over, without waiting for others. When nothing moves any more, ranks that wait get the error
/// that a time-out gives.
inline std::vector<std::vector<Outcome>> run_back_to_back(
    World& world, const std::vector<std::vector<Call>>& calls, std::uint64_t seed) {
  struct Rank {
    std::size_t next = 0;
    std::unique_ptr<plan::Plan> plan;
    std::unique_ptr<runtime::Execution> execution;
    Over waiter;
  };
  const std::size_t size = calls.size();
  std::vector<Rank> ranks(size);
  std::vector<std::vector<Outcome>> outcomes(size);
  std::mt19937_64 random(seed);
  int idle_rounds = 0;
  for (std::size_t left = size; left > 0;) {
    bool moved = false;
    for (std::size_t turn = 0; turn < size; ++turn) {
      const std::size_t r = random() % size;
      Rank& rank = ranks[r];
      runtime::Session& session = world.session(static_cast<int>(r));
      if (rank.execution != nullptr) {
        moved = session.progress() || moved;
        if (!rank.waiter.over) continue;
        Outcome& out = outcomes[r].back();
        out.code = rank.waiter.code;
        out.what = rank.waiter.what;
        out.counters = rank.execution->counters();
        rank.execution.reset();
        rank.plan.reset();
      } else if (rank.next < calls[r].size()) {
        const Call& call = calls[r][rank.next++];
        Outcome& out = outcomes[r].emplace_back();
        out.result.resize(call.data.size());
        if (call.problem.count == 0) {
          session.start_empty(session.calls());
          out.code = Code::ok;
        } else {
          rank.plan = std::make_unique<plan::Plan>(
              plan::make_plan(call.problem, call.settings, static_cast<int>(r)));
          rank.execution = std::make_unique<runtime::Execution>(
              *rank.plan, session.channel(), device::host_pool(), 0x1234567890abcdefu);
          rank.waiter = {};
          session.start(session.calls(), *rank.execution, call.data.data(), out.result.data(), {},
                        rank.waiter);
        }
      } else {
        moved = session.progress() || moved;  // as in MPI_Finalize
        continue;
      }
      moved = true;
      if (rank.execution == nullptr && rank.next == calls[r].size()) --left;
    }
    idle_rounds = moved || world.fabric().in_flight() > 0 ? 0 : idle_rounds + 1;
    if (idle_rounds <= 50) continue;
    for (std::size_t r = 0; r < size; ++r) {
      if (ranks[r].execution == nullptr) continue;
      runtime::Execution& execution = *ranks[r].execution;
      world.session(static_cast<int>(r))
          .fail_all(execution, fail(Code::timeout, 0, "rank %zu waits for %s", r,
                                    execution.waiting_for().c_str()));
    }
    idle_rounds = 0;
  }
  return outcomes;
}

/// Inputs whose sums are the same in any order: small integers.
inline double integers(int rank, std::uint64_t i) {
  return (rank + 1.0) * static_cast<double>(1 + i % 7);
}

}  // namespace wring::sim
