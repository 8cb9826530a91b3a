// SPDX-License-Identifier: BSD-3-Clause
// expected.hpp - what an all-reduce must give: the exact result and the published bound, per
// element.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "plan/plan.hpp"

namespace wring::test {

/// Element i of a rank's contribution, as it is stored in the problem's type.
using Value = std::function<double(int rank, std::uint64_t i)>;

struct Expected {
  std::vector<double> exact, bound;
};

/// Sums in long double, which holds sums of the inputs used here exactly. Non-finite inputs count
/// for nothing in the bounds of the elements beside them.
inline Expected expect(const plan::Problem& p, const plan::Choice& choice, const Value& value) {
  Expected out;
  const std::uint64_t block = choice.codec.block();
  for (std::uint64_t first = 0; first < p.count; first += block) {
    const std::uint64_t end = std::min(p.count, first + block);
    double sum_max = 0;
    for (int r = 0; r < p.size; ++r) {
      double most = 0;
      for (std::uint64_t i = first; i < end; ++i) {
        const double x = value(r, i);
        if (std::isfinite(x)) most = std::max(most, std::abs(x));
      }
      sum_max += most;
    }
    for (std::uint64_t i = first; i < end; ++i) {
      long double sum = 0, sum_abs = 0;
      for (int r = 0; r < p.size; ++r) {
        const double x = value(r, i);
        sum += x;
        sum_abs += std::abs(x);
      }
      if (p.op == Op::avg) sum /= p.size;
      const auto exact = static_cast<double>(sum);
      out.exact.push_back(exact);
      out.bound.push_back(
          std::isfinite(exact)
              ? plan::ErrorBound(p, choice)(static_cast<double>(sum_abs), sum_max, exact)
              : 0);
    }
  }
  return out;
}

/// NaN for NaN, the same infinity for an infinity, else within the bound.
inline bool within(double got, double exact, double bound) {
  if (std::isnan(exact)) return std::isnan(got);
  if (std::isinf(exact)) return got == exact;
  return std::abs(got - exact) <= bound;
}

}  // namespace wring::test
