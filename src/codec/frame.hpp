// SPDX-License-Identifier: BSD-3-Clause
// frame.hpp - the fixed header in front of every payload between ranks (docs/wire-format.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.hpp"
#include "base/status.hpp"

namespace wring::codec {

inline constexpr std::size_t kHeaderBytes = 64;
inline constexpr std::uint32_t kMagic = 0x474e5257;  // "WRNG" in memory
inline constexpr std::uint8_t kVersion = 1;

enum class FrameKind : std::uint8_t { data = 1, abort = 2 };

/// What the values of a frame are, hence their type where the payload is raw.
enum class Content : std::uint8_t {
  contribution = 0,  ///< one rank's input: the caller's type
  partial = 1,       ///< a sum over some ranks: the accumulator's type
  result = 2,        ///< the finished sum or average, before rounding to the caller's type
};

/// Header fields in host form. `signature` part: what all ranks of a call must agree on.
struct FrameHeader {
  FrameKind kind = FrameKind::data;
  std::uint64_t context = 0;  ///< communicator; random, so that frames of another job never match

  // The call, and what must be equal on all its ranks.
  std::uint32_t plan = 0;     ///< plan of the communicator; 0: the blocking calls
  std::uint32_t start = 0;    ///< how many calls of that plan came before, modulo 2^32
  std::uint64_t count = 0;    ///< elements of the whole vector
  Dtype dtype = Dtype::opaque;
  Op op = Op::other;
  std::uint8_t codec = 0;       ///< wire id of the codec that the call asks for
  std::uint8_t algorithm = 0;   ///< wire id
  std::uint32_t detail = 0;     ///< hash of codec parameters, segment, opaque type and operator

  // The frame's place in the call.
  std::uint32_t source = 0;  ///< rank of the sender
  std::uint32_t tile = 0;
  std::uint32_t label = 0;   ///< which transfer of the schedule between these two ranks
  Content content = Content::contribution;
  /// Averages: the values are 2^-scale times the sum over their ranks.
  std::uint8_t scale = 0;
  std::uint32_t elements = 0;
  std::uint32_t payload_bytes = 0;
};

/// Writes h, and with checksum the CRC32C over header and payload; without, the field is 0.
void pack(const FrameHeader& h, bool checksum, std::span<const std::byte> payload,
          std::byte out[kHeaderBytes]) noexcept;

/// Makes a header without checksum that of another start.
void set_start(std::byte header[kHeaderBytes], std::uint32_t plan, std::uint32_t start) noexcept;

/// Reads a header. corrupt_frame for a wrong magic, version, kind or enumerator, a payload size that
/// differs from payload.size(), or a checksum that is present and wrong. With `checksum` a missing
/// one is corrupt too.
Status unpack(std::span<const std::byte> header, bool checksum, std::span<const std::byte> payload,
              FrameHeader& out) noexcept;

}  // namespace wring::codec
