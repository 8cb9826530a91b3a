// SPDX-License-Identifier: BSD-3-Clause
// test_kernels_cast16.cpp - casts to 16 bits against a search through all values of the format.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "kernel_inputs.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace wring {
namespace {

using kernels::Bf16;
using kernels::Fp16;

/// Value of the finite word by the definition of the format.
template <class F>
double value_of(unsigned word) {
  const int exponent = static_cast<int>(word >> F::kMantissa & ((1u << (15 - F::kMantissa)) - 1));
  const int digits = static_cast<int>(word & ((1u << F::kMantissa) - 1));
  const int hidden = exponent ? 1 << F::kMantissa : 0;
  const double magnitude =
      std::ldexp(hidden + digits, std::max(exponent, 1) - F::kBias - F::kMantissa);
  return word & 0x8000 ? -magnitude : magnitude;
}

template <class F>
constexpr unsigned kInf16 = 0x7fffu >> F::kMantissa << F::kMantissa;

/// Nearest word to x, ties to even, found by comparing x with the middles between neighbours.
template <class F>
std::uint16_t nearest_word(double x) {
  static const std::vector<double> middles = [] {
    std::vector<double> list;
    for (unsigned w = 0; w + 1 < kInf16<F>; ++w) {
      list.push_back((value_of<F>(w) + value_of<F>(w + 1)) / 2);
    }
    const double largest = value_of<F>(kInf16<F> - 1);
    list.push_back(largest + (largest - value_of<F>(kInf16<F> - 2)) / 2);
    return list;
  }();
  const double magnitude = std::fabs(x);
  const auto at = std::lower_bound(middles.begin(), middles.end(), magnitude);
  auto word = static_cast<unsigned>(at - middles.begin());
  if (at != middles.end() && *at == magnitude) word += word & 1;  // a tie: to the even one
  return static_cast<std::uint16_t>(word | (std::signbit(x) ? 0x8000u : 0u));
}

template <class F, class R>
std::vector<std::uint16_t> cast(const kernels::Kernels& k, const std::vector<R>& in,
                                std::size_t* overflows = nullptr) {
  std::vector<std::uint16_t> out(in.size());
  const auto to = F::kMantissa == 10 ? k.real<R>().to_f16 : k.real<R>().to_bf16;
  const std::size_t count = to(in.data(), in.size(), out.data());
  if (overflows) *overflows = count;
  return out;
}

template <class F, class R>
std::vector<R> uncast(const kernels::Kernels& k, const std::vector<std::uint16_t>& in) {
  std::vector<R> out(in.size());
  const auto from = F::kMantissa == 10 ? k.real<R>().from_f16 : k.real<R>().from_bf16;
  from(in.data(), in.size(), out.data());
  return out;
}

std::vector<std::uint16_t> all_words() {
  std::vector<std::uint16_t> words(65536);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint16_t>(i);
  return words;
}

/// Every word decodes to its value and encodes to itself; NaN becomes quiet, the rest of it is
/// kept.
template <class F, class R>
void check_patterns(const kernels::Kernels& k) {
  const auto words = all_words();
  const auto values = uncast<F, R>(k, words);
  std::size_t overflows = 1;
  const auto again = cast<F>(k, values, &overflows);
  EXPECT_EQ(overflows, 0u);
  for (unsigned w = 0; w < 65536; ++w) {
    const R x = values[w];
    if ((w & 0x7fff) < kInf16<F>) {
      ASSERT_EQ(static_cast<double>(x), value_of<F>(w)) << k.name << " " << w;
      ASSERT_EQ(std::signbit(x), w >= 0x8000) << w;
      ASSERT_EQ(again[w], w) << k.name;
    } else if ((w & 0x7fff) == kInf16<F>) {
      ASSERT_EQ(
          x, w & 0x8000 ? -std::numeric_limits<R>::infinity() : std::numeric_limits<R>::infinity());
      ASSERT_EQ(again[w], w) << k.name;
    } else {
      ASSERT_TRUE(std::isnan(x)) << w;
      ASSERT_EQ(again[w], w | 1u << (F::kMantissa - 1)) << k.name;
    }
  }
}

/// Ties of all neighbours, the numbers next to them, and a sweep.
template <class F, class R>
std::vector<R> sweep() {
  std::vector<R> values;
  for (unsigned w = 0; w < kInf16<F>; ++w) {
    const double next = w + 1 < kInf16<F> ? value_of<F>(w + 1) : std::ldexp(1.0, F::kBias + 1);
    const R tie = static_cast<R>(value_of<F>(w) / 2 + next / 2);
    for (const R x : {std::nextafter(tie, R{0}), tie, std::nextafter(tie, R(1e38))}) {
      values.push_back(w % 2 ? x : -x);
    }
  }
  for (int exponent = -26; exponent <= -13; ++exponent) {
    for (int i = 0; i < 5000; ++i) {
      values.push_back(static_cast<R>(std::ldexp(1 + i / 5000.0, exponent)));
    }
  }
  using Limits = std::numeric_limits<R>;
  for (const R x : {Limits::max(), Limits::min(), Limits::denorm_min(), R(65504), R(65520)}) {
    values.push_back(x);
    values.push_back(-x);
  }
  return values;
}

template <class F, class R>
void check_rounding(const kernels::Kernels& k) {
  const std::vector<R> values = sweep<F, R>();
  std::size_t overflows = 0;
  const auto words = cast<F>(k, values, &overflows);
  std::size_t expected = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t want = nearest_word<F>(static_cast<double>(values[i]));
    ASSERT_EQ(words[i], want) << k.name << " " << values[i];
    expected += (want & 0x7fff) == kInf16<F>;
  }
  EXPECT_EQ(overflows, expected);
  EXPECT_GT(overflows, 0u);
}

TEST(A13, HalfPatterns) {
  for (const auto& k : test::all_tables()) {
    check_patterns<Fp16, float>(k);
    check_patterns<Fp16, double>(k);
  }
}

TEST(A13, BrainPatterns) {
  for (const auto& k : test::all_tables()) {
    check_patterns<Bf16, float>(k);
    check_patterns<Bf16, double>(k);
  }
}

TEST(A13, RoundsToNearestEven) {
  for (const auto& k : test::all_tables()) {
    check_rounding<Fp16, float>(k);
    check_rounding<Fp16, double>(k);
    check_rounding<Bf16, float>(k);
    check_rounding<Bf16, double>(k);
  }
}

TEST(A13, KnownWords) {
  for (const auto& k : test::all_tables()) {
    const std::vector<float> in = {0x1p-15f, 0x1p-24f, 0x1p-25f, 0x1.000002p-25f,
                                   65504.f,  65520.f,  -0.f};
    const std::vector<std::uint16_t> out = {0x0200, 0x0001, 0, 0x0001, 0x7bff, 0x7c00, 0x8000};
    EXPECT_EQ((cast<Fp16>(k, in)), out) << k.name;
  }
}

TEST(A13, NanStaysNan) {
  const float signalling = std::bit_cast<float>(0x7f800001u);
  const float payload = std::bit_cast<float>(0xffb45000u);
  for (const auto& k : test::all_tables()) {
    EXPECT_EQ((cast<Fp16, float>(k, {signalling, payload})),
              (std::vector<std::uint16_t>{0x7e00, 0xffa2}));
    EXPECT_EQ((cast<Bf16, float>(k, {signalling, payload})),
              (std::vector<std::uint16_t>{0x7fc0, 0xfff4}));
    const double narrow = std::bit_cast<double>(std::uint64_t{0xfff0000000000001});
    EXPECT_EQ((cast<Fp16, double>(k, {narrow})), (std::vector<std::uint16_t>{0xfe00}));
    EXPECT_EQ((cast<Bf16, double>(k, {narrow})), (std::vector<std::uint16_t>{0xffc0}));
  }
}

/// A double just above a tie must not first become the tie as a float.
TEST(A13, DoubleIsRoundedOnce) {
  const std::vector<double> in = {1 + 0x1p-11 + 0x1p-50, 1 + 0x1p-11, 1 + 0x1p-8 + 0x1p-50,
                                  1 + 0x1p-8};
  for (const auto& k : test::all_tables()) {
    EXPECT_EQ((cast<Fp16>(k, std::vector<double>{in[0], in[1]})),
              (std::vector<std::uint16_t>{0x3c01, 0x3c00}));
    EXPECT_EQ((cast<Bf16>(k, std::vector<double>{in[2], in[3]})),
              (std::vector<std::uint16_t>{0x3f81, 0x3f80}));
  }
}

#if defined(__SSE2__)
template <class F, class R>
void check_flush(const kernels::Kernels& k) {
  auto values = sweep<F, R>();
  const auto extra = test::hostile<R>(5000, 5);
  values.insert(values.end(), extra.begin(), extra.end());
  const auto words = all_words();
  const auto encoded = cast<F>(k, values);
  const auto decoded = uncast<F, R>(k, words);
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // flush to zero, denormals are zero
  const auto encoded_flushed = cast<F>(k, values);
  const auto decoded_flushed = uncast<F, R>(k, words);
  _mm_setcsr(before);
  EXPECT_EQ(encoded, encoded_flushed) << k.name;
  EXPECT_TRUE(test::same_bits(decoded, decoded_flushed)) << k.name;
}

TEST(A13, FlushToZeroChangesNothing) {
  for (const auto& k : test::all_tables()) {
    check_flush<Fp16, float>(k);
    check_flush<Fp16, double>(k);
    check_flush<Bf16, float>(k);
    check_flush<Bf16, double>(k);
  }
}
#endif

TEST(Cast16Test, CountsOnlyFiniteOverflows) {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> in(5000, 1.f);
  constexpr std::size_t kPlaces[] = {0, 7, 1023, 1024, 4999};
  for (const std::size_t i : kPlaces) in[i] = i % 2 ? 1e30f : -70000.f;
  in[3] = inf;
  in[4] = std::numeric_limits<float>::quiet_NaN();
  in[2000] = -inf;
  for (const auto& k : test::all_tables()) {
    std::size_t overflows = 0;
    cast<Fp16>(k, in, &overflows);
    EXPECT_EQ(overflows, 5u) << k.name;
    cast<Bf16>(k, in, &overflows);
    EXPECT_EQ(overflows, 0u) << k.name;
  }
}

TEST(KernelsTest, SumsHaveCanonicalNan) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> a = {inf, std::bit_cast<float>(0xff812345u), 1.f, -0.f, 0.f};
  const std::vector<float> b = {-inf, 1.f, std::bit_cast<float>(0x7fc12345u), -0.f, -0.f};
  const std::vector<std::uint32_t> want = {0x7fc00000, 0x7fc00000, 0x7fc00000, 0x80000000, 0};
  for (const auto& k : test::all_tables()) {
    std::vector<float> out(a.size());
    k.f32.add(a.data(), 1.f, b.data(), 1.f, a.size(), out.data());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(out[i]), want[i]) << k.name << " " << i;
    }
  }
}

}  // namespace
}  // namespace wring
