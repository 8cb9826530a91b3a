// SPDX-License-Identifier: BSD-3-Clause
// cost.cpp - simulates candidates, and keeps what came out.
#include "plan/cost.hpp"

#include <algorithm>
#include <bit>

#include "plan/staging.hpp"

namespace wring::plan {
namespace {

/// Below this, size does not count.
constexpr std::uint64_t kLeastBytes = 8;
/// Steps that are simulated one by one, if they are those of one tile: enough for a few tiles of a
/// few ranks, and few enough that a plan for 64 ranks is made within a millisecond.
constexpr std::uint64_t kSteps = 256;

}  // namespace

CostModel::CostModel(const Problem& problem, const Settings& settings)
    : problem_(problem), settings_(settings) {}

const Cast& CostModel::cast(const algorithm::Algorithm& algorithm) {
  auto& entry = casts_[&algorithm];
  if (entry != nullptr) return *entry;
  const algorithm::Layout layout = problem_.layout();
  entry = std::make_unique<Cast>(algorithm, layout);
  // Ranks that stand for pairs, or for those of a node, are only nearly right: few steps are simulated
  // for every rank.
  const std::uint64_t ranks = entry->programs().size();
  const bool nearly = entry->stands_for_others() && (ranks == 2 || layout.mixed());
  if (nearly && entry->steps() / ranks * static_cast<std::uint64_t>(problem_.size) <= kSteps) {
    entry = std::make_unique<Cast>(algorithm, layout, true);
  }
  return *entry;
}

bool CostModel::sends_partial_sums(const algorithm::Algorithm& algorithm) {
  for (const algorithm::Program& p : cast(algorithm).programs()) {
    for (const algorithm::Step& s : p.steps) {
      if (s.kind == algorithm::Step::Kind::send && s.content == algorithm::Content::partial)
        return true;
    }
  }
  return false;
}

/// Whether every rank just sends its contribution to all others (runtime/exchange.hpp), by the short way.
bool CostModel::goes_at_once(const Problem& problem, const codec::Spec& codec, const Cast& actors,
                             const Geometry& geometry) const {
  if (problem.bytes() > settings_.network.short_way.most || settings_.checksum || codec.lossy()) return false;
  if (geometry.tiles != 1 || geometry.slices != 1) return false;
  return std::ranges::all_of(actors.programs(), [&](const algorithm::Program& p) {
    return std::ssize(p.receives) == problem.size - 1 && std::ranges::all_of(p.receives, [&](const auto& r) {
      return p.steps[r.step].content == algorithm::Content::contribution;
    });
  });
}

const Prediction& CostModel::simulated(const Candidate& c, std::uint64_t bytes) {
  const auto [entry, made] =
      simulated_.try_emplace({c.algorithm, c.codec.lossy(), c.segment_bytes, bytes});
  if (!made) return entry->second;

  Problem p = problem_;
  const bool half = p.dtype == Dtype::f16 || p.dtype == Dtype::bf16;
  if (!c.codec.lossy() && !half) {
    p.dtype = Dtype::opaque;
    p.element_bytes = 1;
  }
  p.count = std::max<std::uint64_t>(1, bytes / p.element_bytes);
  const Cast& actors = cast(*c.algorithm);
  const algorithm::Program& first = actors.programs().front();
  const Geometry g = cut(p.count, c.codec.block(), first.slices,
                         segment_elements(p, c.codec, first.slices, first.live_values,
                                          c.segment_bytes, settings_.max_payload));
  const std::uint32_t depth =
      tiles_in_flight(c.codec, g.tiles, first.live_values,
                      staged_bytes(p, c.codec, std::min(g.segment, g.slice(0).n)));
  const Load load{.problem = p,
                  .codec = c.codec,
                  .geometry = g,
                  .depth = depth,
                  .network = settings_.network,
                  .processor = settings_.processor,
                  .at_once = goes_at_once(p, c.codec, actors, g)};
  const auto tiles =
      static_cast<std::uint32_t>(std::max<std::uint64_t>(1, kSteps / actors.steps()));
  return entry->second = simulate(actors, load, tiles);
}

double CostModel::seconds(const Candidate& c, std::uint64_t bytes) {
  bytes = std::max(bytes, kLeastBytes);
  const std::uint64_t whole = std::bit_floor(bytes);
  const double low = simulated(c, whole).seconds;
  if (bytes == whole) return low;
  const double part = static_cast<double>(bytes) / static_cast<double>(whole) - 1;
  return low + part * (simulated(c, 2 * whole).seconds - low);
}

}  // namespace wring::plan
