// SPDX-License-Identifier: BSD-3-Clause
// test_cases_half.cpp - 16-bit floats, bit by bit, whatever the application does to the
// floating-point unit (user case A13).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "kernels/kernels.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace wring::kernels {
namespace {

constexpr std::size_t kPatterns = 65536;

/// Runs with the unit's flush-to-zero and denormals-are-zero modes as they are, and then set.
void in_both_modes(const std::function<void()>& body) {
  body();
#if defined(__x86_64__)
  SCOPED_TRACE("flush to zero");
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);
  body();
  _mm_setcsr(before);
#endif
}

bool is_nan16(std::uint16_t w, unsigned exponent, unsigned fraction) {
  return (w & exponent) == exponent && (w & fraction) != 0;
}

template <class R>
void all_patterns(const Kernels& k) {
  std::vector<std::uint16_t> in(kPatterns), out(kPatterns);
  for (std::size_t i = 0; i < kPatterns; ++i) in[i] = static_cast<std::uint16_t>(i);
  std::vector<R> values(kPatterns);
  const auto& t = k.real<R>();
  t.from_f16(in.data(), kPatterns, values.data());
  t.to_f16(values.data(), kPatterns, out.data());
  for (std::size_t i = 0; i < kPatterns; ++i) {
    if (is_nan16(in[i], 0x7c00, 0x03ff)) {
      ASSERT_TRUE(is_nan16(out[i], 0x7c00, 0x03ff)) << std::hex << i << " became " << out[i];
    } else {
      ASSERT_EQ(out[i], in[i]) << std::hex << i;
    }
  }
  t.from_bf16(in.data(), kPatterns, values.data());
  t.to_bf16(values.data(), kPatterns, out.data());
  for (std::size_t i = 0; i < kPatterns; ++i) {
    if (is_nan16(in[i], 0x7f80, 0x007f)) {
      ASSERT_TRUE(is_nan16(out[i], 0x7f80, 0x007f)) << std::hex << i << " became " << out[i];
    } else {
      ASSERT_EQ(out[i], in[i]) << std::hex << i;
    }
  }
}

TEST(A13, EveryPatternComesBack) {
  for (const Kernels* k : {&reference(), &best()}) {
    SCOPED_TRACE(k->name);
    in_both_modes([&] {
      all_patterns<float>(*k);
      all_patterns<double>(*k);
    });
  }
}

TEST(A13, KnownAnswers) {
  const struct {
    float value;
    std::uint16_t half;
  } answers[] = {
      {0x1p-15f, 0x0200},        {0x1p-24f, 0x0001},  {-0x1p-24f, 0x8001},
      {0x1p-25f, 0x0000},         // a tie, to even
      {0x1.000002p-25f, 0x0001},  // just above
      {0x1.8p-24f, 0x0002},       // a tie, to even
      {0x1p-26f, 0x0000},        {0x1p-14f, 0x0400},  {0x1.ff8p-15f, 0x03ff},
      {0x1.ffcp-15f, 0x0400},  // a tie between the largest subnormal and the least normal
      {65504.0f, 0x7bff},        {-65504.0f, 0xfbff}, {65519.0f, 0x7bff},
      {65520.0f, 0x7c00},        {1.0f, 0x3c00},      {0x1.002p0f, 0x3c00},
      {0x1.006p0f, 0x3c02},      {0.0f, 0x0000},      {-0.0f, 0x8000},
  };
  for (const Kernels* k : {&reference(), &best()}) {
    SCOPED_TRACE(k->name);
    in_both_modes([&] {
      for (const auto& [value, half] : answers) {
        const std::vector<float> in(37, value);  // vector body and tail
        std::vector<std::uint16_t> out(37);
        k->f32.to_f16(in.data(), in.size(), out.data());
        for (const std::uint16_t w : out) ASSERT_EQ(w, half) << value;
        const std::vector<double> wide(37, value);
        k->f64.to_f16(wide.data(), wide.size(), out.data());
        for (const std::uint16_t w : out) ASSERT_EQ(w, half) << value;
      }
    });
  }
}

/// The nearest half, ties to even, by comparing distances in double, for 2^-26 <= x < 2^-12.
std::uint16_t nearest_half(float x) {
  const double steps = x < 0x1p-14 ? x * 0x1p24 : 0;  // subnormals: multiples of 2^-24
  if (x < 0x1p-14) return static_cast<std::uint16_t>(std::nearbyint(steps));
  int exponent = 0;
  std::frexp(x, &exponent);  // x = f * 2^exponent, 0.5 <= f < 1
  const double units =
      std::nearbyint(std::ldexp(static_cast<double>(x), 11 - exponent));  // 1024..2048
  return static_cast<std::uint16_t>(((exponent + 14) << 10) + static_cast<int>(units) - 1024);
}

TEST(A13, SweepOverTheSubnormals) {
  std::vector<float> in;
  const auto first = std::bit_cast<std::uint32_t>(0x1p-26f),
             last = std::bit_cast<std::uint32_t>(0x1p-13f);
  for (std::uint32_t bits = first; bits <= last; bits += 257)
    in.push_back(std::bit_cast<float>(bits));
  // Every tie, and both neighbours of it.
  for (std::uint32_t half = 0; half < 0x0800; ++half) {
    const float tie = static_cast<float>(half < 0x0400 ? (half + 0.5) * 0x1p-24
                                                       : (1024.5 + (half - 0x0400)) * 0x1p-24);
    const auto bits = std::bit_cast<std::uint32_t>(tie);
    for (std::uint32_t b : {bits - 1, bits, bits + 1}) in.push_back(std::bit_cast<float>(b));
  }
  std::vector<std::uint16_t> expected;
  for (const float x : in) expected.push_back(nearest_half(x));
  for (const Kernels* k : {&reference(), &best()}) {
    SCOPED_TRACE(k->name);
    in_both_modes([&] {
      std::vector<std::uint16_t> out(in.size());
      k->f32.to_f16(in.data(), in.size(), out.data());
      for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], expected[i]) << in[i];
    });
  }
}

TEST(A13, SignallingNanStaysNan) {
  for (const std::uint32_t bits :
       {0x7f800001u, 0xff800001u, 0x7f801fffu, 0x7fa00000u, 0x7fc00000u, 0xffffffffu}) {
    float x = 0;
    std::memcpy(&x, &bits, sizeof x);
    for (const Kernels* k : {&reference(), &best()}) {
      const std::vector<float> in(19, x);
      std::vector<std::uint16_t> out(19);
      k->f32.to_f16(in.data(), in.size(), out.data());
      for (const std::uint16_t w : out)
        EXPECT_TRUE(is_nan16(w, 0x7c00, 0x03ff)) << std::hex << bits;
      k->f32.to_bf16(in.data(), in.size(), out.data());
      for (const std::uint16_t w : out)
        EXPECT_TRUE(is_nan16(w, 0x7f80, 0x007f)) << std::hex << bits;
    }
  }
}

}  // namespace
}  // namespace wring::kernels
