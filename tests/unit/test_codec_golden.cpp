// SPDX-License-Identifier: BSD-3-Clause
// test_codec_golden.cpp - frames and decoded values on file: the wire format may not drift.
//
// tests/golden/README.md says how to regenerate them, and when that is allowed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "codec/frame.hpp"
#include "codec_inputs.hpp"

namespace wring {
namespace {

using codec::FrameHeader;
using codec::kHeaderBytes;
using codec::Spec;
using test::Bytes;

const char* const kSpecs[] = {"none",
                              "fp16",
                              "bf16",
                              "int8:block=8",
                              "int8:block=8,rounding=stochastic,seed=7",
                              "int4:block=8",
                              "int4:block=8,rounding=stochastic,seed=7"};

/// 45 values: blocks of 8 with ordinary, tiny, huge, zero, non-finite values, ties; an odd tail.
template <class R>
std::vector<R> golden_values() {
  using Limits = std::numeric_limits<R>;
  std::vector<R> v = {1, R(-0.5), R(0.25), R(3.140625), R(-2.71875), 100, R(-99.5), R(0.0078125)};
  const std::vector<R> special = {
      0, R{-0.0}, Limits::infinity(),  -Limits::infinity(), Limits::quiet_NaN(),
      1, -1,      Limits::denorm_min()};
  const std::vector<R> ties = {127, R(0.5), R(1.5), R(-2.5), R(63.5), R(-126.5), 7, -7};
  const std::vector<R> halves = {65504,      R(65519.5), 65520,        R(1e30),
                                 R(0x1p-24), R(0x1p-25), R(0x1.8p-25), R(0x1.0008p0)};
  v.insert(v.end(), special.begin(), special.end());
  v.insert(v.end(), 8, R{-0.0});
  v.insert(v.end(), ties.begin(), ties.end());
  v.insert(v.end(), halves.begin(), halves.end());
  v.insert(v.end(), {R(1) / 3, R(-2) / 3, R(0x1.01p0), R(0x1.03p0), R(0x1.008p0)});
  return v;
}

/// The file of that name, or what an update run makes of it.
class GoldenFile {
 public:
  explicit GoldenFile(const std::string& name) {
    const char* source = std::getenv("srcdir");
    path_ = std::string(source ? source : ".") + "/tests/golden/" + name;
  }
  void expect(const Bytes& bytes) const {
    if (std::getenv("WRING_UPDATE_GOLDEN")) {
      std::ofstream(path_, std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
    }
    EXPECT_EQ(read(), bytes) << path_;
  }
  Bytes read() const {
    std::ifstream file(path_, std::ios::binary);
    EXPECT_TRUE(file.good()) << path_;
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto* data = reinterpret_cast<const std::byte*>(text.data());
    return {data, data + text.size()};
  }

 private:
  std::string path_;
};

template <class R>
void check(const std::string& text) {
  const Spec spec = test::spec_of(text);
  const std::vector<R> in = golden_values<R>();
  const Bytes payload = test::encode(spec, in);
  FrameHeader h;
  h.context = 0x57e5a11ed0c0ffee;
  h.count = h.elements = static_cast<std::uint32_t>(in.size());
  h.dtype = sizeof(R) == 8 ? Dtype::f64 : Dtype::f32;
  h.op = Op::sum;
  h.codec = spec.codec->wire_id;
  h.algorithm = 1;
  h.detail = codec::hash(spec);
  h.source = 3;
  h.payload_bytes = static_cast<std::uint32_t>(payload.size());
  Bytes frame(kHeaderBytes);
  codec::pack(h, true, payload, frame.data());
  frame.insert(frame.end(), payload.begin(), payload.end());

  const std::string name = test::test_name(text) + (sizeof(R) == 8 ? "_f64" : "_f32");
  const GoldenFile frame_file(name + ".frame.bin");
  frame_file.expect(frame);
  const Bytes stored = frame_file.read();
  ASSERT_GE(stored.size(), kHeaderBytes);
  const Bytes stored_payload(stored.begin() + kHeaderBytes, stored.end());
  FrameHeader out;
  ASSERT_TRUE(codec::unpack(std::span(stored).first(kHeaderBytes), true, stored_payload, out).ok());
  std::vector<R> values(out.elements);
  ASSERT_TRUE(test::decode(spec, stored_payload, values).ok());
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  GoldenFile(name + ".values.bin").expect({bytes, bytes + values.size() * sizeof(R)});
}

class GoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(GoldenTest, FramesAndValues) {
  check<float>(GetParam());
  check<double>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTest, testing::ValuesIn(kSpecs),
                         [](const auto& info) { return test::test_name(info.param); });

TEST(GoldenListTest, EveryCodecHasAFrame) {
  std::set<const codec::Codec*> seen;
  for (const char* text : kSpecs) seen.insert(test::spec_of(text).codec);
  EXPECT_EQ(seen.size(), codec::all().size());
}

}  // namespace
}  // namespace wring
