// SPDX-License-Identifier: BSD-3-Clause
// test_cases_values.cpp - values that other libraries got wrong (user cases A01 to A19).
#include <gtest/gtest.h>

#include <cfloat>
#include <limits>
#include <random>

#include "common/sim_cases.hpp"

namespace wring::sim {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Runs `body` for every algorithm and the choice of the library.
template <class Body>
void for_choices(Body&& body) {
  for (const auto* a : all_choices()) {
    SCOPED_TRACE(name_of_choice(a));
    body(a);
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// The same for every codec of the build too.
template <class Body>
void for_choices_and_codecs(Body&& body) {
  for_choices([&](const auto* a) {
    for (const codec::Spec& codec : all_codecs()) {
      SCOPED_TRACE(codec.codec->name);
      body(a, codec);
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(A01, InPlaceWithEveryAlgorithm) {
  for (int size = 2; size <= 9; ++size) {
    for_choices_and_codecs([&](const auto* a, const codec::Spec& codec) {
      World world(size, 11);
      for (std::uint64_t n : {1, 2, size - 1, size, size + 1, 4097}) {
        const auto calls =
            calls_of(problem_of(size, n, Dtype::f64, Op::sum, codec), a, integers, true);
        const auto outcomes = world.run(calls);
        expect_right(calls, outcomes);
        if (testing::Test::HasFatalFailure() || codec.lossy()) continue;
        for (std::uint64_t i = 0; i < n; ++i) {
          ASSERT_EQ(result_at(calls[0], outcomes[0], i),
                    size * (size + 1) / 2 * static_cast<double>(1 + i % 7));
        }
      }
    });
  }
}

TEST(A01, RankAndItsInverse) {
  for_choices([](const auto* a) {
    const auto calls = calls_of(
        problem_of(4, 2, Dtype::f64, Op::sum, spec_of("none")), a,
        [](int r, std::uint64_t i) { return i == 0   ? r
                                            : r == 0 ? 0
                                                     : 1.0 / r; }, true);
    const auto outcomes = World(4, 1).run(calls);
    expect_right(calls, outcomes);
    EXPECT_EQ(result_at(calls[0], outcomes[0], 0), 6);
    EXPECT_NEAR(result_at(calls[0], outcomes[0], 1), 11.0 / 6, expected_of(calls).bound[1]);
  });
}

TEST(A04, OddNumbersOfRanksAndRemainders) {
  for (int size : {2, 3, 5, 6, 7}) {
    for (const char* text :
         {"int8:block=32", "int8:block=256", "int4:block=32", "int4:block=256", "none"}) {
      SCOPED_TRACE(testing::Message() << text << ", " << size << " ranks");
      for_choices([&](const auto* a) {
        World world(size, 5);
        for (std::uint64_t n : {1, 7, size, 2 * size - 1, 2 * size, 2 * size + 1, 1001, 16385}) {
          const auto calls =
              calls_of(problem_of(size, n, Dtype::f32, Op::sum, spec_of(text)), a, integers);
          expect_right(calls, world.run(calls));
        }
      });
    }
  }
}

TEST(A06, FewerElementsThanRanks) {
  for (int size : {8, 32}) {
    for_choices_and_codecs([&](const auto* a, const codec::Spec& codec) {
      World world(size, 6);
      for (std::uint64_t n : {1, 3, 7, 8, 9, 16}) {
        const auto calls = calls_of(problem_of(size, n, Dtype::f32, Op::sum, codec), a, integers);
        expect_right(calls, world.run(calls));
        EXPECT_EQ(plan::choose(calls[0].problem, calls[0].settings).algorithm->name,
                  a ? a->name : plan::choose(calls[0].problem, {}).algorithm->name);
      }
    });
  }
}

TEST(A07, SumNearTheEndOfFp16) {
  for_choices([](const auto* a) {
    const auto calls = calls_of(problem_of(8, 8192, Dtype::f32, Op::sum, spec_of("fp16")), a,
                                [](int, std::uint64_t) { return 7500; });
    expect_right(calls, World(8, 2).run(calls));  // 60000, within the bound
  });
}

TEST(A07, SumBeyondFp16IsInfinityAndCounted) {
  for_choices([](const auto* a) {
    auto calls = calls_of(problem_of(8, 8192, Dtype::f32, Op::avg, spec_of("fp16")), a,
                          [](int, std::uint64_t) { return 60000; });
    World world(8, 2);
    auto outcomes = world.run(calls);
    expect_right(calls, outcomes);  // the average is 60000
    std::uint64_t overflows = 0;
    for (const Outcome& o : outcomes) overflows += o.counters.overflows;
    EXPECT_EQ(overflows, 0u);

    for (Call& c : calls) c.problem.op = Op::sum;
    outcomes = world.run(calls);
    for (const Outcome& o : outcomes) {
      ASSERT_EQ(o.code, Code::ok) << o.what;
      ASSERT_EQ(o.result, outcomes[0].result);
      overflows += o.counters.overflows;
    }
    // Never a finite wrong value: the sum, or a partial sum of four ranks, does not fit, unless sums do not
    // travel at all.
    const bool fits = a != nullptr && std::string(a->name) == "one_shot";
    const double sum = fits ? 480000 : kInf;
    for (std::uint64_t i = 0; i < 8192; ++i) ASSERT_EQ(result_at(calls[0], outcomes[0], i), sum);
    EXPECT_EQ(overflows > 0, !fits);
  });
}

TEST(A07, SmallValuesSurviveTheAverage) {
  for_choices([](const auto* a) {
    const auto calls = calls_of(problem_of(8, 8192, Dtype::f32, Op::avg, spec_of("fp16")), a,
                                [](int, std::uint64_t) { return 1e-7; });
    const auto outcomes = World(8, 2).run(calls);
    expect_right(calls, outcomes);
    for (std::uint64_t i = 0; i < 8192; ++i) ASSERT_GT(result_at(calls[0], outcomes[0], i), 0);
  });
}

TEST(A08, NanAndInfinityArrive) {
  constexpr std::uint64_t kCount = 4 * 1024 + 37;  // a tail block
  for (int size : {2, 3, 5}) {
    // At the start, in the middle and at the end of blocks, and in the tail.
    for (std::uint64_t base : {std::uint64_t{0}, std::uint64_t{60}, std::uint64_t{125},
                               std::uint64_t{4080}, kCount - 9}) {
      const std::uint64_t k = base, m = base + 2, p = base + 4;
      const auto value = [=](int r, std::uint64_t i) {
        if (i == k && r == size - 1) return kNaN;
        if (i == m && r == 0) return kInf;
        if (i == p && r == 0) return kInf;
        if (i == p && r == 1) return -kInf;
        return std::cos(0.1 * static_cast<double>(i) + r);
      };
      for_choices_and_codecs([&](const auto* a, const codec::Spec& codec) {
        SCOPED_TRACE(testing::Message() << size << " ranks, from element " << base);
        for (Dtype t : {Dtype::f32, Dtype::f64}) {
          const auto calls = calls_of(problem_of(size, kCount, t, Op::sum, codec), a, value);
          const auto outcomes = World(size, base).run(calls);
          expect_right(calls, outcomes);
          if (testing::Test::HasFatalFailure()) return;
          EXPECT_TRUE(std::isnan(result_at(calls[0], outcomes[0], k)));
          EXPECT_EQ(result_at(calls[0], outcomes[0], m), kInf);
          EXPECT_TRUE(std::isnan(result_at(calls[0], outcomes[0], p)));
        }
      });
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(A14, Int4IsCoarseByItsFormula) {
  const codec::Spec spec = spec_of("int4:block=32");
  for_choices([&](const auto* a) {
    const auto calls = calls_of(problem_of(2, 32 * 256, Dtype::f32, Op::sum, spec), a,
                                [](int, std::uint64_t i) { return i % 32 == 5 ? 1000 : 0.5; });
    const auto outcomes = World(2, 1).run(calls);
    expect_right(calls, outcomes);
    if (plan::choose(calls[0].problem, calls[0].settings).codec == spec) {
      EXPECT_EQ(result_at(calls[0], outcomes[0], 0), 0);  // half a step is 71.4
    }
  });
}

TEST(A14, Bf16BeyondFp16) {
  const auto value = [](int, std::uint64_t) { return 1e5; };  // 99840 in bf16
  for_choices([&](const auto* a) {
    for (const char* codec : {"none", "bf16"}) {
      const auto calls =
          calls_of(problem_of(4, 20000, Dtype::bf16, Op::sum, spec_of(codec)), a, value);
      const auto outcomes = World(4, 1).run(calls);
      expect_right(calls, outcomes);
      for (std::uint64_t i = 0; i < 20000; ++i)
        ASSERT_EQ(result_at(calls[0], outcomes[0], i), 399360) << codec;
    }
    // fp16 cannot hold the inputs: infinity and a count, not a finite number that is wrong.
    const auto calls =
        calls_of(problem_of(4, 20000, Dtype::bf16, Op::sum, spec_of("fp16")), a, value);
    const auto outcomes = World(4, 1).run(calls);
    std::uint64_t overflows = 0;
    for (const Outcome& o : outcomes) {
      ASSERT_EQ(o.code, Code::ok) << o.what;
      EXPECT_EQ(result_at(calls[0], o, 0), kInf);
      EXPECT_EQ(result_at(calls[0], o, 19999), kInf);
      overflows += o.counters.overflows;
    }
    EXPECT_GT(overflows, 0u);
  });
}

TEST(A15, LongerVectorGivesTheSameBits) {
  // All but the ring add in an order that does not depend on where an element lies in the vector.
  // With lossy codecs the owner of a slice adds its own contribution unrounded, which `direct`,
  // `hierarchical` and `rabenseifner` show.
  constexpr std::uint64_t kShort = 1664 * 20, kLong = 2048 * 20;
  std::mt19937_64 random(3);
  std::normal_distribution<double> gauss;
  std::vector<double> inputs(4 * kLong);
  for (double& x : inputs) x = gauss(random);
  const auto value = [&](int r, std::uint64_t i) {
    return inputs[static_cast<std::size_t>(r) * kLong + i];
  };
  for_choices_and_codecs([&](const auto* a, const codec::Spec& codec) {
    for (Dtype t : {Dtype::bf16, Dtype::f32}) {
      World world(4, 8);
      const auto shorter = calls_of(problem_of(4, kShort, t, Op::sum, codec), a, value);
      const auto longer = calls_of(problem_of(4, kLong, t, Op::sum, codec), a, value);
      const auto x = world.run(shorter), y = world.run(longer);
      expect_right(shorter, x);
      expect_right(longer, y);
      if (testing::Test::HasFatalFailure()) return;
      const auto choice = plan::choose(shorter[0].problem, shorter[0].settings);
      const std::string name = choice.algorithm->name;
      const bool owned = name == "direct" || name == "hierarchical" || name == "rabenseifner";
      if (name == "ring" || (choice.codec.lossy() && owned))
        continue;  // within the bound, then
      const auto part = static_cast<std::ptrdiff_t>(kShort * size_of(t));
      EXPECT_TRUE(std::equal(x[0].result.begin(), x[0].result.end(), y[0].result.begin(),
                             y[0].result.begin() + part));
    }
  });
}

TEST(A15, BothSidesOfTheSwitch) {
  // Where the library changes algorithm and codec, results stay within the bound of either.
  for (const codec::Spec& codec : all_codecs()) {
    SCOPED_TRACE(codec.codec->name);
    World world(4, 1);
    for (std::uint64_t n : {4088, 4095, 4096, 4097, 4104}) {
      const auto calls = calls_of(
          problem_of(4, n, Dtype::f32, Op::sum, codec), nullptr,
          [](int r, std::uint64_t i) { return std::sin(r + 0.37 * static_cast<double>(i)); });
      expect_right(calls, world.run(calls));
    }
  }
}

TEST(A16, CancellingSumIsTheSameOnAllRanks) {
  for_choices_and_codecs([](const auto* a, const codec::Spec& codec) {
    if (std::string(codec.codec->name) == "fp16") return;  // cannot hold the inputs
    const auto calls =
        calls_of(problem_of(4, 5000, Dtype::f32, Op::sum, codec), a, [](int r, std::uint64_t) {
          return std::array{1e8, 1.0, -1e8, 1.0}[static_cast<std::size_t>(r)];
        });
    expect_right(calls, World(4, 3).run(calls));
  });
}

TEST(A16, RandomDataAreTheSameOnAllRanks) {
  for (int size : {3, 5, 7, 8}) {
    for_choices_and_codecs([&](const auto* a, const codec::Spec& codec) {
      std::mt19937_64 random(static_cast<std::uint64_t>(size));
      std::lognormal_distribution<double> wide(-6, 3);  // sums fit fp16
      const auto calls =
          calls_of(problem_of(size, 4500, Dtype::f32, Op::sum, codec), a,
                   [&](int, std::uint64_t i) { return (i % 2 ? 1 : -1) * wide(random); });
      expect_right(calls, World(size, 7).run(calls));
    });
  }
}

TEST(A17, HopPrecision) {
  // 256 + 7 x 1 in bf16: one rounding of 263 gives 264; rounding at every hop stays at 256.
  const auto value = [](int r, std::uint64_t) { return r == 0 ? 256 : 1; };
  for_choices([&](const auto* a) {
    for (const char* codec : {"none", "bf16"}) {
      for (std::uint64_t n : {64, 20000}) {
        const auto calls =
            calls_of(problem_of(8, n, Dtype::bf16, Op::sum, spec_of(codec)), a, value);
        const auto outcomes = World(8, 4).run(calls);
        expect_right(calls, outcomes);
        if (testing::Test::HasFatalFailure()) return;
        // Forced algorithms with the lossy codec round at every hop, and their bound says so.
        if (a != nullptr && std::string(codec) == "bf16" && std::string(a->name) != "direct")
          continue;
        for (std::uint64_t i = 0; i < n; ++i)
          ASSERT_EQ(result_at(calls[0], outcomes[0], i), 264) << codec << ' ' << n;
      }
    }
  });
}

TEST(A17, ErrorStaysUnderThePublishedCurve) {
  for_choices([](const auto* a) {
    for (int size : {2, 4, 8, 16, 32}) {
      const auto calls = calls_of(problem_of(size, 9000, Dtype::bf16, Op::sum, spec_of("bf16")), a,
                                  [](int r, std::uint64_t i) {
                                    return r == 0 ? 256.0 : 1.0 + static_cast<double>(i % 5) / 8;
                                  });
      expect_right(calls, World(size, 9).run(calls));
    }
  });
}

/// The average of equal values is that value where sums are exact, as with powers of two; else
/// within the bound, and finite.
template <class T>
void average_of_equals(Dtype dtype, T x, bool sums_are_exact) {
  for (int size : {2, 3, 4, 5, 8}) {
    SCOPED_TRACE(testing::Message() << size << " ranks, " << x << " in " << name_of(dtype));
    for_choices([&](const auto* a) {
      for (std::uint64_t n : {7, 9000}) {
        const auto calls = calls_of(problem_of(size, n, dtype, Op::avg, spec_of("none")), a,
                                    [&](int, std::uint64_t) { return static_cast<double>(x); });
        const auto outcomes = World(size, 1).run(calls);
        expect_right(calls, outcomes);
        if ((size & (size - 1)) != 0 && !sums_are_exact) continue;
        for (std::uint64_t i = 0; i < n; ++i) {
          ASSERT_EQ(result_at(calls[0], outcomes[0], i), static_cast<double>(x))
              << "element " << i << " of " << n;
        }
      }
    });
  }
}

TEST(Average, LargestNumberOnAllRanks) {
  average_of_equals(Dtype::f32, FLT_MAX, false);
  average_of_equals(Dtype::f64, DBL_MAX, false);
}

TEST(Average, SmallestNumberOnAllRanks) {
  average_of_equals(Dtype::f32, std::numeric_limits<float>::denorm_min(), true);
  average_of_equals(Dtype::f64, std::numeric_limits<double>::denorm_min(), true);
}

}  // namespace
}  // namespace wring::sim
