// SPDX-License-Identifier: BSD-3-Clause
// test_exchange.cpp - starts that are one exchange: the same bytes and counts as step by step, on all ranks,
// whichever way each of them goes.
#include <gtest/gtest.h>

#include <random>

#include "common/sim_cases.hpp"

namespace wring::sim {
namespace {

/// Short enough for one frame.
std::vector<Call> make_calls(const char* algorithm, int size, std::uint64_t count, Dtype dtype, Op op, bool in_place) {
  std::mt19937_64 random(static_cast<std::uint64_t>(size) + count);
  std::normal_distribution<double> gauss;
  return calls_of(problem_of(size, count, dtype, op, spec_of("none")), algorithm::find(algorithm),
                  [&](int, std::uint64_t) { return gauss(random); }, in_place);
}

/// A channel without a short way.
Decorate step_by_step() {
  return [](int, std::unique_ptr<transport::Channel> inner) {
    return transport::hook_trace(std::move(inner), [](int, const std::byte*, std::size_t) {});
  };
}

struct Kind {
  const char* algorithm;
  int size;
};

TEST(Exchange, GivesWhatStepsGive) {
  for (const Kind& kind : {Kind{"recursive_doubling", 2}, Kind{"one_shot", 2}, Kind{"one_shot", 3}, Kind{"one_shot", 5}, Kind{"one_shot", 8}}) {
    std::uint64_t short_frames = 0;
    for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16}) {
      for (const Op op : {Op::sum, Op::avg}) {
        for (const std::uint64_t count : {1u, 7u, 100u}) {
          const auto calls = make_calls(kind.algorithm, kind.size, count, dtype, op, count == 7);
          World plain(kind.size, 5, false, step_by_step());
          const auto expected = plain.run(calls);
          ASSERT_EQ(plain.fabric().short_frames(), 0u);
          World world(kind.size, 7 + count);
          for (int round = 0; round < 6; ++round) {
            const auto outcomes = world.run(calls);
            for (std::size_t r = 0; r < outcomes.size(); ++r) {
              ASSERT_EQ(outcomes[r].code, Code::ok) << outcomes[r].what;
              ASSERT_EQ(outcomes[r].result, expected[r].result) << kind.algorithm << ", rank " << r << " of " << kind.size;
              EXPECT_EQ(outcomes[r].counters.frames, expected[r].counters.frames);
              EXPECT_EQ(outcomes[r].counters.wire_bytes, expected[r].counters.wire_bytes);
              EXPECT_EQ(outcomes[r].counters.raw_bytes, expected[r].counters.raw_bytes);
            }
          }
          short_frames += world.fabric().short_frames();
          EXPECT_EQ(world.fabric().kept(), 0u);
        }
      }
    }
    EXPECT_GT(short_frames, 100u) << kind.algorithm << " on " << kind.size << " ranks was never an exchange";
  }
}

TEST(Exchange, DisagreementIsAnErrorOnAllRanks) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    World world(3, seed);
    auto calls = make_calls("one_shot", 3, 10, Dtype::f32, Op::sum, false);
    calls[1] = make_calls("one_shot", 3, 11, Dtype::f32, Op::sum, false)[1];
    for (const Outcome& out : world.run(calls)) EXPECT_EQ(out.code, Code::mismatch) << out.what;
    const auto right = make_calls("one_shot", 3, 10, Dtype::f32, Op::sum, false);
    for (const Outcome& out : world.run(right)) EXPECT_EQ(out.code, Code::ok) << out.what;
    EXPECT_EQ(world.fabric().kept(), 0u);
  }
}

}  // namespace
}  // namespace wring::sim
