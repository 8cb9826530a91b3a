// SPDX-License-Identifier: BSD-3-Clause
// test_kernels_quant.cpp - the quantiser, its random numbers, and CRC32C against known answers.
#include <gtest/gtest.h>

#include "kernel_inputs.hpp"

namespace wring {
namespace {

using kernels::Kernels;
using kernels::QuantShape;
using kernels::RandomKey;

template <class R>
struct Coded {
  std::vector<R> scales;
  std::vector<std::uint8_t> codes;
  std::size_t escapes;

  Coded(const Kernels& k, const std::vector<R>& in, const QuantShape& shape,
        std::uint64_t first = 0)
      : scales((in.size() + shape.block - 1) / shape.block),
        codes(kernels::code_bytes(shape.levels, in.size()), 0xee) {
    escapes = k.real<R>().quantize(in.data(), in.size(), first, shape, scales.data(), codes.data());
  }
  std::vector<int> numbers(int levels, std::size_t n) const {
    std::vector<int> list;
    for (std::size_t i = 0; i < n; ++i) list.push_back(kernels::get_code(codes.data(), levels, i));
    return list;
  }
};

TEST(PhiloxTest, KnownAnswers) {
  using kernels::philox4x32;
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PhiloxTest, ElementUsesItsWord) {
  const RandomKey key{{1, 2}, 3, 4};
  const std::uint64_t i = (std::uint64_t{1} << 35) + 6;
  const auto words = kernels::philox4x32({1, 2, 3, 4}, {1, 2});
  EXPECT_EQ(kernels::random_word(key, i), words[2]);
}

TEST(Crc32cTest, KnownAnswers) {
  for (const auto& k : test::all_tables()) {
    EXPECT_EQ(k.crc32c(0, "123456789", 9), 0xe3069283u) << k.name;
    EXPECT_EQ(k.crc32c(0, "", 0), 0u);
    const std::vector<std::uint8_t> zeros(32, 0), ones(32, 0xff);  // RFC 3720, B.4
    EXPECT_EQ(k.crc32c(0, zeros.data(), 32), 0x8a9136aau);
    EXPECT_EQ(k.crc32c(0, ones.data(), 32), 0x62a8ab43u);
  }
}

TEST(QuantTest, CodesByHand) {
  const std::vector<float> in = {127.f, -127.f, 0.5f, 1.5f, -2.5f, 0.f, -0.f, 100.4f, 1.f};
  for (const auto& k : test::all_tables()) {
    const Coded<float> c(k, in, {8, 127, nullptr});
    EXPECT_EQ(c.scales, (std::vector<float>{1.f, 1.f / 127}));
    EXPECT_EQ(c.numbers(127, in.size()), (std::vector<int>{127, -127, 0, 2, -2, 0, 0, 100, 127}));
  }
}

TEST(QuantTest, NibblesByHand) {
  const std::vector<float> in = {7.f, -7.f, 1.f, 2.f, -1.f, 0.f, 3.f, -4.f, -5.f};
  for (const auto& k : test::all_tables()) {
    const Coded<float> c(k, in, {8, 7, nullptr});
    EXPECT_EQ(c.scales, (std::vector<float>{1.f, 5.f / 7}));
    EXPECT_EQ(c.codes, (std::vector<std::uint8_t>{0x97, 0x21, 0x0f, 0xc3, 0x09})) << k.name;
  }
}

/// A block with one large element: the published error is half a step of the block's maximum.
TEST(A14, OneLargeElementRulesItsBlock) {
  std::vector<float> in(32, 0.5f);
  in[5] = 1000.f;
  for (const auto& k : test::all_tables()) {
    const QuantShape shape{32, 7, nullptr};
    const Coded<float> c(k, in, shape);
    EXPECT_NEAR(c.scales[0], 142.857f, 1e-3f);
    std::vector<float> out(32);
    k.f32.dequantize(c.scales.data(), c.codes.data(), 32, shape, out.data());
    for (std::size_t i = 0; i < 32; ++i) EXPECT_NEAR(out[i], i == 5 ? 1000.f : 0.f, 1e-3f);
  }
}

template <class R>
void check_escapes(const Kernels& k, int levels) {
  const R inf = std::numeric_limits<R>::infinity();
  const R nan = std::numeric_limits<R>::quiet_NaN();
  const R tiny = kernels::Quant<R>::kMin, huge = kernels::Quant<R>::kMax;
  const std::size_t n = 13 * 8 + 3;
  std::vector<R> in(n, R(0.5));
  const std::pair<std::size_t, R> bad[] = {
      {0, nan}, {15, inf}, {20, -inf}, {24, std::nextafter(huge, inf)}, {n - 1, nan}};
  for (const auto& [i, x] : bad) in[i] = x;
  for (std::size_t i = 40; i < 48; ++i) in[i] = std::nextafter(tiny, R{0});
  for (std::size_t i = 48; i < 56; ++i) in[i] = tiny;
  for (std::size_t i = 56; i < 64; ++i) in[i] = huge;
  for (std::size_t i = 64; i < 72; ++i) in[i] = R{-0.0};
  for (std::size_t i = 72; i < 80; ++i) in[i] = std::numeric_limits<R>::denorm_min();
  in[80] = std::numeric_limits<R>::denorm_min();  // beside 0.5: no reason to escape

  const QuantShape shape{8, levels, nullptr};
  const Coded<R> c(k, in, shape);
  const std::vector<std::size_t> escaping = {0, 1, 2, 3, 5, 9, 13};
  EXPECT_EQ(c.escapes, escaping.size());
  for (std::size_t b = 0; b < c.scales.size(); ++b) {
    const bool expected = std::count(escaping.begin(), escaping.end(), b) == 1;
    EXPECT_EQ(std::isnan(c.scales[b]), expected) << k.name << " block " << b;
    if (expected) {
      EXPECT_TRUE(test::same_bits<R>({c.scales[b]}, {kernels::Quant<R>::kNan}));
    }
  }
  EXPECT_EQ(c.scales[8], R{0});

  std::vector<R> out(n, R{42});
  k.real<R>().dequantize(c.scales.data(), c.codes.data(), n, shape, out.data());
  for (std::size_t i = 0; i < n; ++i) {
    if (std::isnan(c.scales[i / 8])) {
      EXPECT_EQ(out[i], R{42}) << "an escaped block is left alone";
    } else {
      const R m = i / 8 == 6 ? tiny : i / 8 == 7 ? huge : i / 8 == 8 ? R{0} : R(0.5);
      EXPECT_LE(std::fabs(out[i] - in[i]), m / static_cast<R>(2 * levels) * R(1.001));
    }
  }
}

TEST(A08, BlocksThatCannotBeCodedEscape) {
  for (const auto& k : test::all_tables()) {
    for (const int levels : {127, 7}) {
      check_escapes<float>(k, levels);
      check_escapes<double>(k, levels);
    }
  }
}

TEST(QuantTest, BitsDoNotDependOnSplits) {
  const RandomKey key{{9, 8}, 7, 6};
  for (const int levels : {127, 7}) {
    const QuantShape shape{32, levels, &key};
    const auto in = test::quantiser_input<float>(32 * 20 + 5, 3, 32);
    const Coded<float> whole(kernels::best(), in, shape, 96);
    for (std::size_t cut = 32; cut < in.size(); cut += 32) {
      const std::vector<float> head(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(cut));
      const std::vector<float> tail(in.begin() + static_cast<std::ptrdiff_t>(cut), in.end());
      Coded<float> a(kernels::best(), head, shape, 96);
      const Coded<float> b(kernels::best(), tail, shape, 96 + cut);
      a.codes.insert(a.codes.end(), b.codes.begin(), b.codes.end());
      EXPECT_EQ(a.codes, whole.codes);
    }
  }
}

/// The mean over many keys of what x decodes to is x. Each draw errs by less than a step, with
/// variance at most step^2 / 4; 6 sigma of the mean over kKeys.
template <class R>
void check_unbiased(int levels) {
  constexpr int kKeys = 1000;
  const std::vector<R> in = {R(1), R(-0.3), R(0.001), R(0.77), R(-1), R(0.4999), R(-0.05), R(0.25)};
  std::vector<double> mean(in.size(), 0);
  for (std::uint32_t i = 0; i < kKeys; ++i) {
    const RandomKey key{{i, 0}, 1, 2};
    const QuantShape shape{8, levels, &key};
    const Coded<R> c(kernels::best(), in, shape, 8);
    std::vector<R> out(in.size());
    kernels::best().real<R>().dequantize(c.scales.data(), c.codes.data(), in.size(), shape,
                                         out.data());
    for (std::size_t j = 0; j < in.size(); ++j) {
      EXPECT_LE(std::fabs(out[j] - in[j]), 1.0 / levels * 1.001);
      mean[j] += static_cast<double>(out[j]) / kKeys;
    }
  }
  const double sigma = 0.5 / levels / std::sqrt(double{kKeys});
  for (std::size_t j = 0; j < in.size(); ++j) {
    EXPECT_NEAR(mean[j], static_cast<double>(in[j]), 6 * sigma);
  }
}

TEST(QuantTest, StochasticRoundingIsUnbiased) {
  check_unbiased<float>(127);
  check_unbiased<float>(7);
  check_unbiased<double>(127);
}

TEST(QuantTest, KeyDecidesBits) {
  const auto in = test::gaussian<float>(512, 1);
  const RandomKey a{{1, 2}, 3, 4};
  const Coded<float> first(kernels::best(), in, {64, 127, &a});
  EXPECT_EQ(first.codes, Coded<float>(kernels::best(), in, {64, 127, &a}).codes);
  for (const RandomKey& b : {RandomKey{{0, 2}, 3, 4}, RandomKey{{1, 0}, 3, 4},
                             RandomKey{{1, 2}, 0, 4}, RandomKey{{1, 2}, 3, 0}}) {
    EXPECT_NE(first.codes, Coded<float>(kernels::best(), in, {64, 127, &b}).codes);
  }
  EXPECT_NE(first.codes, Coded<float>(kernels::best(), in, {64, 127, &a}, 64).codes);
}

}  // namespace
}  // namespace wring
