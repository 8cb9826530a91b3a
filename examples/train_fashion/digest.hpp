// SPDX-License-Identifier: BSD-3-Clause
// digest.hpp - a 64-bit digest of a vector's bits, to see whether ranks hold the same.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace fashion {

/// FNV-1a over 32-bit words instead of bytes: quick, and any changed bit changes the digest.
inline std::uint64_t digest(std::span<const float> values) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const float value : values) {
    hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 0x100000001b3u;
  }
  return hash;
}

}  // namespace fashion
