// SPDX-License-Identifier: BSD-3-Clause
// fold.hpp - ranks paired up so that a power of two is left.
//
// Let Q be the largest power of two <= P. The first 2(P - Q) ranks pair up, {0, 1}, {2, 3}, ...:
// the odd one gives its contribution to the even one beside it, which takes part for both. The Q
// ranks left are counted by positions, which keep the order of ranks: the contributions that
// neighbouring positions hold are those of neighbouring ranks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace wring::algorithm {

struct Fold {
  explicit Fold(int size)
      : positions(static_cast<int>(std::bit_floor(static_cast<unsigned>(size)))),
        pairs(size - positions) {}

  /// Whether a rank hands its contribution over, or takes one.
  bool gives(int rank) const noexcept { return rank < 2 * pairs && rank % 2 == 1; }
  bool takes(int rank) const noexcept { return rank < 2 * pairs && rank % 2 == 0; }
  /// Of a rank that does not give.
  int position_of(int rank) const noexcept { return rank < 2 * pairs ? rank / 2 : rank - pairs; }
  int rank_at(int position) const noexcept {
    return position < pairs ? 2 * position : position + pairs;
  }
  /// Contributions that positions [from, from + n) hold.
  std::uint32_t ranks_in(int from, int n) const noexcept {
    return static_cast<std::uint32_t>(n + std::min(from + n, pairs) - std::min(from, pairs));
  }

  int positions;  ///< Q
  int pairs;      ///< P - Q
};

}  // namespace wring::algorithm
