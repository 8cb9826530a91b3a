// SPDX-License-Identifier: BSD-3-Clause
// plan.cpp - puts a plan together: geometry, program, staging.
#include "plan/plan.hpp"

#include <algorithm>

#include "base/config.hpp"

namespace wring::plan {
namespace {

/// Raw bytes of a segment where nothing else is asked for. Large enough that a frame's fixed cost
/// (some 10 us over tcp) is small beside its wire time, small enough to stay in the L2 cache between
/// decoding, adding and sending on.
constexpr std::uint64_t kSegmentBytes = 128 * 1024;
/// A slice is cut into at least this many segments (of at least kLeastSegment bytes), so that the
/// phases of an algorithm overlap.
constexpr std::uint64_t kLeastTiles = 4;
constexpr std::uint64_t kLeastSegment = 16 * 1024;
/// Tiles in flight: four raw frames per peer keep a tcp link busy; encoded ones are smaller, and there is
/// work to hide behind them (docs/performance.md: int8 217 ms with 8, 249 with 4).
constexpr std::uint32_t kDepth = 4, kLossyDepth = 8;

/// Bytes of an accumulator of this problem.
std::uint64_t real_bytes(const Problem& p) {
  return p.dtype == Dtype::opaque ? p.element_bytes : size_of(real_of(p.dtype));
}

/// Bytes of a segment of n elements in any form that is staged or sent.
std::size_t staged_bytes(const Problem& p, const codec::Spec& spec, std::uint64_t n) {
  std::size_t bytes = n * real_bytes(p);
  if (spec.lossy()) {
    bytes = std::max(bytes, spec.codec->max_encoded_bytes(spec.params, real_of(p.dtype), n));
  }
  return bytes;
}

std::uint64_t segment_elements(const Problem& p, const codec::Spec& spec, std::uint32_t slices,
                               const Settings& settings) {
  const std::uint64_t block = spec.block(), each = real_bytes(p);
  const std::uint64_t slice_bytes = p.count / slices * each;
  std::uint64_t bytes = settings.segment_bytes;
  if (bytes == 0) {
    bytes = std::min(kSegmentBytes, std::max(kLeastSegment, slice_bytes / kLeastTiles));
  }
  std::uint64_t n = std::max(block, bytes / each / block * block);
  while (n > block && staged_bytes(p, spec, n) > settings.max_payload) {
    n = std::max(block, n / 8 * 7 / block * block);
  }
  return n;
}

std::uint32_t hash_words(std::initializer_list<std::uint64_t> words) {
  std::uint64_t h = 0xcbf29ce484222325;  // FNV-1a over bytes
  for (std::uint64_t w : words) {
    for (int i = 0; i < 8; ++i) h = (h ^ ((w >> (8 * i)) & 0xff)) * 0x100000001b3;
  }
  return static_cast<std::uint32_t>(h ^ (h >> 32));
}

std::uint64_t count_raw_bytes(const Plan& plan) {
  std::uint64_t bytes = 0;
  for (const algorithm::Step& s : plan.program.steps) {
    if (s.kind != algorithm::Step::Kind::send) continue;
    const std::uint64_t each = s.content == algorithm::Content::partial
                                   ? real_bytes(plan.problem)
                                   : plan.problem.element_bytes;
    bytes += plan.geometry.slice(s.slice).n * each;
  }
  return bytes;
}

}  // namespace

Plan make_plan(const Problem& problem, const Settings& settings, int rank) {
  Plan plan{.problem = problem, .choice = choose(problem, settings), .geometry = {}, .program = {}};
  const codec::Spec& spec = plan.choice.codec;
  const std::uint32_t slices = plan.choice.algorithm->slices(problem.size);
  plan.geometry = cut(problem.count, spec.block(), slices,
                      segment_elements(problem, spec, slices, settings));
  plan.program = plan.choice.algorithm->make(rank, problem.size);
  plan.rank = rank;
  plan.checksum = settings.checksum;
  plan.depth = static_cast<int>(std::min(spec.lossy() ? kLossyDepth : kDepth, plan.geometry.tiles));
  const std::uint64_t longest = std::min(plan.geometry.segment, plan.geometry.slice(0).n);
  plan.buffer_bytes = staged_bytes(problem, spec, longest);
  // Accumulators of all tiles, frames being encoded and sent, and one for conversions.
  plan.buffers = plan.depth * static_cast<int>(plan.program.live_values) + 1;
  if (spec.lossy()) plan.buffers += 2 * plan.depth + 2;
  plan.detail = hash_words({codec::hash(spec), plan.geometry.segment, problem.opaque_id,
                            problem.element_bytes, problem.codec.codec->wire_id,
                            codec::hash(problem.codec)});
  plan.raw_bytes = count_raw_bytes(plan);
  return plan;
}

std::string Plan::describe() const {
  std::string text = choice.algorithm->name;
  text += " + " + codec::to_string(choice.codec);
  text += ", " + std::to_string(problem.count) + " x ";
  text += problem.dtype == Dtype::opaque ? std::to_string(problem.element_bytes) + " bytes" : name_of(problem.dtype);
  text += ", " + (problem.encodable() ? ErrorBound(problem, choice).describe() : std::string("exact"));
  text += ", segment " + format_bytes(geometry.segment * problem.element_bytes);
  text += ", " + std::to_string(geometry.tiles) + " tiles, " + std::to_string(depth) + " in flight";
  text += std::string(": ") + choice.reason;
  return text;
}

}  // namespace wring::plan
