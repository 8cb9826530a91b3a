// SPDX-License-Identifier: BSD-3-Clause
// geometry.cpp - index arithmetic: slices and segments of a vector. All in 64 bits.
#include <algorithm>

#include "plan/plan.hpp"

namespace wring::plan {

Geometry::Range slice_of(std::uint64_t count, std::uint64_t block, std::uint32_t slices, std::uint32_t s) {
  const std::uint64_t blocks = count / block + (count % block != 0);
  const std::uint64_t base = blocks / slices, extra = blocks % slices;
  // Products stay below count + block.
  const std::uint64_t first = std::min(count, (s * base + std::min<std::uint64_t>(s, extra)) * block);
  const std::uint64_t next = std::uint64_t{s} + 1;
  const std::uint64_t end = std::min(count, (next * base + std::min(next, extra)) * block);
  return {first, end - first};
}

Geometry cut(std::uint64_t count, std::uint64_t block, std::uint32_t slices, std::uint64_t segment) {
  Geometry g{.count = count, .block = block, .segment = std::max(block, segment / block * block),
             .slices = slices, .tiles = 0, .ranges = {}};
  g.ranges.reserve(slices);
  for (std::uint32_t s = 0; s < slices; ++s) g.ranges.push_back(slice_of(count, block, slices, s));
  const std::uint64_t longest = g.slice(0).n;  // slice 0 is never the shorter one
  g.tiles = static_cast<std::uint32_t>(longest / g.segment + (longest % g.segment != 0));
  return g;
}

}  // namespace wring::plan
