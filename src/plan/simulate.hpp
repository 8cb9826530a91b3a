// SPDX-License-Identifier: BSD-3-Clause
// simulate.hpp - how long an algorithm takes, by running its programs in simulated time.
#pragma once

#include <cstdint>

#include "plan/cast.hpp"
#include "plan/machine.hpp"
#include "plan/plan.hpp"

namespace wring::plan {

/// What is simulated besides programs.
struct Load {
  const Problem& problem;
  const codec::Spec& codec;
  const Geometry& geometry;
  std::uint32_t depth;  ///< tiles in flight
  Network network;
  Processor processor;
  bool at_once = false;  ///< goes network.short_way, and sums where the result is to be
};

struct Prediction {
  double seconds = 0;  ///< until the last rank is done
  double work = 0;     ///< seconds of the busiest rank's processor
};

/// Runs the first `tiles` tiles as runtime::Execution would: each rank has one processor, which
/// prefers what has just become possible and looks at frames that came in only when nothing is left
/// to do; one sending and one receiving side of its memory that it shares with ranks of its node,
/// each carrying one frame at a time, and so has the node's link to other nodes, for all its ranks
/// together. Left out: staging that runs out, and links in the middle of the network that several
/// nodes share. If the geometry has more tiles, the rest goes at the pace of what is busiest.
Prediction simulate(const Cast& cast, const Load& load, std::uint32_t tiles);

}  // namespace wring::plan
