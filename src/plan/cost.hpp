// SPDX-License-Identifier: BSD-3-Clause
// cost.hpp - what a candidate costs, as a function of the size of the message.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

#include "plan/plan.hpp"
#include "plan/simulate.hpp"

namespace wring::plan {

struct Candidate {
  const algorithm::Algorithm* algorithm = nullptr;
  codec::Spec codec;
  std::uint64_t segment_bytes = 0;
};

/// Costs of candidates for problems that differ in nothing but their count, under the same
/// settings. Exact codecs cost the same for all types but those of 16 bits: what counts is bytes,
/// so that equal bytes get equal choices. Keeps what it has simulated. Not thread-safe.
class CostModel {
 public:
  CostModel(const Problem& problem, const Settings& settings);

  /// Simulated for a message of just that size.
  const Prediction& simulated(const Candidate& candidate, std::uint64_t bytes);
  /// Linear between powers of two, which are simulated.
  double seconds(const Candidate& candidate, std::uint64_t bytes);
  /// Whether an algorithm sends partial sums at all.
  bool sends_partial_sums(const algorithm::Algorithm& algorithm);

 private:
  const Cast& cast(const algorithm::Algorithm& algorithm);
  bool goes_at_once(const Problem& problem, const codec::Spec& codec, const Cast& actors,
                    const Geometry& geometry) const;

  Problem problem_;
  const Settings& settings_;
  std::map<const algorithm::Algorithm*, std::unique_ptr<Cast>> casts_;
  using Key = std::tuple<const algorithm::Algorithm*, bool, std::uint64_t, std::uint64_t>;
  std::map<Key, Prediction> simulated_;
};

}  // namespace wring::plan
