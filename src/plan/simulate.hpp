// SPDX-License-Identifier: BSD-3-Clause
// simulate.hpp - how long an algorithm takes, by running its programs in simulated time.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/machine.hpp"
#include "plan/plan.hpp"

namespace wring::plan {

/// Programs of an algorithm, and where their frames go: of all ranks, or of those that stand for
/// all others (algorithm::Symmetry). Made once for many simulations.
class Cast {
 public:
  /// all: every rank, whatever the symmetry.
  Cast(const algorithm::Algorithm& algorithm, int size, bool all = false);

  /// The step that a send completes on the receiving side.
  struct Target {
    std::uint32_t rank = 0, step = 0;
  };
  const std::vector<algorithm::Program>& programs() const noexcept { return programs_; }
  Target target(std::uint32_t rank, std::uint32_t step) const noexcept {
    return targets_[rank][step];
  }
  /// Of all programs together.
  std::uint64_t steps() const noexcept { return steps_; }

 private:
  std::vector<algorithm::Program> programs_;
  std::vector<std::vector<Target>> targets_;  // by rank and step; sends only
  std::uint64_t steps_ = 0;
};

/// What is simulated besides programs.
struct Load {
  const Problem& problem;
  const codec::Spec& codec;
  const Geometry& geometry;
  std::uint32_t depth;  ///< tiles in flight
  Link link;
  Processor processor;
};

struct Prediction {
  double seconds = 0;  ///< until the last rank is done
  double work = 0;     ///< seconds of the busiest rank's processor
};

/// Runs the first `tiles` tiles as runtime::Execution would: each rank has one processor, which
/// prefers what has just become possible and looks at frames that came in only when nothing is left
/// to do; one sending and one receiving side of its link, each carrying one frame at a time. Left
/// out: staging that runs out, and links of the network inside that several ranks share. If the
/// geometry has more tiles, the rest goes at the pace of what is busiest.
Prediction simulate(const Cast& cast, const Load& load, std::uint32_t tiles);

}  // namespace wring::plan
