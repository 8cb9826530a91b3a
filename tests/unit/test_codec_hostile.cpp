// SPDX-License-Identifier: BSD-3-Clause
// test_codec_hostile.cpp - payloads that no encoder wrote: a Status, never a step out of bounds.
#include <gtest/gtest.h>

#include "codec_inputs.hpp"

namespace wring {
namespace {

using codec::Spec;
using test::Bytes;

class HostileTest : public testing::TestWithParam<std::string> {
 protected:
  const Spec spec_ = test::spec_of(GetParam());

  /// Decodes n elements both ways from a copy of exact size; whether the payload was accepted.
  template <class R>
  bool accepted(const Bytes& bytes, std::size_t n) const {
    Bytes payload = bytes;
    payload.shrink_to_fit();
    std::vector<R> out(n), sum(n);
    const std::vector<R> x(n, R{1});
    const Status status = test::decode(spec_, payload, out);
    const Status status_add = test::decode_add(spec_, payload, 1, x, 1, sum);
    EXPECT_EQ(status.code(), status_add.code());
    EXPECT_TRUE(status.ok() || status.code() == Code::corrupt_frame) << status.what();
    return status.ok();
  }

  template <class R>
  void check_sizes() const {
    constexpr std::size_t kSizes[] = {0, 1, 2, 8, 9, 31, 100, 300};
    for (const std::size_t n : kSizes) {
      const Bytes good = test::encode(spec_, test::quantiser_input<R>(n, n, spec_.block()));
      ASSERT_TRUE(accepted<R>(good, n));
      for (std::size_t size = 0; size <= good.size() + 20; ++size) {
        Bytes bytes = good;
        bytes.resize(size);
        ASSERT_EQ(accepted<R>(bytes, n), size == good.size()) << n << " " << size;
      }
    }
  }

  template <class R>
  void check_noise() const {
    test::Random random(5);
    for (int i = 0; i < 3000; ++i) {
      const std::size_t n = random() % 200;
      Bytes bytes = test::encode(spec_, test::quantiser_input<R>(n, random(), spec_.block()));
      if (i % 3 == 0) bytes.resize(random() % (8 * n + 16));
      const bool all = i % 3 == 0 || i % 5 == 0;
      const std::size_t flips = all ? 4 * bytes.size() : 1 + random() % 4;
      for (std::size_t f = 0; f < flips && !bytes.empty(); ++f) {
        bytes[random() % bytes.size()] ^= static_cast<std::byte>(1u << random() % 8);
      }
      accepted<R>(bytes, n);
    }
  }
};

TEST_P(HostileTest, OtherSizesAreRefused) {
  check_sizes<float>();
  check_sizes<double>();
}
TEST_P(HostileTest, NoiseDoesNoHarm) {
  check_noise<float>();
  check_noise<double>();
}

INSTANTIATE_TEST_SUITE_P(All, HostileTest, testing::ValuesIn(test::all_specs()),
                         [](const auto& info) { return test::test_name(info.param); });

/// Payload of 11 elements in blocks of 8, with the first scale replaced.
Status with_scale(float scale) {
  const Spec spec = test::spec_of("int8:block=8");
  Bytes payload = test::encode(spec, std::vector<float>(11, 1.f));
  std::memcpy(payload.data(), &scale, sizeof scale);
  std::vector<float> out(11);
  return test::decode(spec, payload, out);
}

TEST(HostileBlockTest, ScalesNoEncoderWrites) {
  EXPECT_TRUE(with_scale(0.f).ok());
  EXPECT_TRUE(with_scale(0x1p-100f / 127).ok());
  EXPECT_TRUE(with_scale(0x1p126f / 127).ok());
  const float inf = std::numeric_limits<float>::infinity();
  for (const float scale : {-0.f, -1.f, inf, -inf, 0x1p126f, 0x1p-120f, std::nanf("1")}) {
    EXPECT_EQ(with_scale(scale).code(), Code::corrupt_frame) << scale;
  }
  EXPECT_EQ(with_scale(std::nanf("")).code(), Code::corrupt_frame) << "raw elements are missing";
}

TEST(HostileBlockTest, PaddingMustBeZero) {
  const std::vector<float> in(11, 1.f);
  for (const auto& [text, tail] : {std::pair{"int8:block=8", 1}, {"int4:block=8", 2}}) {
    const Spec spec = test::spec_of(text);
    const Bytes good = test::encode(spec, in);
    std::vector<float> out(11);
    for (int i = 1; i <= tail; ++i) {
      Bytes bytes = good;
      bytes[bytes.size() - static_cast<std::size_t>(i)] = std::byte{1};
      EXPECT_EQ(test::decode(spec, bytes, out).code(), Code::corrupt_frame) << text << " " << i;
    }
  }
  const Spec spec = test::spec_of("int4:block=8");
  Bytes bytes = test::encode(spec, in);
  bytes[8 + 5] |= std::byte{0x10};  // the nibble after the last of 11 codes
  std::vector<float> out(11);
  EXPECT_EQ(test::decode(spec, bytes, out).code(), Code::corrupt_frame);
}

}  // namespace
}  // namespace wring
