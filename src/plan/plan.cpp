// SPDX-License-Identifier: BSD-3-Clause
// plan.cpp - puts a plan together: geometry, program, staging.
#include "plan/plan.hpp"

#include <algorithm>
#include <cmath>

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
  plan.program = algorithm.make(rank, problem.size);
  const std::uint32_t slices = plan.program.slices;
  plan.geometry =
      cut(problem.count, spec.block(), slices,
          segment_elements(problem, spec, slices, most_live_values(algorithm, problem.size),
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
                            codec::hash(problem.codec), problem.any_codec});
  plan.raw_bytes = count_raw_bytes(plan);
  return plan;
}

std::string Plan::describe() const {
  std::string text = choice.algorithm->name;
  text += " + " + codec::to_string(choice.codec);
  text += ", " + std::to_string(problem.count) + " x ";
  text += problem.dtype == Dtype::opaque ? std::to_string(problem.element_bytes) + " bytes" : name_of(problem.dtype);
  text += ", segment " + format_bytes(geometry.segment * problem.element_bytes);
  text += ", " + std::to_string(geometry.tiles) + " tiles, " + std::to_string(depth) + " in flight";
  text += std::string(": ") + choice.reason;
  if (choice.seconds > 0) text += "; predicted " + format_seconds(choice.seconds);
  if (choice.raw_wins()) {
    text += ", raw would take " + format_seconds(choice.raw_seconds);
  }
  return text;
}

double error_bound(const Problem& problem, const Choice& choice, double sum_abs, double sum_max,
                   double result) {
  const int p = problem.size;
  if (p == 1) return 0;
  // Roundings of the accumulator: P - 1 additions, a division, and as many scalings that can touch
  // the smallest subnormal numbers.
  const bool wide = real_of(problem.dtype) == Real::f64;
  const double unit = wide ? 0x1p-53 : 0x1p-24, least = wide ? 0x1p-1074 : 0x1p-149;
  const double sums = std::expm1((p + 1) * std::log1p(unit));

  double lossy = 0, absolute = 0, base = sum_abs;
  if (choice.codec.lossy()) {
    const codec::ErrorModel model = choice.codec.codec->error_model(choice.codec.params, real_of(problem.dtype));
    const int hops = choice.algorithm->lossy_hops(p);
    lossy = std::expm1(hops * std::log1p(model.relative));
    if (model.of_block_max) base = sum_max;
    // Each of at most P encodings per level adds the absolute term, with what later roundings make of it.
    absolute = model.absolute * hops * p * (1 + lossy);
  }
  double bound = base * (lossy + sums + lossy * sums) + absolute * (1 + sums) + 2.0 * p * least;
  if (problem.op == Op::avg) bound = bound / p + 2 * least + unit * std::abs(result);
  // The last rounding, to the caller's type.
  const double magnitude = std::abs(result) + bound;
  switch (problem.dtype) {
    case Dtype::f16: return bound + std::max(magnitude * 0x1p-11, 0x1p-25);
    case Dtype::bf16: return bound + std::max(magnitude * 0x1p-8, 0x1p-134);
    default: return bound;
  }
}

}  // namespace wring::plan
