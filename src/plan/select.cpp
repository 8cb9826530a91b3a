// SPDX-License-Identifier: BSD-3-Clause
// select.cpp - chooses algorithm, codec and segment for a problem: settings first, then the
// cheapest candidate of the cost model.
#include "plan/select.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "plan/staging.hpp"

namespace wring::plan {
namespace {

/// Below this many bytes latency counts, not bandwidth, and encoding gains nothing. Measured on 2
/// and 4 hosts at 1 Gbit/s (docs/performance.md).
constexpr std::uint64_t kLatencyBytes = 16 * 1024;
/// Where each rank's share is below this, as it was then, latency counts too if the model agrees.
constexpr std::uint64_t kLatencyShare = kLatencyBytes / 4;
/// Most roundings of a value by a lossy codec where nobody asks for an algorithm by name, however
/// many ranks there are.
constexpr int kMostRoundings = 2, kManyRanks = 1 << 16;
/// Predictions are not that good: candidates within this of the fastest are equally fast, and the
/// one that leaves the processor most free is taken; among those, the first of the list.
constexpr double kEqualTime = 0.05, kEqualWork = 0.02;

codec::Spec none() {
  return {.codec = codec::all().front(), .params = codec::all().front()->defaults};
}

/// The codec that a caller gets who asked for `asked` in this problem.
codec::Spec usable(const Problem& problem, const codec::Spec& asked) {
  codec::Spec spec = problem.encodable() ? asked : none();
  spec.optional = false;
  return spec;
}

/// Choices are made for sizes [2^k, 2^(k+1)) alike: costs that are all but equal would otherwise
/// make a choice for every few bytes. They are made as for 2^k, the size of most messages.
std::uint64_t class_of(std::uint64_t bytes) {
  return std::max<std::uint64_t>(8, std::bit_floor(bytes));
}

struct Priced {
  Candidate candidate;
  Prediction cost;
};

bool is_half(const Problem& p) { return p.dtype == Dtype::f16 || p.dtype == Dtype::bf16; }

/// Algorithms for that codec, in order of preference. Partial sums are what makes roundings grow
/// with the number of ranks, which rules algorithms that send them out for a lossy codec; of 16-bit
/// data they are twice as long as contributions, so that algorithms without them come first.
std::vector<const algorithm::Algorithm*> algorithms_for(const Problem& problem,
                                                        const codec::Spec& codec) {
  std::vector<const algorithm::Algorithm*> out;
  for (const algorithm::Algorithm* a : algorithm::all()) {
    if (a->worth_a_try != nullptr && !a->worth_a_try(problem.layout())) continue;
    const bool few_roundings = a->lossy_hops(kManyRanks) <= kMostRoundings;
    // Lossy codecs are for messages that are too long to go whole.
    if (!codec.lossy() || (few_roundings && a->slices(problem.layout()) > 1)) out.push_back(a);
  }
  if (is_half(problem)) {
    std::stable_sort(out.begin(), out.end(), [](const auto* a, const auto* b) {
      return a->lossy_hops(kManyRanks) < b->lossy_hops(kManyRanks);
    });
  }
  return out;
}

/// Segments worth trying for slices of that many bytes, the longest first. Of those that hold a
/// whole slice, the shortest stands for all.
std::vector<std::uint64_t> segments_for(const Settings& settings, std::uint64_t slice_bytes) {
  if (settings.segment_bytes != 0) return {settings.segment_bytes};
  std::vector<std::uint64_t> out;
  for (std::uint64_t segment = kMostSegment; segment >= kLeastSegment; segment /= 2) {
    if (segment == kLeastSegment || segment / 2 < slice_bytes) out.push_back(segment);
  }
  return out;
}

/// Candidates with that codec, in order of preference.
std::vector<Priced> candidates(const Problem& problem, const Settings& settings,
                               const codec::Spec& codec, CostModel& model) {
  const std::uint64_t bytes = class_of(problem.bytes());
  const algorithm::Layout layout = problem.layout();
  std::vector<Priced> out;
  for (const algorithm::Algorithm* a : algorithms_for(problem, codec)) {
    for (const std::uint64_t segment : segments_for(settings, bytes / a->slices(layout))) {
      const Candidate c{a, codec, segment};
      out.push_back({c, model.simulated(c, bytes)});
    }
  }
  return out;
}

const Priced& best_of(const std::vector<Priced>& all) {
  double time = all.front().cost.seconds;
  for (const Priced& p : all) time = std::min(time, p.cost.seconds);
  time *= 1 + kEqualTime;
  const Priced* best = nullptr;
  for (const Priced& p : all) {
    if (p.cost.seconds > time) continue;
    if (best == nullptr || p.cost.work * (1 + kEqualWork) < best->cost.work) best = &p;
  }
  return *best;
}

const char* reason_of(const Problem& problem, const Candidate& c, CostModel& model) {
  if (c.codec.lossy()) return "lossy: at most two roundings of a value";
  const bool rounds = c.algorithm->slices(problem.layout()) == 1;
  if (is_half(problem)) {
    if (!model.sends_partial_sums(*c.algorithm)) {
      return "raw, 16 bits: partial sums in fp32 never cross the wire";
    }
    return rounds ? "16 bits: latency counts, so raw in the fewest rounds"
                  : "raw, 16 bits: the least bytes on every link, though partial sums are fp32";
  }
  return rounds ? "latency counts, so raw in the fewest rounds"
                : "raw: the least bytes on every link";
}

/// Whether raw goes although a lossy codec was asked for.
bool goes_raw(const Problem& problem, const Priced& raw, const Priced& encoded) {
  if (problem.bytes() < kLatencyBytes) return true;
  const bool faster = raw.cost.seconds <= encoded.cost.seconds;
  const auto size = static_cast<std::uint64_t>(problem.size);
  return faster && (problem.codec.optional || problem.bytes() / size < kLatencyShare);
}

Choice built_in(const Problem& problem, const Settings& settings, const codec::Spec& asked,
                CostModel& model) {
  const Priced raw = best_of(candidates(problem, settings, asked.lossy() ? none() : asked, model));
  Priced best = raw;
  if (asked.lossy()) {
    const Priced encoded = best_of(candidates(problem, settings, asked, model));
    if (!goes_raw(problem, raw, encoded)) best = encoded;
  }
  const Candidate& c = best.candidate;
  return {.algorithm = c.algorithm,
          .codec = c.codec,
          .reason = reason_of(problem, c, model),
          .segment_bytes = c.segment_bytes,
          .seconds = model.seconds(c, problem.bytes()),
          .raw_seconds = model.seconds(raw.candidate, problem.bytes())};
}

/// What the user says, with what the model thinks of it.
Choice given(const Problem& problem, const Settings& settings, Candidate c, const char* reason,
             CostModel& model) {
  if (settings.segment_bytes != 0) c.segment_bytes = settings.segment_bytes;
  // Where an algorithm encodes nothing, as inside one node, no codec travels.
  if (c.algorithm->lossy_hops(problem.layout()) == 0) c.codec = none();
  if (problem.codec.optional && c.codec.lossy()) {
    const Candidate raw{c.algorithm, none(), c.segment_bytes};
    if (model.seconds(raw, problem.bytes()) <= model.seconds(c, problem.bytes())) c = raw;
  }
  return {.algorithm = c.algorithm,
          .codec = c.codec,
          .reason = reason,
          .segment_bytes = c.segment_bytes,
          .seconds = model.seconds(c, problem.bytes()),
          .raw_seconds = 0};
}

}  // namespace

bool applies(const Rule& rule, const Problem& problem) noexcept {
  return problem.bytes() >= rule.min_bytes && problem.bytes() < rule.max_bytes &&
         (rule.size == 0 || rule.size == problem.size) &&
         (!rule.dtype || *rule.dtype == problem.dtype) &&
         (rule.asked.codec == nullptr || rule.asked == problem.codec);
}

std::vector<Rule> shortlist(const Problem& problem, const Settings& settings) {
  constexpr std::size_t kMost = 6;
  constexpr double kWithin = 3;
  CostModel model(problem, settings);
  const codec::Spec asked = usable(problem, problem.codec);
  const bool small = problem.bytes() < kLatencyBytes;
  std::vector<Priced> all = candidates(problem, settings, asked.lossy() && small ? none() : asked, model);
  std::stable_sort(all.begin(), all.end(), [](const Priced& a, const Priced& b) { return a.cost.seconds < b.cost.seconds; });
  std::vector<Rule> out;
  for (const Priced& p : all) {
    if (out.size() == kMost || p.cost.seconds > kWithin * all.front().cost.seconds) break;
    Rule& rule = out.emplace_back();
    rule.max_bytes = ~std::uint64_t{0};
    rule.algorithm = p.candidate.algorithm;
    rule.codec = p.candidate.codec;
    rule.segment_bytes = p.candidate.segment_bytes;
  }
  return out;
}

Choice choose(const Problem& problem, const Settings& settings, CostModel& model) {
  const codec::Spec asked = usable(problem, problem.codec);
  if (settings.algorithm != nullptr) {
    return given(problem, settings, {settings.algorithm, asked, 0}, "algorithm set by the user",
                 model);
  }
  const auto first_of = [&](const std::vector<Rule>& rules,
                            const char* reason) -> std::optional<Choice> {
    const auto rule = std::find_if(rules.begin(), rules.end(),
                                   [&](const Rule& r) { return applies(r, problem); });
    if (rule == rules.end()) return std::nullopt;
    // A rule never makes an exact call lossy.
    const bool take = rule->codec.codec != nullptr && (asked.lossy() || !rule->codec.lossy());
    const codec::Spec codec = take ? usable(problem, rule->codec) : asked;
    return given(problem, settings, {rule->algorithm, codec, rule->segment_bytes}, reason, model);
  };
  if (auto choice = first_of(settings.rules, "tuning rule of the user")) return *choice;
  if (auto choice = first_of(settings.table, "tuning table of the user")) return *choice;
  if (auto choice = first_of(settings.measured, "measured: the fastest of its candidates")) return *choice;
  return built_in(problem, settings, asked, model);
}

Choice choose(const Problem& problem, const Settings& settings) {
  CostModel model(problem, settings);
  return choose(problem, settings, model);
}

}  // namespace wring::plan
