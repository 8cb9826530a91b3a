// SPDX-License-Identifier: BSD-3-Clause
// plan.cpp - puts a plan together: geometry, program, staging.
#include "plan/plan.hpp"

#include <algorithm>

#include "base/config.hpp"
#include "plan/staging.hpp"

namespace wring::plan {
namespace {

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
  const algorithm::Algorithm& algorithm = *plan.choice.algorithm;
  const algorithm::Layout layout = problem.layout();
  plan.program = algorithm.make(rank, layout);
  const std::uint32_t slices = plan.program.slices;
  plan.geometry =
      cut(problem.count, spec.block(), slices,
          segment_elements(problem, spec, slices, most_live_values(algorithm, layout),
                           plan.choice.segment_bytes, settings.max_payload));
  plan.rank = rank;
  plan.checksum = settings.checksum;
  const std::uint64_t longest = std::min(plan.geometry.segment, plan.geometry.slice(0).n);
  plan.buffer_bytes = staged_bytes(problem, spec, longest);
  plan.depth = static_cast<int>(
      tiles_in_flight(spec, plan.geometry.tiles, plan.program.live_values, plan.buffer_bytes));
  plan.buffers = static_cast<int>(
      staging_buffers(spec, static_cast<std::uint32_t>(plan.depth), plan.program.live_values));
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
  if (choice.seconds > 0) text += "; predicted " + format_seconds(choice.seconds);
  if (choice.raw_wins()) {
    text += ", raw would take " + format_seconds(choice.raw_seconds);
  }
  return text;
}

}  // namespace wring::plan
