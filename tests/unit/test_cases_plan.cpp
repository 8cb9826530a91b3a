// SPDX-License-Identifier: BSD-3-Clause
// test_cases_plan.cpp - choices and index arithmetic of plans (user cases A05, A36, A45).
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "codec/frame.hpp"
#include "plan/plan.hpp"
#include "plan_problems.hpp"

namespace wring::plan {
namespace {

Problem problem_of(int size, std::uint64_t bytes, Dtype dtype, const char* codec) {
  const auto each = static_cast<std::uint32_t>(dtype == Dtype::opaque ? 1 : size_of(dtype));
  return {.count = bytes / each,
          .dtype = dtype,
          .element_bytes = each,
          .op = dtype == Dtype::opaque ? Op::other : Op::sum,
          .opaque_id = 0,
          .size = size,
          .codec = spec_of(codec)};
}

TEST(A05, OffsetsBeyond32Bits) {
  const Geometry g = cut(1'500'000'000, 1, 4, 16 * 1024);
  EXPECT_EQ(g.slice(3).first * 8, 9'000'000'000u);
  EXPECT_EQ(g.slice(3).first + g.slice(3).n, 1'500'000'000u);
  for (std::uint64_t n :
       {(1ull << 31) - 1, 1ull << 31, (1ull << 31) + 7, 1ull << 32, (1ull << 32) + 3}) {
    for (std::uint32_t slices : {1u, 2u, 3u, 7u}) {
      const Geometry big = cut(n, 128, slices, 128 * 1024);
      std::uint64_t next = 0;
      for (std::uint32_t s = 0; s < slices; ++s) {
        EXPECT_EQ(big.slice(s).first, next);
        next += big.slice(s).n;
        // Parts cover the slice.
        std::uint64_t covered = 0;
        for (std::uint32_t t = 0; t < big.tiles; ++t) {
          if (big.part(s, t).n > 0) {
            ASSERT_EQ(big.part(s, t).first, big.slice(s).first + covered);
          }
          covered += big.part(s, t).n;
        }
        EXPECT_EQ(covered, big.slice(s).n);
      }
      EXPECT_EQ(next, n);
    }
  }
}

TEST(A05, HeaderFieldsBeyond32Bits) {
  for (std::uint64_t n : {(1ull << 31) - 1, 1ull << 31, 1ull << 32, (1ull << 32) + 1}) {
    codec::FrameHeader h{.count = n, .codec = 1, .algorithm = 1};
    h.tile = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(n, std::numeric_limits<std::uint32_t>::max()));
    std::byte bytes[codec::kHeaderBytes];
    codec::pack(h, false, {}, bytes);
    codec::FrameHeader back;
    ASSERT_TRUE(codec::unpack(bytes, false, {}, back).ok());
    EXPECT_EQ(back.count, n);
    EXPECT_EQ(back.tile, h.tile);
  }
}

/// Bytes that one rank sends or receives of a message of `bytes`.
double busiest(const algorithm::Algorithm& a, int size, double bytes) {
  double most = 0;
  for (int r = 0; r < size; ++r) {
    const auto program = a.make(r, size);
    double out = 0, in = 0;
    for (const auto& s : program.steps) {
      if (s.kind == algorithm::Step::Kind::send) out += bytes / program.slices;
      if (s.kind == algorithm::Step::Kind::recv) in += bytes / program.slices;
    }
    most = std::max({most, out, in});
  }
  return most;
}

TEST(A45, EqualBytesGiveEqualAlgorithms) {
  for (int size = 2; size <= 64; size += size < 17 || size > 62 ? 1 : 5) {
    for (std::uint64_t bytes :
         {8ull, 1024ull, 16376ull, 16384ull, 32768ull, 1ull << 20, 64ull << 20}) {
      SCOPED_TRACE(testing::Message() << size << " ranks, " << bytes << " bytes");
      const Choice wanted = choose(problem_of(size, bytes, Dtype::f32, "none"), {});
      for (Dtype t : {Dtype::f64, Dtype::opaque}) {
        EXPECT_EQ(choose(problem_of(size, bytes, t, "none"), {}).algorithm, wanted.algorithm)
            << name_of(t);
      }
      // Where 16-bit types go another way, the plan says that it is because of them.
      const Choice half = choose(problem_of(size, bytes, Dtype::f16, "none"), {});
      EXPECT_EQ(choose(problem_of(size, bytes, Dtype::bf16, "none"), {}).algorithm, half.algorithm);
      if (half.algorithm != wanted.algorithm) {
        EXPECT_NE(std::string(half.reason).find("16 bits"), std::string::npos) << half.reason;
      }
      for (const char* codec : {"fp16", "bf16", "int8", "int4"}) {
        const Choice lossy = choose(problem_of(size, bytes, Dtype::f32, codec), {});
        for (Dtype t : {Dtype::f64, Dtype::f16, Dtype::bf16}) {
          const Choice other = choose(problem_of(size, bytes, t, codec), {});
          if (other.algorithm == lossy.algorithm) continue;
          EXPECT_NE(std::string(other.reason).find("16 bits"), std::string::npos)
              << name_of(t) << ' ' << codec << ": " << other.reason;
        }
      }
    }
  }
}

TEST(A45, NoAlgorithmIsLinear) {
  // Linear: the traffic of the busiest rank grows with the number of ranks. Whatever is chosen or
  // forced, it grows with the logarithm at most, also where there are fewer elements than ranks. All but
  // one_shot, which therefore is never chosen for more than eight ranks.
  for (int size = 2; size <= 64; ++size) {
    for (const auto* a : algorithm::all()) {
      if (a == algorithm::find("one_shot")) {
        EXPECT_EQ(a->worth_a_try(size), size > 2 && size <= 8) << size << " ranks";
      } else {
        EXPECT_LE(busiest(*a, size, 32768),
                  32768.0 * (algorithm::ceil_log2(static_cast<unsigned>(size)) + 2))
            << a->name << ", " << size << " ranks";
      }
      // What is asked for is what runs: no plan changes the algorithm inside.
      for (Dtype t : {Dtype::opaque, Dtype::f32, Dtype::f64}) {
        for (std::uint64_t bytes : {8ull, 32768ull}) {
          Settings forced;
          forced.algorithm = a;
          const Plan plan = make_plan(problem_of(size, bytes, t, "none"), forced, size - 1);
          EXPECT_EQ(plan.choice.algorithm, a);
          EXPECT_EQ(plan.program.steps.size(), a->make(size - 1, size).steps.size());
        }
      }
    }
  }
}

TEST(A36, ChoiceIsAFunctionOfProblemAndSettings) {
  // Nothing about a rank goes into the choice or the geometry.
  Settings settings;
  ASSERT_TRUE(parse_rules("allreduce:0-64k:tree+none;64k-inf:ring+bf16", settings.rules).ok());
  for (std::uint64_t bytes : {1024ull, 65532ull, 65536ull, 1ull << 20}) {
    const Problem p = problem_of(5, bytes, Dtype::f32, "int8");
    const Plan first = make_plan(p, settings, 0);
    EXPECT_STREQ(first.choice.algorithm->name, bytes < 65536 ? "tree" : "ring");
    EXPECT_STREQ(first.choice.codec.codec->name, bytes < 65536 ? "none" : "bf16");
    for (int r = 1; r < 5; ++r) {
      const Plan plan = make_plan(p, settings, r);
      EXPECT_EQ(plan.choice.algorithm, first.choice.algorithm);
      EXPECT_EQ(plan.choice.codec, first.choice.codec);
      EXPECT_EQ(plan.geometry.segment, first.geometry.segment);
      EXPECT_EQ(plan.detail, first.detail);
    }
  }
}

}  // namespace
}  // namespace wring::plan
