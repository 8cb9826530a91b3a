// SPDX-License-Identifier: BSD-3-Clause
// cast.hpp - who plays in a simulation: the programs of all ranks, or of those that stand for all.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithm/algorithm.hpp"

namespace wring::plan {

/// Programs of an algorithm, and where their frames go: of all ranks, or of those that stand for
/// all others (algorithm::Symmetry). Made once for many simulations.
class Cast {
 public:
  /// all: every rank, whatever the symmetry.
  Cast(const algorithm::Algorithm& algorithm, const algorithm::Layout& layout, bool all = false);

  /// The step that a send completes on the receiving side.
  struct Target {
    std::uint32_t actor = 0, step = 0;
  };
  const std::vector<algorithm::Program>& programs() const noexcept { return programs_; }
  Target target(std::uint32_t actor, std::uint32_t step) const noexcept {
    return targets_[actor][step];
  }
  /// Of a send or receive: how many frames it puts on the node's link, 0 if it stays inside the
  /// node. An actor that stands for all ranks of its node puts theirs there too: all, or those that
  /// do not stay inside.
  std::uint32_t crossings(std::uint32_t actor, std::uint32_t step) const noexcept {
    return crossings_[actor][step];
  }
  /// Most crossings of a step: ranks of its node that an actor stands for, itself included.
  std::uint32_t ranks() const noexcept { return ranks_; }
  /// Which link between nodes an actor uses: those of one node share one.
  std::uint32_t link(std::uint32_t actor) const noexcept { return links_[actor]; }
  /// Whether a few actors stand for many ranks.
  bool stands_for_others() const noexcept { return stands_for_others_; }
  /// Of all programs together.
  std::uint64_t steps() const noexcept { return steps_; }

 private:
  std::vector<algorithm::Program> programs_;
  std::vector<std::vector<Target>> targets_;           // by actor and step; sends only
  std::vector<std::vector<std::uint32_t>> crossings_;  // by actor and step; sends and receives
  std::vector<std::uint32_t> links_;                   // by actor
  std::uint32_t ranks_ = 1;
  bool stands_for_others_ = false;
  std::uint64_t steps_ = 0;
};

}  // namespace wring::plan
