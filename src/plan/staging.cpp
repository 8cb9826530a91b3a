// SPDX-License-Identifier: BSD-3-Clause
// staging.cpp - segment size, tiles in flight, and the memory that they need.
#include "plan/staging.hpp"

#include <algorithm>

namespace wring::plan {
namespace {

/// A slice is cut into at least this many segments (of at least kLeastSegment bytes), so that the
/// phases of an algorithm overlap.
constexpr std::uint64_t kLeastTiles = 4;
/// Tiles in flight: four raw frames per peer keep a tcp link busy; encoded ones are smaller, and
/// there is work to hide behind them (docs/performance.md: int8 217 ms with 8, 249 with 4).
constexpr std::uint32_t kDepth = 4, kLossyDepth = 8;
/// Staging of one call, whatever the message and the number of ranks.
constexpr std::uint64_t kStagingBytes = 64 << 20;

}  // namespace

std::uint64_t real_bytes(const Problem& p) {
  return p.dtype == Dtype::opaque ? p.element_bytes : size_of(real_of(p.dtype));
}

std::size_t staged_bytes(const Problem& p, const codec::Spec& spec, std::uint64_t n) {
  std::size_t bytes = n * real_bytes(p);
  if (spec.lossy()) {
    bytes = std::max(bytes, spec.codec->max_encoded_bytes(spec.params, real_of(p.dtype), n));
  }
  return bytes;
}

std::uint32_t most_live_values(const algorithm::Algorithm& algorithm,
                               const algorithm::Layout& layout) {
  // No algorithm holds more than one for each slice and one that is being sent. Only where that is
  // too much to stage is it worth a program to know: the first rank of a node holds as many as any
  // other of a node of that size, and what a node has to hold goes to the fewest ranks where it has
  // the fewest, but for nodes of one rank, which have nothing to add up by themselves.
  const std::uint32_t slices = algorithm.slices(layout);
  if (slices <= 128) return slices + 1;
  const auto held = [&](int node) {
    return algorithm.make(layout.leader(node), layout).live_values;
  };
  int few = layout.largest();
  for (int n = 0; n < layout.nodes(); ++n) {
    if (layout.ranks_on(n) > 1 && layout.ranks_on(n) < layout.ranks_on(few)) few = n;
  }
  const int fewest = layout.smallest();
  return fewest == few ? held(few) : std::max(held(few), held(fewest));
}

std::uint64_t default_segment(std::uint64_t slice_bytes) {
  return std::min(kMostSegment, std::max(kLeastSegment, slice_bytes / kLeastTiles));
}

std::uint64_t segment_elements(const Problem& p, const codec::Spec& spec, std::uint32_t slices,
                               std::uint32_t live_values, std::uint64_t bytes,
                               std::size_t max_payload) {
  const std::uint64_t block = spec.block(), each = real_bytes(p);
  if (bytes == 0) bytes = default_segment(p.count / slices * each);
  const std::uint64_t buffers = staging_buffers(spec, 1, live_values);
  std::uint64_t n = std::max(block, bytes / each / block * block);
  while (n > block) {
    const std::size_t staged = staged_bytes(p, spec, n);
    if (staged <= max_payload && buffers * staged <= kStagingBytes) break;
    n = std::max(block, n / 8 * 7 / block * block);
  }
  return n;
}

std::uint32_t tiles_in_flight(const codec::Spec& spec, std::uint32_t tiles,
                              std::uint32_t live_values, std::size_t buffer_bytes) {
  std::uint32_t depth = std::min(spec.lossy() ? kLossyDepth : kDepth, tiles);
  while (depth > 1 && staging_buffers(spec, depth, live_values) * buffer_bytes > kStagingBytes)
    --depth;
  return depth;
}

std::uint32_t staging_buffers(const codec::Spec& spec, std::uint32_t depth,
                              std::uint32_t live_values) {
  // Accumulators of all tiles, frames being encoded and sent, and one for conversions.
  return depth * live_values + 1 + (spec.lossy() ? 2 * depth + 2 : 0);
}

}  // namespace wring::plan
