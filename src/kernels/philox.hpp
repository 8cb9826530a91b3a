// SPDX-License-Identifier: BSD-3-Clause
// philox.hpp - the counter-based random numbers of stochastic rounding.
//
// Philox4x32 with 10 rounds: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as
// easy as 1, 2, 3", SC'11. A pure function from counter and key to four words: no state, hence
// equal bits for any split of a vector over vector lanes, segments and calls.
#pragma once

#include <array>
#include <cstdint>

namespace wring::kernels {

inline constexpr std::uint32_t kPhiloxMul0 = 0xD2511F53;
inline constexpr std::uint32_t kPhiloxMul1 = 0xCD9E8D57;
inline constexpr std::uint32_t kPhiloxKey0 = 0x9E3779B9;
inline constexpr std::uint32_t kPhiloxKey1 = 0xBB67AE85;
inline constexpr int kPhiloxRounds = 10;

constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key) noexcept {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{kPhiloxMul0} * counter[0];
    const std::uint64_t p1 = std::uint64_t{kPhiloxMul1} * counter[2];
    counter = {
        static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
        static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key = {key[0] + kPhiloxKey0, key[1] + kPhiloxKey1};
  }
  return counter;
}

}  // namespace wring::kernels
