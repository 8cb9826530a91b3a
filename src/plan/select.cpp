// SPDX-License-Identifier: BSD-3-Clause
// select.cpp - chooses algorithm and codec for a problem: settings first, then the built-in table.
#include "plan/plan.hpp"

namespace wring::plan {
namespace {

/// Below this many bytes latency counts, not bandwidth: one round of messages after another beats
/// cutting the vector, and encoding gains nothing. Measured on 2 and 4 hosts at 1 Gbit/s
/// (docs/performance.md).
constexpr std::uint64_t kLatencyBytes = 16 * 1024;

codec::Spec none() { return {.codec = codec::all().front(), .params = codec::all().front()->defaults}; }

/// The codec that a caller gets who asked for `asked` in this problem.
codec::Spec usable(const Problem& problem, const codec::Spec& asked) {
  return problem.encodable() ? asked : none();
}

Choice built_in(const Problem& problem) {
  const codec::Spec asked = usable(problem, problem.codec);
  if (problem.bytes() < kLatencyBytes) {
    return {algorithm::find("recursive_doubling"), none(), "small: latency counts, so raw in the fewest rounds"};
  }
  if (asked.lossy()) {
    return {algorithm::find("direct"), asked, "large and lossy: two roundings whatever the number of ranks"};
  }
  if (problem.dtype == Dtype::f16 || problem.dtype == Dtype::bf16) {
    return {algorithm::find("direct"), asked, "large, 16 bits: partial sums in fp32 never cross the wire"};
  }
  return {algorithm::find("ring"), asked, "large and exact: the least bytes on every link"};
}

}  // namespace

Choice choose(const Problem& problem, const Settings& settings) {
  const codec::Spec asked = usable(problem, problem.codec);
  if (settings.algorithm != nullptr) return {settings.algorithm, asked, "algorithm set by the user"};
  for (const Rule& rule : settings.rules) {
    if (problem.bytes() < rule.min_bytes || problem.bytes() >= rule.max_bytes) continue;
    // A rule never makes an exact call lossy.
    const bool take = rule.codec.codec != nullptr && (asked.lossy() || !rule.codec.lossy());
    return {rule.algorithm, take ? usable(problem, rule.codec) : asked, "tuning rule of the user"};
  }
  return built_in(problem);
}

}  // namespace wring::plan
