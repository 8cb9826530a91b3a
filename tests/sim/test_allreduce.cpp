// SPDX-License-Identifier: BSD-3-Clause
// test_allreduce.cpp - every algorithm and codec with any number of ranks, on all sorts of nodes, against
// the definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "common/placements.hpp"
#include "sim/sim.hpp"

namespace wring::sim {
namespace {

const int kSizes[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 31, 32, 33};

struct Case {
  const algorithm::Algorithm* algorithm;
  std::string codec;
  const test::Placement* placement;
};

std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  std::string name = std::string(info.param.algorithm->name) + "_" + info.param.codec;
  if (info.param.placement != &test::kPlacements[0]) name += std::string("_") + info.param.placement->name;
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto* a : algorithm::all()) {
    for (const test::Placement& placement : test::kPlacements) {
      for (const auto* c : codec::all()) all.push_back({a, c->name, &placement});
      all.push_back({a, "int8:block=32,rounding=stochastic,seed=7", &placement});
      if (a->symmetry != algorithm::Symmetry::grid) break;  // nothing depends on nodes
    }
  }
  return all;
}

codec::Spec spec_of(const std::string& text) {
  codec::Spec spec;
  EXPECT_TRUE(codec::parse(text, spec).ok()) << text;
  return spec;
}

/// Problem, settings and data of all ranks. Frames are small, so that there are many of them.
std::vector<Call> make_calls(int size, std::uint64_t count, Dtype dtype, Op op, const codec::Spec& codec,
                             const Case& of, const std::function<double(int, std::uint64_t)>& value) {
  std::vector<Call> calls(static_cast<std::size_t>(size));
  for (int r = 0; r < size; ++r) {
    Call& call = calls[static_cast<std::size_t>(r)];
    call.problem = {.count = count, .dtype = dtype, .element_bytes = static_cast<std::uint32_t>(size_of(dtype)), .op = op,
                    .opaque_id = 0, .size = size, .codec = codec,
                    .nodes = test::nodes_of(*of.placement, size)};
    call.settings.algorithm = of.algorithm;
    call.settings.segment_bytes = 512;
    call.data.resize(count * size_of(dtype));
    for (std::uint64_t i = 0; i < count; ++i) save(dtype, value(r, i), call.data.data() + i * size_of(dtype));
  }
  return calls;
}

/// A lost or damaged frame: at least one rank gets an error of that code; a rank that had all it needed
/// by then cannot know, and has the right result.
void expect_failure_or_right(const std::vector<Call>& calls, const std::vector<Outcome>& outcomes,
                             const std::vector<Outcome>& expected, Code code) {
  bool failed = false;
  for (std::size_t r = 0; r < calls.size(); ++r) {
    if (outcomes[r].code == Code::ok) {
      EXPECT_EQ(outcomes[r].result, expected[0].result) << "rank " << r;
    } else {
      failed = true;
      EXPECT_EQ(outcomes[r].code, code) << "rank " << r << ": " << outcomes[r].what;
    }
  }
  EXPECT_TRUE(failed);
}

/// Exact sum or average and the published bound, element by element.
void expect_right(const std::vector<Call>& calls, const std::vector<Outcome>& outcomes) {
  const plan::Problem& p = calls[0].problem;
  const std::size_t each = size_of(p.dtype);
  const plan::Choice choice = plan::choose(p, calls[0].settings);
  const std::uint64_t block = choice.codec.block();
  std::vector<double> block_max;  // sum over ranks of the largest magnitude per block
  for (std::uint64_t first = 0; first < p.count; first += block) {
    double total = 0;
    for (const Call& call : calls) {
      double most = 0;
      for (std::uint64_t i = first; i < std::min(p.count, first + block); ++i) {
        most = std::max(most, std::abs(load(p.dtype, call.data.data() + i * each)));
      }
      total += most;
    }
    block_max.push_back(total);
  }
  for (std::size_t r = 0; r < outcomes.size(); ++r) {
    ASSERT_EQ(outcomes[r].code, Code::ok) << "rank " << r << ": " << outcomes[r].what;
    ASSERT_EQ(outcomes[r].result, outcomes[0].result) << "rank " << r << " has other bytes than rank 0";
  }
  for (std::uint64_t i = 0; i < p.count; ++i) {
    long double sum = 0, abs = 0;
    for (const Call& call : calls) {
      const double x = load(p.dtype, call.data.data() + i * each);
      sum += x;
      abs += std::abs(x);
    }
    if (p.op == Op::avg) sum /= p.size;
    const double exact = static_cast<double>(sum);
    const double got = load(p.dtype, outcomes[0].result.data() + i * each);
    const double bound = plan::ErrorBound(p, choice)(static_cast<double>(abs), block_max[i / block], exact);
    ASSERT_LE(std::abs(got - exact), bound) << "element " << i << ": " << got << " for " << exact;
  }
}

class Allreduce : public testing::TestWithParam<Case> {};

TEST_P(Allreduce, AnyNumberOfRanksWithinTheBound) {
  const codec::Spec codec = spec_of(GetParam().codec);
  std::mt19937_64 random(17);
  std::normal_distribution<double> gauss;
  for (int size : kSizes) {
    World world(size, 1000 + static_cast<std::uint64_t>(size));
    int turn = 0;
    for (std::uint64_t count : {std::uint64_t{1}, std::uint64_t(size - 1), std::uint64_t(size + 1), std::uint64_t{1003}}) {
      const Dtype dtype = std::array{Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16}[static_cast<std::size_t>(turn + size) % 4];
      const Op op = (turn + size / 4) % 2 ? Op::avg : Op::sum;
      auto calls = make_calls(size, count, dtype, op, codec, GetParam(), [&](int, std::uint64_t) { return gauss(random); });
      for (std::size_t r = 0; r < calls.size(); ++r) calls[r].in_place = (turn & 1) != 0;
      SCOPED_TRACE(testing::Message() << size << " ranks, " << count << " x " << name_of(dtype));
      expect_right(calls, world.run(calls));
      if (HasFatalFailure()) return;
      ++turn;
    }
    EXPECT_EQ(world.fabric().kept(), 0u);
    EXPECT_EQ(world.fabric().in_flight(), 0u);
  }
}

TEST_P(Allreduce, DelayedFramesChangeNothing) {
  const codec::Spec codec = spec_of(GetParam().codec);
  for (int size : {2, 3, 5, 8}) {
    auto calls = make_calls(size, 2000, Dtype::f32, Op::sum, codec, GetParam(),
                            [](int r, std::uint64_t i) { return std::sin(0.01 * static_cast<double>(i) + r); });
    World calm(size, 3);
    const auto expected = calm.run(calls);
    expect_right(calls, expected);
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      World late(size, seed, false, [&](int r, auto channel) {
        return transport::hook_delay(std::move(channel), seed * 100 + static_cast<std::uint64_t>(r), 20);
      });
      for (int repeat = 0; repeat < 2; ++repeat) {
        const auto outcomes = late.run(calls);
        expect_right(calls, outcomes);
        // Stochastic rounding draws other numbers in the second call.
        const bool rounds = GetParam().algorithm->lossy_hops(calls[0].problem.layout()) > 0;
        if (repeat == 0 || !codec.params.stochastic || !rounds) {
          EXPECT_EQ(outcomes[0].result, expected[0].result);
        } else {
          EXPECT_NE(outcomes[0].result, expected[0].result);
        }
      }
    }
  }
}

TEST_P(Allreduce, LostFrameIsAnErrorNeverAHang) {
  const codec::Spec codec = spec_of(GetParam().codec);
  if (codec.params.stochastic) GTEST_SKIP() << "each call draws other numbers";
  for (int size : {2, 3, 4, 7}) {
    auto calls = make_calls(size, 1500, Dtype::f32, Op::sum, codec, GetParam(),
                            [](int r, std::uint64_t i) { return r + static_cast<double>(i % 7); });
    const auto expected = World(size, 1).run(calls);
    for (std::uint64_t which : {0u, 1u, 2u}) {
      World world(size, which + 9, false, [&](int r, auto channel) {
        return r == size - 1 ? transport::hook_drop(std::move(channel), which) : std::move(channel);
      });
      int failed_calls = 0;
      for (int repeat = 0; repeat < 4; ++repeat) {
        const auto outcomes = world.run(calls);
        if (std::all_of(outcomes.begin(), outcomes.end(), [](const Outcome& o) { return o.code == Code::ok; })) {
          expect_right(calls, outcomes);
          continue;
        }
        ++failed_calls;
        expect_failure_or_right(calls, outcomes, expected, Code::timeout);
      }
      EXPECT_EQ(failed_calls, 1) << size << " ranks, frame " << which;
      EXPECT_EQ(world.fabric().kept(), 0u);
    }
  }
}

TEST_P(Allreduce, FlippedBitIsAnErrorNeverAWrongResult) {
  const codec::Spec codec = spec_of(GetParam().codec);
  if (codec.params.stochastic) GTEST_SKIP() << "each call draws other numbers";
  for (int size : {2, 3, 5}) {
    auto calls = make_calls(size, 700, Dtype::f32, Op::sum, codec, GetParam(),
                            [](int r, std::uint64_t i) { return r + static_cast<double>(i % 7); });
    const auto expected = World(size, 1).run(calls);
    for (Call& c : calls) c.settings.checksum = true;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      World world(size, seed, true, [&](int r, auto channel) {
        return r == 0 ? transport::hook_corrupt(std::move(channel), seed % 2, seed) : std::move(channel);
      });
      expect_failure_or_right(calls, world.run(calls), expected, Code::corrupt_frame);
      expect_right(calls, world.run(calls));
    }
  }
}

TEST_P(Allreduce, FlippedBitWithoutChecksumDoesNotCrash) {
  const codec::Spec codec = spec_of(GetParam().codec);
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    World world(3, seed, false, [&](int r, auto channel) {
      if (r != 1) return channel;
      return transport::hook_corrupt(std::move(channel), seed % 3, seed);
    });
    auto calls = make_calls(3, 300, seed % 2 ? Dtype::f32 : Dtype::f64, Op::sum, codec, GetParam(),
                            [](int r, std::uint64_t i) { return r + static_cast<double>(i % 7); });
    // An error or wrong values, as nothing protects them, perhaps in a later call, if it is the call's
    // number that changed; no crash, no hang.
    for (int repeat = 0; repeat < 3; ++repeat) (void)world.run(calls);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Allreduce, testing::ValuesIn(cases()), name_of_case);

}  // namespace
}  // namespace wring::sim
