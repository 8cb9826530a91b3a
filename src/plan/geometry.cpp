// SPDX-License-Identifier: BSD-3-Clause
// geometry.cpp - index arithmetic: slices and segments of a vector. All in 64 bits.
#include <algorithm>

#include "plan/plan.hpp"

namespace wring::plan {

Geometry::Range Geometry::slice(std::uint32_t s) const noexcept {
  const std::uint64_t blocks = count / block + (count % block != 0);
  const std::uint64_t base = blocks / slices, extra = blocks % slices;
  // The first `extra` slices have one block more. Products stay below count + block.
  const std::uint64_t first = std::min(count, (s * base + std::min<std::uint64_t>(s, extra)) * block);
  const std::uint64_t next = s + 1;
  const std::uint64_t end = std::min(count, (next * base + std::min(next, extra)) * block);
  return {first, end - first};
}

Geometry::Range Geometry::part(std::uint32_t s, std::uint32_t tile) const noexcept {
  const Range whole = slice(s);
  const std::uint64_t from = std::min(whole.n, tile * segment);
  return {whole.first + from, std::min(segment, whole.n - from)};
}

Geometry cut(std::uint64_t count, std::uint64_t block, std::uint32_t slices, std::uint64_t segment) {
  Geometry g{.count = count, .block = block, .segment = std::max(block, segment / block * block),
             .slices = slices, .tiles = 0};
  // Slice 0 is never the shorter one.
  const std::uint64_t longest = g.slice(0).n;
  g.tiles = static_cast<std::uint32_t>(longest / g.segment + (longest % g.segment != 0));
  return g;
}

}  // namespace wring::plan
