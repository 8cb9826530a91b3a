// SPDX-License-Identifier: BSD-3-Clause
// test_cases_traffic.cpp - what travels, and calls that do not match (user cases A12, A26, A35,
// A38, A48).
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <tuple>

#include "codec/frame.hpp"
#include "common/sim_cases.hpp"
#include "transport/hook.hpp"

namespace wring::sim {
namespace {

/// Payloads by sender, receiver, tile and transfer.
using Payloads =
    std::map<std::tuple<std::uint32_t, int, std::uint32_t, std::uint32_t>, std::vector<std::byte>>;

class Record final : public transport::Hook {
 public:
  Record(std::unique_ptr<transport::Channel> inner, Payloads& to)
      : Hook(std::move(inner)), to_(to) {}
  transport::Sent send(int peer, const std::byte* header, const void* payload, std::size_t bytes,
                       std::uint64_t token) noexcept override {
    const auto result = Hook::send(peer, header, payload, bytes, token);
    codec::FrameHeader h;
    const auto* p = static_cast<const std::byte*>(payload);
    if (codec::unpack({header, transport::kHeaderBytes}, false, {p, bytes}, h).ok()) {
      to_[{h.source, peer, h.tile, h.label}].assign(p, p + bytes);
    }
    return result;
  }

 private:
  Payloads& to_;
};

/// Fills free buffers of the pool, of every size that the calls here use.
void fill_pool(std::byte with) {
  device::Pool& pool = device::host_pool();
  for (std::size_t bytes = 256; bytes <= 64 * 1024; bytes *= 2) {
    std::vector<std::byte*> buffers(400);
    for (std::byte*& b : buffers) {
      b = pool.acquire(bytes);
      std::memset(b, static_cast<int>(with), bytes);
    }
    for (std::byte* b : buffers) pool.release(b, bytes);
  }
}

TEST(A12, NoUninitialisedByteTravels) {
  // Staging that was full of NaN before, and of something else: what is sent may not depend on it.
  // Sizes are multiples neither of the block nor of the number of ranks.
  for (const auto* a : algorithm::all()) {
    for (const codec::Spec& codec : all_codecs()) {
      for (Dtype t : {Dtype::f32, Dtype::bf16}) {
        for (std::uint64_t n : {1, 77, 4001}) {
          SCOPED_TRACE(testing::Message()
                       << a->name << ' ' << codec.codec->name << ' ' << n << " x " << name_of(t));
          const auto calls =
              calls_of(problem_of(3, n, t, Op::sum, codec), a,
                       [](int r, std::uint64_t i) { return std::sin(r + static_cast<double>(i)); });
          Payloads sent[2];
          std::vector<Outcome> outcomes;
          for (int turn : {0, 1}) {
            fill_pool(turn == 0 ? std::byte{0xff} : std::byte{0x2a});
            const std::size_t before = device::host_pool().footprint();
            World world(3, 4, false, [&](int, auto channel) {
              return std::make_unique<Record>(std::move(channel), sent[turn]);
            });
            outcomes = world.run(calls);
            expect_right(calls, outcomes);
            ASSERT_EQ(device::host_pool().footprint(), before) << "staging that was not filled";
          }
          ASSERT_FALSE(sent[0].empty());
          EXPECT_EQ(sent[0], sent[1]);
        }
      }
    }
  }
}

TEST(A26, CallNumbersWrapAround) {
  for (std::uint32_t first : {0xfffffffdu, 0x7ffffffdu, 8388605u}) {
    for (int size : {2, 3, 5}) {
      World world(size, first);
      for (int r = 0; r < size; ++r) world.session(r).calls().next_start = first;
      int turn = 0;
      for (int repeat = 0; repeat < 10; ++repeat) {
        const auto* a =
            algorithm::all()[static_cast<std::size_t>(turn++) % algorithm::all().size()];
        const auto codec = all_codecs()[static_cast<std::size_t>(turn) % all_codecs().size()];
        // Calls without elements use up numbers too.
        const std::uint64_t n = repeat % 4 == 3 ? 0 : 900;
        const auto calls = calls_of(problem_of(size, n, Dtype::f32, Op::sum, codec), a, integers);
        const auto outcomes = world.run(calls);
        if (n > 0) expect_right(calls, outcomes);
      }
      EXPECT_EQ(world.fabric().kept(), 0u);
    }
  }
}

/// Every rank fails with a mismatch whose text holds all of `words`; then an ordinary call works.
void expect_mismatch(World& world, const std::vector<Call>& calls,
                     const std::vector<std::string>& words) {
  const auto outcomes = world.run(calls);
  for (std::size_t r = 0; r < outcomes.size(); ++r) {
    EXPECT_EQ(outcomes[r].code, Code::mismatch) << "rank " << r << ": " << outcomes[r].what;
    for (const std::string& word : words) {
      EXPECT_NE(outcomes[r].what.find(word), std::string::npos)
          << "rank " << r << ": " << outcomes[r].what;
    }
  }
  const int size = calls[0].problem.size;
  const auto next =
      calls_of(problem_of(size, 333, Dtype::f32, Op::sum, spec_of("none")), nullptr, integers);
  expect_right(next, world.run(next));
  EXPECT_EQ(world.fabric().kept(), 0u);
}

/// Calls of which rank `odd` makes another one.
std::vector<Call> mixed(int size, int odd, const plan::Problem& theirs, const plan::Problem& its,
                        const algorithm::Algorithm* a = nullptr) {
  auto calls = calls_of(theirs, a, integers);
  const auto others = calls_of(its, a, integers);
  calls[static_cast<std::size_t>(odd)] = others[static_cast<std::size_t>(odd)];
  EXPECT_EQ(calls.size(), static_cast<std::size_t>(size));
  return calls;
}

TEST(A35, DifferentCountsAreAnErrorOnAllRanks) {
  for (int size : {2, 3, 4, 5, 8}) {
    for (const auto* a : all_choices()) {
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        SCOPED_TRACE(testing::Message()
                     << size << " ranks, " << name_of_choice(a) << ", seed " << seed);
        for (const auto& [n, m] : {std::pair<std::uint64_t, std::uint64_t>{40960, 40958},
                                   {3000, 5000},  // one below, one above the switch of algorithms
                                   {1, 100000}}) {
          World world(size, seed);
          const int odd = static_cast<int>(seed) % size;
          expect_mismatch(
              world,
              mixed(size, odd, problem_of(size, n, Dtype::f32, Op::sum, spec_of("none")),
                    problem_of(size, m, Dtype::f32, Op::sum, spec_of("none")), a),
              {"count", std::to_string(n), std::to_string(m), "rank " + std::to_string(odd)});
        }
      }
    }
  }
}

TEST(A35, OtherDifferencesAreErrorsOnAllRanks) {
  for (int size : {2, 3, 5}) {
    for (std::uint64_t n : {100, 20000}) {  // on either side of the switch
      const auto p = problem_of(size, n, Dtype::f32, Op::sum, spec_of("int8"));
      auto codec = p, block = p, rounding = p, type = p, op = p;
      codec.codec = spec_of("bf16");
      block.codec = spec_of("int8:block=256");
      rounding.codec = spec_of("int8:rounding=stochastic");
      type.dtype = Dtype::f64;
      type.element_bytes = 8;
      op.op = Op::avg;
      const struct {
        const char* what;
        plan::Problem other;
        std::vector<std::string> words;
      } all[] = {{"codec", codec, {"int8", "bf16"}},
                 {"block", block, {"int8"}},
                 {"rounding", rounding, {"int8"}},
                 {"type", type, {"fp32", "fp64"}},
                 {"operator", op, {"sum", "average"}}};
      for (const auto& [what, other, words] : all) {
        SCOPED_TRACE(testing::Message() << size << " ranks, " << n << " elements, " << what);
        World world(size, n);
        auto expected = words;
        expected.push_back("rank " + std::to_string(size - 1));
        expect_mismatch(world, mixed(size, size - 1, p, other), expected);
      }
    }
  }
}

TEST(A35, NoElementsOnOneRankOnly) {
  // That rank is done at once, and makes its next call; all others get an error that names it and
  // their count, and their next call works.
  std::string failed;
  for (int size : {2, 3, 4, 5, 8}) {
    for (const auto* a : all_choices()) {
      for (std::uint64_t n : {500, 20000}) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
          const auto odd = seed % static_cast<std::uint64_t>(size);
          World world(size, seed);
          const auto p = problem_of(size, n, Dtype::f32, Op::sum, spec_of("none"));
          const auto first = calls_of(p, a, integers);
          const auto next =
              calls_of(problem_of(size, 333, Dtype::f32, Op::sum, spec_of("none")), a, integers);
          std::vector<std::vector<Call>> calls;
          for (std::size_t r = 0; r < first.size(); ++r) calls.push_back({first[r], next[r]});
          calls[odd][0] = Call{.problem = p, .settings = {}, .data = {}};
          calls[odd][0].problem.count = 0;
          const auto outcomes = run_back_to_back(world, calls, seed);
          const auto expected = expected_of(next);
          std::string wrong;
          for (std::size_t r = 0; r < first.size(); ++r) {
            const Outcome &o = outcomes[r][0], &after = outcomes[r][1];
            const bool right =
                r == odd
                    ? o.code == Code::ok
                    : o.code == Code::mismatch && o.what.find(std::to_string(n)) != o.what.npos &&
                          o.what.find("count 0 on rank " + std::to_string(odd)) != o.what.npos;
            if (!right) wrong += " [rank " + std::to_string(r) + ": " + o.what + "]";
            if (after.code != Code::ok || result_at(next[r], after, 332) != expected.exact[332]) {
              wrong += " [rank " + std::to_string(r) + ", next call: " + after.what + "]";
            }
          }
          if (wrong.empty() || failed.size() > 2000) continue;  // some examples are enough
          failed += std::to_string(size) + " ranks, " + name_of_choice(a) + ", " +
                    std::to_string(n) + " elements, none on rank " + std::to_string(odd) + ":" +
                    wrong + "\n";
        }
      }
    }
  }
  EXPECT_EQ(failed, "");
}

TEST(A38, CodecAlgorithmAndSizeChangeWithEveryCall) {
  for (int size : {2, 4, 8}) {
    std::mt19937_64 random(38);
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      World world(size, seed);
      constexpr std::size_t kCalls = 100;
      std::vector<std::vector<Call>> by_call, by_rank(static_cast<std::size_t>(size));
      for (std::size_t call = 0; call < kCalls; ++call) {
        const auto choices = all_choices();
        const auto codecs = all_codecs();
        const auto n = 1 + random() % (std::uint64_t{1} << random() % 14);
        const auto* a = choices[random() % choices.size()];
        by_call.push_back(calls_of(problem_of(size, n, random() % 2 ? Dtype::f32 : Dtype::f64,
                                              Op::sum, codecs[random() % codecs.size()]),
                                   a, integers));
        for (std::size_t r = 0; r < by_rank.size(); ++r) by_rank[r].push_back(by_call.back()[r]);
      }
      const auto outcomes = run_back_to_back(world, by_rank, seed);
      for (std::size_t call = 0; call < kCalls; ++call) {
        SCOPED_TRACE(testing::Message()
                     << "call " << call << ", " << size << " ranks, seed " << seed);
        std::vector<Outcome> of_call;
        for (const auto& of_rank : outcomes) of_call.push_back(of_rank[call]);
        expect_right(by_call[call], of_call);
        if (testing::Test::HasFatalFailure()) return;
      }
      EXPECT_EQ(world.fabric().kept(), 0u);
    }
  }
}

TEST(A48, BytesAreSaved) {
  constexpr std::uint64_t kCount = 1 << 20;
  const std::pair<const char*, double> limits[] = {
      {"fp16", 0.51}, {"bf16", 0.51}, {"int8", 0.27}, {"int4", 0.15}};
  for (int size : {2, 4}) {
    for (const auto* a :
         {static_cast<const algorithm::Algorithm*>(nullptr), algorithm::find("ring")}) {
      for (const auto& [codec, limit] : limits) {
        SCOPED_TRACE(testing::Message()
                     << codec << ", " << size << " ranks, " << name_of_choice(a));
        std::uint64_t on_wire = 0;
        World world(size, 1, false, [&](int, auto channel) {
          return transport::hook_trace(std::move(channel),
                                       [&](int, const std::byte*, std::size_t bytes) {
                                         on_wire += transport::kHeaderBytes + bytes;
                                       });
        });
        auto calls =
            calls_of(problem_of(size, kCount, Dtype::f32, Op::sum, spec_of(codec)), a, integers);
        for (Call& c : calls) c.settings.segment_bytes = 0;  // as in real calls
        const auto outcomes = world.run(calls);
        std::uint64_t raw = 0, counted = 0;
        for (const Outcome& o : outcomes) {
          ASSERT_EQ(o.code, Code::ok) << o.what;
          raw += o.counters.raw_bytes;
          counted += o.counters.wire_bytes;
        }
        EXPECT_EQ(counted, on_wire);
        EXPECT_LE(static_cast<double>(on_wire), limit * static_cast<double>(raw));
        // raw_bytes is no excuse: it is what `none` puts on the wire, without headers.
        std::uint64_t uncompressed = 0;
        for (int r = 0; r < size; ++r) {
          auto none = calls[0].problem;
          none.codec = spec_of("none");
          plan::Settings same;
          same.algorithm = plan::choose(calls[0].problem, calls[0].settings).algorithm;
          uncompressed += plan::make_plan(none, same, r).raw_bytes;
        }
        EXPECT_EQ(raw, uncompressed);
      }
    }
  }
}

}  // namespace
}  // namespace wring::sim
