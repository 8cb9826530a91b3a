// SPDX-License-Identifier: BSD-3-Clause
// test_frame.cpp - the frame header: layout, checks, and bytes that nobody packed.
#include <gtest/gtest.h>

#include "codec/frame.hpp"
#include "codec_inputs.hpp"

namespace wring {
namespace {

using codec::Content;
using codec::FrameHeader;
using codec::FrameKind;
using codec::kHeaderBytes;
using test::Bytes;

/// Every field different from its default, and payload_bytes as given.
FrameHeader example(std::size_t payload_bytes) {
  FrameHeader h;
  h.kind = FrameKind::abort;
  h.context = 0x0102030405060708;
  h.plan = 0x11121314;
  h.start = 0x21222324;
  h.count = 0x3132333435363738;
  h.dtype = Dtype::f64;
  h.op = Op::avg;
  h.codec = 0x41;
  h.algorithm = 0x42;
  h.detail = 0x51525354;
  h.source = 0x61626364;
  h.tile = 0x71727374;
  h.label = 0x81828384;
  h.content = Content::result;
  h.elements = 0x91929394;
  h.payload_bytes = static_cast<std::uint32_t>(payload_bytes);
  return h;
}

Bytes packed(const FrameHeader& h, bool checksum, const Bytes& payload) {
  Bytes header(kHeaderBytes, std::byte{0xee});
  codec::pack(h, checksum, payload, header.data());
  return header;
}

std::string hex(const Bytes& bytes, std::size_t begin, std::size_t end) {
  std::string out;
  for (std::size_t i = begin; i < end; ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    out += kDigits[static_cast<unsigned>(bytes[i]) / 16];
    out += kDigits[static_cast<unsigned>(bytes[i]) % 16];
  }
  return out;
}

void expect_equal(const FrameHeader& a, const FrameHeader& b) {
  EXPECT_EQ(packed(a, false, {}), packed(b, false, {}));
}

TEST(FrameTest, LayoutIsAsDocumented) {
  const Bytes payload(5, std::byte{7});
  const Bytes header = packed(example(5), false, payload);
  EXPECT_EQ(hex(header, 0, 16),
            "57524e47"
            "01"
            "02"
            "41"
            "04"
            "0807060504030201");
  EXPECT_EQ(hex(header, 16, 32),
            "02"
            "02"
            "42"
            "00"
            "64636261"
            "14131211"
            "24232221");
  EXPECT_EQ(hex(header, 32, 48),
            "3837363534333231"
            "74737271"
            "84838281");
  EXPECT_EQ(hex(header, 48, 64),
            "94939291"
            "05000000"
            "54535251"
            "00000000");
}

TEST(FrameTest, UnpackRestoresEveryField) {
  const Bytes payload(5, std::byte{7});
  for (const bool checksum : {false, true}) {
    FrameHeader out;
    ASSERT_TRUE(codec::unpack(packed(example(5), checksum, payload), checksum, payload, out).ok());
    expect_equal(out, example(5));
    EXPECT_EQ(out.payload_bytes, 5u);
    EXPECT_EQ(out.content, Content::result);
  }
}

TEST(FrameTest, ChecksumIsOptionalUnlessAskedFor) {
  const Bytes payload(9, std::byte{1});
  FrameHeader out;
  const Bytes with = packed(example(9), true, payload);
  const Bytes without = packed(example(9), false, payload);
  EXPECT_TRUE(codec::unpack(with, false, payload, out).ok());
  EXPECT_TRUE(codec::unpack(without, false, payload, out).ok());
  EXPECT_EQ(codec::unpack(without, true, payload, out).code(), Code::corrupt_frame);
}

TEST(FrameTest, ChecksumCoversHeaderAndPayload) {
  Bytes payload(300);
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::byte>(i);
  const Bytes header = packed(example(300), true, payload);
  const std::uint32_t crc = kernels::reference().crc32c(
      kernels::reference().crc32c(0, header.data(), 60), payload.data(), payload.size());
  std::uint32_t stored;
  std::memcpy(&stored, header.data() + 60, 4);
  EXPECT_EQ(stored, crc);
  for (std::size_t bit = 0; bit < 8 * (kHeaderBytes + payload.size()); ++bit) {
    Bytes h = header, p = payload;
    (bit < 8 * kHeaderBytes ? h[bit / 8] : p[bit / 8 - kHeaderBytes]) ^=
        static_cast<std::byte>(1u << bit % 8);
    FrameHeader out = example(1);
    EXPECT_EQ(codec::unpack(h, true, p, out).code(), Code::corrupt_frame) << bit;
    expect_equal(out, example(1));
  }
}

TEST(FrameTest, FieldsOutOfRangeAreRefused) {
  const Bytes payload(3);
  const Bytes good = packed(example(3), false, payload);
  struct Case {
    std::size_t at;
    unsigned value;
  };
  const Case cases[] = {{0, 0x58}, {3, 0},    {4, 0},  {4, 2},  {5, 0},  {5, 3},
                        {7, 5},    {7, 0xff}, {16, 3}, {17, 3}, {19, 1}, {19, 0x40},
                        {19, 0x80},   {52, 2},   {52, 4}, {55, 1}, {60, 1}, {63, 0x80}};
  for (const auto& [at, value] : cases) {
    Bytes header = good;
    header[at] = static_cast<std::byte>(value);
    FrameHeader out;
    EXPECT_EQ(codec::unpack(header, false, payload, out).code(), Code::corrupt_frame) << at;
  }
  FrameHeader out;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, kHeaderBytes - 1, kHeaderBytes + 1}) {
    Bytes header = good;
    header.resize(size);
    EXPECT_EQ(codec::unpack(header, false, payload, out).code(), Code::corrupt_frame) << size;
  }
}

TEST(FrameTest, NoiseIsRefusedOrRead) {
  test::Random random(3);
  for (int i = 0; i < 20000; ++i) {
    Bytes payload(random() % 40);
    payload.shrink_to_fit();
    Bytes header = packed(example(payload.size()), i % 2 != 0, payload);
    const std::size_t flips = i % 7 == 0 ? 300 : random() % 4;
    for (std::size_t f = 0; f < flips; ++f) {
      header[random() % kHeaderBytes] ^= static_cast<std::byte>(1u << random() % 8);
    }
    FrameHeader out;
    const Status status = codec::unpack(header, false, payload, out);
    ASSERT_TRUE(status.ok() || status.code() == Code::corrupt_frame);
    if (status.ok()) {
      EXPECT_EQ(packed(out, (header[19] & std::byte{1}) != std::byte{0}, payload), header);
    }
  }
}

}  // namespace
}  // namespace wring
