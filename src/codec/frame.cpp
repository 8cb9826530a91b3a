// SPDX-License-Identifier: BSD-3-Clause
// frame.cpp - the header's layout in bytes: docs/wire-format.md in code.
#include "codec/frame.hpp"

#include <bit>
#include <cstring>

#include "kernels/kernels.hpp"

namespace wring::codec {
namespace {

// Offset of each field, and its size behind the comma; all little-endian.
enum Offset : std::size_t {
  kAtMagic = 0,          // 4
  kAtVersion = 4,        // 1
  kAtKind = 5,           // 1
  kAtCodec = 6,          // 1
  kAtDtype = 7,          // 1
  kAtContext = 8,        // 8
  kAtOp = 16,            // 1
  kAtContent = 17,       // 1
  kAtAlgorithm = 18,     // 1
  kAtFlags = 19,         // 1
  kAtSource = 20,        // 4
  kAtPlan = 24,          // 4
  kAtStart = 28,         // 4
  kAtCount = 32,         // 8
  kAtTile = 40,          // 4
  kAtLabel = 44,         // 4
  kAtElements = 48,      // 4
  kAtPayloadBytes = 52,  // 4
  kAtDetail = 56,        // 4
  kAtCrc = 60,           // 4
};
static_assert(kAtCrc + 4 == kHeaderBytes);

// Bits of the flags.
constexpr std::uint8_t kFlagChecksum = 1;
constexpr unsigned kScaleShift = 1;  // 5 bits
constexpr std::uint8_t kScaleMask = 31 << kScaleShift;

// Little-endian processors copy words: byte by byte, packing and unpacking would be a third of the instructions of
// the smallest calls.

template <class T>
void store(std::byte* at, T value) noexcept {
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(at, &value, sizeof value);
  } else {
    for (std::size_t i = 0; i < sizeof(T); ++i) at[i] = static_cast<std::byte>(value >> (8 * i));
  }
}

template <class T>
T load(const std::byte* at) noexcept {
  T value = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&value, at, sizeof value);
  } else {
    for (std::size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(value | static_cast<T>(at[i]) << (8 * i));
  }
  return value;
}

/// CRC32C over the header before its own field, then the payload.
std::uint32_t checksum_of(const std::byte* header, std::span<const std::byte> payload) noexcept {
  const auto crc32c = kernels::best().crc32c;
  return crc32c(crc32c(0, header, kAtCrc), payload.data(), payload.size());
}

constexpr Status corrupt(const char* what) noexcept { return {Code::corrupt_frame, what}; }

/// Whether a byte is the value of an enumerator from first to last.
template <class Enum>
bool in_range(std::byte value, Enum first, Enum last) noexcept {
  return value >= static_cast<std::byte>(first) && value <= static_cast<std::byte>(last);
}

}  // namespace

void pack(const FrameHeader& h, bool checksum, std::span<const std::byte> payload,
          std::byte out[kHeaderBytes]) noexcept {
  store(out + kAtMagic, kMagic);
  store(out + kAtVersion, kVersion);
  store(out + kAtKind, static_cast<std::uint8_t>(h.kind));
  store(out + kAtCodec, h.codec);
  store(out + kAtDtype, static_cast<std::uint8_t>(h.dtype));
  store(out + kAtContext, h.context);
  store(out + kAtOp, static_cast<std::uint8_t>(h.op));
  store(out + kAtContent, static_cast<std::uint8_t>(h.content));
  store(out + kAtAlgorithm, h.algorithm);
  store(out + kAtFlags, static_cast<std::uint8_t>((checksum ? kFlagChecksum : 0) | (h.scale << kScaleShift & kScaleMask)));
  store(out + kAtSource, h.source);
  store(out + kAtPlan, h.plan);
  store(out + kAtStart, h.start);
  store(out + kAtCount, h.count);
  store(out + kAtTile, h.tile);
  store(out + kAtLabel, h.label);
  store(out + kAtElements, h.elements);
  store(out + kAtPayloadBytes, h.payload_bytes);
  store(out + kAtDetail, h.detail);
  store(out + kAtCrc, checksum ? checksum_of(out, payload) : 0u);
}

void set_start(std::byte header[kHeaderBytes], std::uint32_t plan, std::uint32_t start) noexcept {
  // At once, as the reader reads words.
  static_assert(kAtStart == kAtPlan + 4 && kAtPlan % 8 == 0);
  store(header + kAtPlan, static_cast<std::uint64_t>(start) << 32 | plan);
}

Status unpack(std::span<const std::byte> header, bool checksum, std::span<const std::byte> payload,
              FrameHeader& out) noexcept {
  if (header.size() != kHeaderBytes) return corrupt("frame header has a wrong size");
  const std::byte* at = header.data();
  if (load<std::uint32_t>(at + kAtMagic) != kMagic) return corrupt("frame has a wrong magic");
  if (load<std::uint8_t>(at + kAtVersion) != kVersion) {
    return corrupt("frame of another version of the wire format");
  }
  if (!in_range(at[kAtKind], FrameKind::data, FrameKind::abort) ||
      !in_range(at[kAtDtype], Dtype::opaque, Dtype::f64) ||
      !in_range(at[kAtOp], Op::other, Op::avg) ||
      !in_range(at[kAtContent], Content::contribution, Content::result)) {
    return corrupt("frame field out of range");
  }
  const std::uint8_t flags = load<std::uint8_t>(at + kAtFlags);
  const std::uint32_t crc = load<std::uint32_t>(at + kAtCrc);
  if (flags & ~(kFlagChecksum | kScaleMask)) return corrupt("frame has unknown flags");
  if (load<std::uint32_t>(at + kAtPayloadBytes) != payload.size()) {
    return corrupt("frame has a wrong payload size");
  }
  if (flags & kFlagChecksum) {
    if (crc != checksum_of(at, payload)) return corrupt("frame has a wrong checksum");
  } else if (checksum || crc != 0) {
    return corrupt("frame lacks a checksum");
  }

  out.kind = static_cast<FrameKind>(at[kAtKind]);
  out.context = load<std::uint64_t>(at + kAtContext);
  out.plan = load<std::uint32_t>(at + kAtPlan);
  out.start = load<std::uint32_t>(at + kAtStart);
  out.count = load<std::uint64_t>(at + kAtCount);
  out.dtype = static_cast<Dtype>(at[kAtDtype]);
  out.op = static_cast<Op>(at[kAtOp]);
  out.codec = load<std::uint8_t>(at + kAtCodec);
  out.algorithm = load<std::uint8_t>(at + kAtAlgorithm);
  out.detail = load<std::uint32_t>(at + kAtDetail);
  out.source = load<std::uint32_t>(at + kAtSource);
  out.tile = load<std::uint32_t>(at + kAtTile);
  out.label = load<std::uint32_t>(at + kAtLabel);
  out.content = static_cast<Content>(at[kAtContent]);
  out.scale = static_cast<std::uint8_t>((flags & kScaleMask) >> kScaleShift);
  out.elements = load<std::uint32_t>(at + kAtElements);
  out.payload_bytes = load<std::uint32_t>(at + kAtPayloadBytes);
  return {};
}

}  // namespace wring::codec
