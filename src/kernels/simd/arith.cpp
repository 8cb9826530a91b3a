// SPDX-License-Identifier: BSD-3-Clause
// arith.cpp - add and divide in vectors.
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#if HAVE_HWY
#include "kernels/simd/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/arith.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/simd/lanes_body.hpp"

HWY_BEFORE_NAMESPACE();
namespace wring::kernels {
namespace HWY_NAMESPACE {
#if WRING_VECTORS

template <class R>
void add(const R* a, R sa, const R* b, R sb, std::size_t n, R* out) noexcept {
  const hn::ScalableTag<R> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto vsa = hn::Set(d, sa);
  const auto vsb = hn::Set(d, sb);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto sum = weighted_sum_lanes(d, hn::LoadU(d, a + i), vsa, hn::LoadU(d, b + i), vsb);
    hn::StoreU(sum, d, out + i);
  }
  for (; i < n; ++i) out[i] = weighted_sum(a[i], sa, b[i], sb);
}

template <class R>
void divide(const R* in, R divisor, std::size_t n, R* out) noexcept {
  const hn::ScalableTag<R> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto vdivisor = hn::Set(d, divisor);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto quotient = hn::Div(hn::LoadU(d, in + i), vdivisor);
    hn::StoreU(canonical_lanes(d, quotient), d, out + i);
  }
  for (; i < n; ++i) out[i] = canonical(in[i] / divisor);
}

void fill_arith(Kernels& kernels) {
  kernels.name = hwy::TargetName(HWY_TARGET);
  kernels.f32.add = add<float>;
  kernels.f32.divide = divide<float>;
#if HWY_HAVE_FLOAT64
  kernels.f64.add = add<double>;
  kernels.f64.divide = divide<double>;
#endif
}

#else
void fill_arith(Kernels&) {}
#endif  // WRING_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace wring::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wring::kernels {
HWY_EXPORT(fill_arith);
void override_arith(Kernels& kernels) { HWY_DYNAMIC_DISPATCH(fill_arith)(kernels); }
}  // namespace wring::kernels
#endif
#endif  // HAVE_HWY
