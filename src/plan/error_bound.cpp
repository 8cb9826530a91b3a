// SPDX-License-Identifier: BSD-3-Clause
// error_bound.cpp - how far a result may be from the exact one (docs/codecs.md).
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "plan/plan.hpp"

namespace wring::plan {

ErrorBound::ErrorBound(const Problem& problem, const Choice& choice)
    : size_(problem.size), dtype_(problem.dtype), average_(problem.op == Op::avg) {
  // Roundings of the accumulator: P - 1 additions, a division, and as many scalings that can touch
  // the smallest subnormal numbers.
  const int p = problem.size;
  const bool wide = real_of(problem.dtype) == Real::f64;
  unit_ = wide ? 0x1p-53 : 0x1p-24;
  least_ = wide ? 0x1p-1074 : 0x1p-149;
  const double sums = std::expm1((p + 1) * std::log1p(unit_));
  double lossy = 0, absolute = 0;
  if (p > 1 && choice.codec.lossy()) {
    const codec::ErrorModel model = choice.codec.codec->error_model(choice.codec.params, real_of(problem.dtype));
    const int hops = choice.algorithm->lossy_hops(problem.layout());
    lossy = std::expm1(hops * std::log1p(model.relative));
    of_block_max_ = model.of_block_max;
    // Each of at most P encodings per level adds the absolute term, with what later roundings make of it.
    absolute = model.absolute * hops * p * (1 + lossy);
  }
  relative_ = lossy + sums + lossy * sums;
  absolute_ = absolute * (1 + sums) + 2.0 * p * least_;
}

double ErrorBound::operator()(double sum_abs, double sum_max, double result) const noexcept {
  if (size_ == 1) return 0;
  double bound = (of_block_max_ ? sum_max : sum_abs) * relative_ + absolute_;
  if (average_) bound = bound / size_ + 2 * least_ + unit_ * std::abs(result);
  // The last rounding, to the caller's type.
  const double magnitude = std::abs(result) + bound;
  switch (dtype_) {
    case Dtype::f16: return bound + std::max(magnitude * 0x1p-11, 0x1p-25);
    case Dtype::bf16: return bound + std::max(magnitude * 0x1p-8, 0x1p-134);
    default: return bound;
  }
}

std::string ErrorBound::describe() const {
  // No result is larger than the magnitudes that make it.
  double relative = relative_ + (average_ ? unit_ : 0), absolute = average_ ? absolute_ / size_ : absolute_;
  const auto round = [&](double to, double least) {
    relative += to * (1 + relative);
    absolute += to * absolute + least;
  };
  if (dtype_ == Dtype::f16) round(0x1p-11, 0x1p-25);
  if (dtype_ == Dtype::bf16) round(0x1p-8, 0x1p-134);
  char text[128];
  constexpr double kUp = 1.005;  // three digits
  const int length = std::snprintf(text, sizeof text, "error at most %.2e x the %s over ranks of %s", relative * kUp,
                             average_ ? "mean" : "sum", of_block_max_ ? "block maxima" : "magnitudes");
  constexpr double kNormal = 0x1p-126;  // what is below only matters to values that are below too
  if (absolute >= kNormal) std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length), " + %.2e", absolute * kUp);
  return text;
}

}  // namespace wring::plan
