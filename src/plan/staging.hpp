// SPDX-License-Identifier: BSD-3-Clause
// staging.hpp - segment size, tiles in flight, and the memory that they need.
#pragma once

#include "plan/plan.hpp"

namespace wring::plan {

/// Bytes of an accumulator of this problem.
std::uint64_t real_bytes(const Problem& problem);
/// Bytes of a segment of n elements in any form that is staged or sent.
std::size_t staged_bytes(const Problem& problem, const codec::Spec& spec, std::uint64_t n);

/// Most accumulators that a tile holds on any rank.
std::uint32_t most_live_values(const algorithm::Algorithm& algorithm,
                               const algorithm::Layout& layout);

/// Raw bytes of a segment where nobody says, for slices of that many bytes.
std::uint64_t default_segment(std::uint64_t slice_bytes);
/// The largest segment worth trying.
constexpr std::uint64_t kMostSegment = 128 * 1024, kLeastSegment = 16 * 1024;

/// Elements of a segment of about `bytes`: whole blocks that fit a frame, so that one tile fits the
/// staging. The same on all ranks.
std::uint64_t segment_elements(const Problem& problem, const codec::Spec& spec,
                               std::uint32_t slices, std::uint32_t live_values, std::uint64_t bytes,
                               std::size_t max_payload);

/// Tiles in flight on a rank, and staging buffers that they need.
std::uint32_t tiles_in_flight(const codec::Spec& spec, std::uint32_t tiles,
                              std::uint32_t live_values, std::size_t buffer_bytes);
std::uint32_t staging_buffers(const codec::Spec& spec, std::uint32_t depth,
                              std::uint32_t live_values);

}  // namespace wring::plan
