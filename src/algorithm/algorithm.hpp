// SPDX-License-Identifier: BSD-3-Clause
// algorithm.hpp - interface of the algorithm room: the list of algorithms.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "algorithm/layout.hpp"
#include "algorithm/schedule.hpp"

namespace wring::algorithm {

/// How ranks of an algorithm resemble each other, so that a simulation of thousands of ranks can make
/// do with one or two.
enum class Symmetry : std::uint8_t {
  none,
  /// All ranks do the same at the same time, shifted: what rank 0 sends to rank d, it gets from rank
  /// -d (modulo the number of ranks) under the same label.
  shift,
  /// Ranks exchange frames of the same label in pairs: what rank 0 sends to a rank, it gets from it.
  /// Where ranks are folded (fold.hpp), ranks 0 and 1 stand for the pairs, whom all others wait for.
  exchange,
  /// Where nodes are of the same size, all ranks do the same, shifted among nodes and inside them: what
  /// rank 0 sends to the rank b places on in the node a nodes on, it gets from the rank b places back
  /// in the node a nodes back, under the same label.
  grid,
};

/// An algorithm: one file of this room exports one constant object of this type, listed in
/// algorithms.def.
struct Algorithm {
  const char* name;
  const char* summary;   ///< one line: what it is good for
  std::uint8_t wire_id;  ///< in frame headers; never reused
  Symmetry symmetry;

  /// How many slices the vector is cut into: at most as many as there would be ranks if all nodes were
  /// as large as the largest.
  std::uint32_t (*slices)(const Layout& layout) noexcept;
  /// Most encodings that lie on the way from any contribution to the result, the result's own
  /// included: with an error model of e per rounding, (1 + e)^hops - 1 bounds the relative error.
  int (*lossy_hops)(const Layout& layout) noexcept;
  /// Steps of `rank` among two ranks or more.
  Program (*make)(int rank, const Layout& layout);
  /// Whether it can be the best; null: always. Where it cannot, it is not tried unless somebody asks for it
  /// by name.
  bool (*worth_a_try)(const Layout& layout) noexcept = nullptr;
};

/// All algorithms, in the order of algorithms.def.
std::span<const Algorithm* const> all() noexcept;
/// Algorithm of that name or wire id; null if there is none.
const Algorithm* find(std::string_view name) noexcept;
const Algorithm* find(std::uint8_t wire_id) noexcept;

/// ceil(log2(n)) for n >= 1.
constexpr int ceil_log2(unsigned n) {
  int log = 0;
  while ((1u << log) < n) ++log;
  return log;
}

}  // namespace wring::algorithm
