// SPDX-License-Identifier: BSD-3-Clause
// sequence.hpp - numbers that wrap around, and what tokens of sends say.
#pragma once

#include <cstdint>

namespace wring::runtime {

/// Distance from start a to start b; numbers wrap around.
constexpr std::int32_t ahead(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(b - a); }

/// Token of a notice's sends. Others have the place of their execution in the session from bit 48, the tile
/// slot from bit 32, and the step below; decorators of channels use bit 63 for copies of their own.
inline constexpr std::uint64_t kNoticeToken = std::uint64_t{1} << 63;
inline constexpr unsigned kPlaceShift = 48, kSlotShift = 32;
inline constexpr std::size_t kMostPlaces = 0x7fff;

}  // namespace wring::runtime
