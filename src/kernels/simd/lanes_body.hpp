// SPDX-License-Identifier: BSD-3-Clause
// lanes_body.hpp - vector helpers that the kernels of this folder share; included once per target.
#if defined(WRING_LANES_BODY_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef WRING_LANES_BODY_HPP
#undef WRING_LANES_BODY_HPP
#else
#define WRING_LANES_BODY_HPP
#endif

#include <hwy/highway.h>

#include "kernels/quant.hpp"

/// Whether this target has vectors worth using. On others the reference stays.
#undef WRING_VECTORS
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
#define WRING_VECTORS 0
#else
#define WRING_VECTORS 1
#endif

HWY_BEFORE_NAMESPACE();
namespace wring::kernels {
namespace HWY_NAMESPACE {
#if WRING_VECTORS
namespace hn = hwy::HWY_NAMESPACE;

/// As canonical in quant.hpp.
template <class D, class V>
HWY_INLINE V canonical_lanes(D d, V x) {
  return hn::IfThenElse(hn::IsNaN(x), hn::Set(d, Quant<hn::TFromD<D>>::kNan), x);
}

/// As weighted_sum in quant.hpp.
template <class D, class V>
HWY_INLINE V weighted_sum_lanes(D d, V a, V sa, V b, V sb) {
  return canonical_lanes(d, hn::Add(hn::Mul(sa, a), hn::Mul(sb, b)));
}

/// 32-bit signed integers to R, exactly.
template <class D>
HWY_INLINE hn::VFromD<D> real_lanes(D d, hn::VFromD<hn::Rebind<std::int32_t, D>> x) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return hn::ConvertTo(d, x);
  } else {
    return hn::PromoteTo(d, x);
  }
}

/// 16-bit words to unsigned integers of R's size.
template <class D>
HWY_INLINE hn::VFromD<hn::RebindToUnsigned<D>> widen_lanes(
    D, hn::VFromD<hn::Rebind<std::uint16_t, D>> x) {
  const auto wide = hn::PromoteTo(hn::Rebind<std::uint32_t, D>(), x);
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return wide;
  } else {
    return hn::PromoteTo(hn::RebindToUnsigned<D>(), wide);
  }
}

#endif  // WRING_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace wring::kernels
HWY_AFTER_NAMESPACE();

#endif  // WRING_LANES_BODY_HPP
