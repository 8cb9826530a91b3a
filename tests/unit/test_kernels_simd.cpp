// SPDX-License-Identifier: BSD-3-Clause
// test_kernels_simd.cpp - every table gives the bits of the reference: all kernels, lengths 0 to
// 300 and a long one, all element-aligned misalignments.
#include <gtest/gtest.h>

#include "base/config.hpp"
#include "kernel_inputs.hpp"

namespace wring {
namespace {

using kernels::Kernels;
using kernels::QuantShape;
using kernels::RandomKey;
using kernels::RealKernels;
using test::Tight;
using Words = std::vector<std::uint16_t>;

constexpr std::size_t kLong = 40003;
constexpr std::size_t kMedium = 1109;

/// Calls f(n, offset) for the lengths and misalignments to try; the offset is in elements.
template <class R, class F>
void for_shapes(F&& f) {
  constexpr std::size_t kOffsets = 64 / sizeof(R);
  for (std::size_t n = 0; n <= 300; ++n) f(n, n % kOffsets);
  for (std::size_t offset = 0; offset < kOffsets; ++offset) {
    for (const std::size_t n : {std::size_t{37}, kMedium}) f(n, offset);
  }
  f(kLong, std::size_t{1});
}

Words random_words(std::size_t n, std::uint64_t seed) {
  test::Random random(seed);
  Words words(n);
  for (auto& word : words) word = static_cast<std::uint16_t>(random());
  return words;
}

/// Everything that the elementwise kernels of one table make of one input.
template <class R>
struct Elementwise {
  std::vector<R> sum, sum_in_place, quotient, from_f16, from_bf16, add_f16, add_bf16;
  Words f16, bf16;
  std::size_t f16_overflows, bf16_overflows;

  Elementwise(const RealKernels<R>& k, std::size_t n, std::size_t offset, R sa, R sb) {
    const Tight<R> a(test::hostile<R>(n, 3 * n + offset), offset);
    const Tight<R> b(test::hostile<R>(n, 5 * n + offset + 1), offset / 2);
    const Tight<std::uint16_t> w(random_words(n, n), offset);
    Tight<R> out(n, offset);
    Tight<std::uint16_t> out16(n, offset);
    k.add(a.data(), sa, b.data(), sb, n, out.data());
    sum = out.values();
    Tight<R> place = b;
    k.add(a.data(), sa, place.data(), sb, n, place.data());
    sum_in_place = place.values();
    k.divide(a.data(), R(3), n, out.data());
    quotient = out.values();
    f16_overflows = k.to_f16(a.data(), n, out16.data());
    f16 = out16.values();
    bf16_overflows = k.to_bf16(a.data(), n, out16.data());
    bf16 = out16.values();
    k.from_f16(w.data(), n, out.data());
    from_f16 = out.values();
    k.from_bf16(w.data(), n, out.data());
    from_bf16 = out.values();
    k.add_f16(w.data(), sa, b.data(), sb, n, out.data());
    add_f16 = out.values();
    place = b;
    k.add_bf16(w.data(), sa, place.data(), sb, n, place.data());
    add_bf16 = place.values();
  }
};

class SimdTest : public testing::TestWithParam<std::size_t> {
 protected:
  const Kernels& table() const { return test::all_tables()[GetParam()]; }

  template <class R>
  void check_elementwise() {
    for_shapes<R>([&](std::size_t n, std::size_t offset) {
      const R sa = n % 3 ? R{1} : R{0.25};
      const R sb = n % 5 ? R{1} : R{0.5};
      const Elementwise<R> want(kernels::reference().real<R>(), n, offset, sa, sb);
      const Elementwise<R> got(table().real<R>(), n, offset, sa, sb);
      ASSERT_TRUE(test::same_bits(want.sum, got.sum)) << n;
      ASSERT_TRUE(test::same_bits(want.sum_in_place, got.sum_in_place)) << n;
      ASSERT_TRUE(test::same_bits(want.sum, got.sum_in_place)) << n;
      ASSERT_TRUE(test::same_bits(want.quotient, got.quotient)) << n;
      ASSERT_EQ(want.f16, got.f16) << n;
      ASSERT_EQ(want.bf16, got.bf16) << n;
      ASSERT_EQ(want.f16_overflows, got.f16_overflows) << n;
      ASSERT_EQ(want.bf16_overflows, got.bf16_overflows) << n;
      ASSERT_TRUE(test::same_bits(want.from_f16, got.from_f16)) << n;
      ASSERT_TRUE(test::same_bits(want.from_bf16, got.from_bf16)) << n;
      ASSERT_TRUE(test::same_bits(want.add_f16, got.add_f16)) << n;
      ASSERT_TRUE(test::same_bits(want.add_bf16, got.add_bf16)) << n;
    });
  }

  template <class R>
  void check_quantiser(const QuantShape& shape) {
    const RealKernels<R>& right = kernels::reference().real<R>();
    const RealKernels<R>& best = table().real<R>();
    for_shapes<R>([&](std::size_t n, std::size_t offset) {
      const std::size_t blocks = n / shape.block + (n % shape.block != 0);
      const std::size_t bytes = kernels::code_bytes(shape.levels, n);
      const std::uint64_t first = n % 2 ? shape.block : (std::uint64_t{1} << 34) - 256;
      const Tight<R> in(test::quantiser_input<R>(n, n + offset, shape.block), offset);
      const Tight<R> x(test::hostile<R>(n, n), offset / 2);
      Tight<R> want_scales(blocks, 0), scales(blocks, offset);
      Tight<std::uint8_t> want_codes(bytes, 0, 0xee), codes(bytes, offset, 0x55);
      const std::size_t escapes =
          right.quantize(in.data(), n, first, shape, want_scales.data(), want_codes.data());
      ASSERT_EQ(escapes, best.quantize(in.data(), n, first, shape, scales.data(), codes.data()));
      ASSERT_TRUE(test::same_bits(want_scales.values(), scales.values())) << n;
      ASSERT_EQ(want_codes.values(), codes.values()) << n;

      for (std::size_t i = 0; i < bytes; i += 3)
        codes.data()[i] ^= 0x9d;  // codes no encoder writes
      Tight<R> want(n, 0, R{7}), out(n, offset, R{7});
      right.dequantize(scales.data(), codes.data(), n, shape, want.data());
      best.dequantize(scales.data(), codes.data(), n, shape, out.data());
      ASSERT_TRUE(test::same_bits(want.values(), out.values())) << n;
      right.add_quantized(scales.data(), codes.data(), R(0.5), x.data(), R{2}, n, shape,
                          want.data());
      out = x;
      Tight<R> again = x;
      right.add_quantized(scales.data(), codes.data(), R(0.5), x.data(), R{2}, n, shape,
                          again.data());
      best.add_quantized(scales.data(), codes.data(), R(0.5), out.data(), R{2}, n, shape,
                         out.data());
      ASSERT_TRUE(test::same_bits(again.values(), out.values())) << n;
    });
  }

  template <class R>
  void check_quantisers() {
    const RandomKey key{{0x01234567, 0x89abcdef}, 3, 17};
    constexpr std::size_t kBlocks[] = {8, 24, 64, 128, 520};
    for (const int levels : {127, 7}) {
      for (const std::size_t block : kBlocks) {
        check_quantiser<R>({block, levels, nullptr});
        check_quantiser<R>({block, levels, &key});
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
};

TEST_P(SimdTest, ElementwiseFloat) { check_elementwise<float>(); }
TEST_P(SimdTest, ElementwiseDouble) { check_elementwise<double>(); }
TEST_P(SimdTest, QuantiserFloat) { check_quantisers<float>(); }
TEST_P(SimdTest, QuantiserDouble) { check_quantisers<double>(); }

TEST_P(SimdTest, Crc32c) {
  const auto right = kernels::reference().crc32c;
  constexpr std::size_t kSizes[] = {0, 1, 7, 8, 9, 63, 300, 767, 768, 769, 1536, 10000};
  test::Random random(1);
  for (std::size_t offset = 0; offset < 16; ++offset) {
    for (const std::size_t n : kSizes) {
      Tight<std::uint8_t> data(n, offset);
      for (std::size_t i = 0; i < n; ++i) data.data()[i] = static_cast<std::uint8_t>(random());
      const std::uint32_t start = offset % 2 ? static_cast<std::uint32_t>(random()) : 0;
      const std::uint32_t crc = right(start, data.data(), n);
      ASSERT_EQ(crc, table().crc32c(start, data.data(), n)) << n;
      const std::size_t cut = n / 3;
      ASSERT_EQ(
          crc, table().crc32c(table().crc32c(start, data.data(), cut), data.data() + cut, n - cut));
    }
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SimdTest);
INSTANTIATE_TEST_SUITE_P(Tables, SimdTest,
                         testing::Range(std::size_t{1}, test::all_tables().size()),
                         [](const auto& info) {
                           return std::string(test::all_tables()[info.param].name);
                         });

TEST(KernelsTest, BestIsWhatTheConfigurationAsksFor) {
  const bool vectors = config().kernels != "reference" && test::all_tables().size() > 1;
  EXPECT_STREQ(kernels::best().name, test::all_tables()[vectors ? 1 : 0].name);
}

}  // namespace
}  // namespace wring
