// SPDX-License-Identifier: BSD-3-Clause
// test_plan.cpp - slices and segments, tuning rules, the choice, staging.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "plan/plan.hpp"
#include "plan_problems.hpp"

namespace wring::plan {
namespace {

TEST(Geometry, CoversEveryElementOnceAtBlockEdges) {
  for (std::uint64_t count : {1u, 2u, 7u, 63u, 64u, 65u, 1000u, 4097u}) {
    for (std::uint64_t block : {1u, 8u, 64u}) {
      for (std::uint32_t slices : {1u, 2u, 3u, 8u, 33u}) {
        for (std::uint64_t segment : {1u, 8u, 100u, 5000u}) {
          const Geometry g = cut(count, block, slices, segment);
          std::uint64_t covered = 0;
          for (std::uint32_t s = 0; s < slices; ++s) {
            EXPECT_EQ(g.slice(s).first, covered);
            EXPECT_TRUE(g.slice(s).n == 0 || g.slice(s).first % block == 0);
            std::uint64_t in_slice = 0;
            for (std::uint32_t t = 0; t < g.tiles; ++t) {
              const auto part = g.part(s, t);
              EXPECT_EQ(part.first, covered + in_slice);
              EXPECT_TRUE(part.n == 0 || part.first % block == 0);
              EXPECT_LE(part.n, g.segment);
              in_slice += part.n;
            }
            EXPECT_EQ(in_slice, g.slice(s).n) << "tiles do not cover the slice";
            EXPECT_LE(g.slice(s).n, g.slice(0).n);
            covered += g.slice(s).n;
          }
          EXPECT_EQ(covered, count);
        }
      }
    }
  }
}

TEST(A05, OffsetsBeyond32Bits) {
  // 1.5 billion 8-byte elements on 4 ranks: the last slice begins at byte 9,000,000,000.
  const Geometry g = cut(1'500'000'000, 1, 4, 16384);
  EXPECT_EQ(g.slice(3).first * 8, 9'000'000'000u);
  EXPECT_EQ(g.slice(3).n, 375'000'000u);
  const auto last = g.part(3, g.tiles - 1);
  EXPECT_EQ(last.first + last.n, 1'500'000'000u);
  for (std::uint64_t count : {(1ull << 31) - 1, 1ull << 31, (1ull << 31) + 7, 1ull << 32, (1ull << 40) + 1}) {
    for (std::uint32_t slices : {1u, 2u, 3u, 4u}) {
      const auto range = slice_of(count, 128, slices, slices - 1);
      EXPECT_EQ(range.first + range.n, count);
    }
  }
}

TEST(Rules, ParseAndMatchInOrder) {
  std::vector<Rule> rules;
  ASSERT_TRUE(parse_rules("allreduce:0-4k:tree+none;4k-inf:ring+bf16", rules).ok());
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].max_bytes, 4096u);
  EXPECT_STREQ(rules[0].algorithm->name, "tree");
  EXPECT_STREQ(rules[1].codec.codec->name, "bf16");

  Settings settings;
  settings.rules = rules;
  EXPECT_STREQ(choose(problem_of(1023, Dtype::f32, 4, "int8"), settings).algorithm->name, "tree");
  EXPECT_STREQ(choose(problem_of(1024, Dtype::f32, 4, "int8"), settings).algorithm->name, "ring");
  EXPECT_STREQ(choose(problem_of(1024, Dtype::f32, 4, "int8"), settings).codec.codec->name, "bf16");
  EXPECT_STREQ(choose(problem_of(100, Dtype::f32, 4, "int8"), settings).codec.codec->name, "none");
}

TEST(Rules, NeverMakeAnExactCallLossy) {
  Settings settings;
  ASSERT_TRUE(parse_rules("0-inf:ring+int4", settings.rules).ok());
  EXPECT_STREQ(choose(problem_of(100000, Dtype::f32, 4, "none"), settings).codec.codec->name, "none");
  Problem integers = problem_of(100000, Dtype::f32, 4, "int8");
  integers.dtype = Dtype::opaque;
  integers.op = Op::other;
  EXPECT_STREQ(choose(integers, settings).codec.codec->name, "none");
}

TEST(Rules, CodecMayHaveParameters) {
  std::vector<Rule> rules;
  ASSERT_TRUE(parse_rules("64k-1m:direct+int8:block=256,rounding=stochastic,seed=7;;1m-inf:ring", rules).ok());
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].codec.params.block, 256u);
  EXPECT_EQ(rules[1].codec.codec, nullptr);
}

TEST(Rules, ErrorsNameTheRuleAndTheFault) {
  const struct {
    const char* text;
    const char* part;
  } bad[] = {{"0-4k", "no colon"},         {"4k-0:ring", "bad size range"},      {"0-4q:ring", "bad size range"},
             {"0:ring", "bad size range"}, {"0-inf:rign", "unknown algorithm"},  {"0-inf:ring+int9", "int9"},
             {"0-inf:", "unknown algorithm"}, {"-:ring", "bad size range"}};
  for (const auto& b : bad) {
    std::vector<Rule> rules(1);
    const Status status = parse_rules(b.text, rules);
    EXPECT_EQ(status.code(), Code::invalid_arg) << b.text;
    EXPECT_NE(std::string(status.what()).find(b.part), std::string::npos) << status.what();
    EXPECT_EQ(rules.size(), 1u) << "output changed on failure";
  }
}

TEST(A45, EqualBytesGetTheEqualAlgorithm) {
  for (int size = 2; size <= 64; ++size) {
    for (std::uint64_t bytes = 8; bytes <= 1 << 26; bytes *= 2) {
      const Choice single = choose(problem_of(bytes / 4, Dtype::f32, size, "none"), {});
      const Choice wide = choose(problem_of(bytes / 8, Dtype::f64, size, "none"), {});
      Problem chars{.count = bytes, .dtype = Dtype::opaque, .element_bytes = 1, .op = Op::other, .opaque_id = 1, .size = size,
                    .codec = spec_of("none")};
      EXPECT_EQ(single.algorithm, wide.algorithm);
      EXPECT_EQ(single.algorithm, choose(chars, {}).algorithm);
    }
  }
}

TEST(Plan, StagingAndFramesAreBounded) {
  for (const char* codec : {"none", "fp16", "bf16", "int8", "int4", "int8:block=16384", "int4:block=8"}) {
    for (Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64}) {
      for (int size : {2, 5, 64}) {
        for (std::uint64_t count : {1ull, 1000ull, 1ull << 20, 1ull << 33}) {
          for (const auto* a : algorithm::all()) {
            Settings settings;
            settings.algorithm = a;
            const Plan plan = make_plan(problem_of(count, dtype, size, codec), settings, size - 1);
            EXPECT_LE(plan.buffer_bytes, settings.max_payload) << codec << " " << name_of(dtype);
            EXPECT_LE(plan.buffer_bytes * static_cast<std::size_t>(plan.buffers), 64u << 20);
          }
        }
      }
    }
  }
}

TEST(Plan, DescribesItself) {
  const Plan plan = make_plan(problem_of(1 << 20, Dtype::f32, 4, "int8"), {}, 0);
  const std::string text = plan.describe();
  for (const char* part : {"direct", "int8:block=128", "1048576 x fp32", "segment", "two roundings"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(Plan, DescribesABoundThatIsOne) {
  for (const char* codec : {"none", "fp16", "bf16", "int8", "int4"}) {
    for (Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64}) {
      for (Op op : {Op::sum, Op::avg}) {
        const int ranks = 4;
        const Plan plan = make_plan(problem_of(1 << 20, dtype, ranks, codec, op), {}, 0);
        const std::string text = plan.describe();
        double factor = 0, absolute = 0;
        char of[8] = "";
        const std::size_t at = text.find("error at most ");
        ASSERT_NE(at, std::string::npos) << text;
        ASSERT_EQ(std::sscanf(text.c_str() + at, "error at most %lf x the %7s", &factor, of), 2) << text;
        EXPECT_STREQ(of, op == Op::avg ? "mean" : "sum") << text;
        if (const std::size_t plus = text.find(" + ", at); plus != std::string::npos) absolute = std::strtod(text.c_str() + plus + 3, nullptr);
        for (double sum : {0.1, 1.0, 1e3}) {  // the result is as large as it can be
          const double unit = op == Op::avg ? sum / ranks : sum;
          const double bound = ErrorBound(plan.problem, plan.choice)(sum, sum, unit);
          EXPECT_GE(factor * unit + absolute, bound) << text;
          EXPECT_LE(factor * unit + absolute, 1.02 * bound) << text;
        }
      }
    }
  }
  Problem integers = problem_of(1 << 20, Dtype::f32, 4, "int8");
  integers.dtype = Dtype::opaque;
  EXPECT_NE(make_plan(integers, {}, 0).describe().find(", exact,"), std::string::npos);
}

TEST(Plan, RanksAgreeOnWhatFramesCheck) {
  for (int r = 0; r < 5; ++r) {
    const Plan a = make_plan(problem_of(12345, Dtype::f32, 5, "int4"), {}, 0);
    const Plan b = make_plan(problem_of(12345, Dtype::f32, 5, "int4"), {}, r);
    EXPECT_EQ(a.detail, b.detail);
    EXPECT_NE(a.detail, make_plan(problem_of(12345, Dtype::f32, 5, "int4:block=32"), {}, r).detail);
  }
}

}  // namespace
}  // namespace wring::plan
