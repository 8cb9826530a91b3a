// SPDX-License-Identifier: BSD-3-Clause
// cast16.cpp - casts to and from the 16-bit formats in vectors.
//
// The steps are those of half.hpp, all branches computed and the right one selected. Subnormal
// results come from one addition: |x| + c, with c such that the spacing of numbers around c is the
// smallest subnormal. No operand or result that matters is subnormal in R, so flush-to-zero makes
// no difference. x86 from AVX2 on converts fp32 to fp16 in hardware, to the same bits.
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#if HAVE_HWY
#include "kernels/simd/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/cast16.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/simd/lanes_body.hpp"

HWY_BEFORE_NAMESPACE();
namespace wring::kernels {
namespace HWY_NAMESPACE {
#if WRING_VECTORS

/// Whether the hardware's fp16 conversion is known to be encode16 and decode16. Not asked of ARM:
/// there, control bits of the calling program change it.
#undef WRING_HARDWARE_F16
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
#define WRING_HARDWARE_F16 1
#else
#define WRING_HARDWARE_F16 0
#endif
template <class F, class R>
constexpr bool kHardware = WRING_HARDWARE_F16&& F::kMantissa == 10 && sizeof(R) == 4;

template <class D>
using Unsigned = hn::VFromD<hn::RebindToUnsigned<D>>;

template <class F, class D>
HWY_INLINE auto is_overflow(D, hn::VFromD<hn::RebindToSigned<D>> magnitude) {
  using C = Conversion<F, hn::TFromD<D>>;
  const hn::RebindToSigned<D> di;
  using Int = hn::TFromD<decltype(di)>;
  return hn::And(hn::Gt(magnitude, hn::Set(di, static_cast<Int>(C::kOverflow - 1))),
                 hn::Lt(magnitude, hn::Set(di, static_cast<Int>(C::kInf))));
}

/// Where R has the range of F: encode16 of each lane in its leading 16 bits, the rest unspecified.
/// Rounding carries into the exponent, up to Inf, and leaves the sign alone.
template <class F, class D>
HWY_INLINE Unsigned<D> encode_leading(D d, hn::VFromD<D> x) {
  using C = Conversion<F, hn::TFromD<D>>;
  using Bits = typename C::Bits;
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, x);
  const auto odd = hn::And(hn::ShiftRight<C::kShift>(bits), hn::Set(du, Bits{1}));
  const auto half = hn::Set(du, (Bits{1} << (C::kShift - 1)) - 1);
  const auto nan = hn::Or(bits, hn::Set(du, C::kQuiet));
  const auto is_nan = hn::RebindMask(du, hn::IsNaN(x));
  return hn::IfThenElse(is_nan, nan, hn::Add(hn::Add(bits, half), odd));
}

/// encode16 of each lane, as an integer of R's size.
template <class F, class D>
HWY_INLINE Unsigned<D> encode_lanes(D d, hn::VFromD<D> x) {
  using R = hn::TFromD<D>;
  using C = Conversion<F, R>;
  using W = Wide<R>;
  using Bits = typename W::Bits;
  const hn::RebindToUnsigned<D> du;
  const auto set = [du](Bits bits) HWY_ATTR { return hn::Set(du, bits); };

  if constexpr (C::kSameRange) {
    return hn::ShiftRight<C::kShift>(encode_leading<F>(d, x));
  } else {
    const hn::RebindToSigned<D> di;
    using Int = hn::TFromD<decltype(di)>;
    const auto bits = hn::BitCast(du, x);
    const auto is_nan = hn::RebindMask(du, hn::IsNaN(x));
    const auto magnitude = hn::And(bits, set(Quant<R>::kMagnitude));
    const auto leading = hn::ShiftRight<C::kShift>(magnitude);
    const auto half = set((Bits{1} << (C::kShift - 1)) - 1 - C::kRebias);
    const auto sum = hn::Add(hn::Add(magnitude, half), hn::And(leading, set(1)));

    const R magic = exp2i<R>(C::kQuantum + W::kMantissa);
    const auto shifted = hn::Add(hn::BitCast(d, magnitude), hn::Set(d, magic));
    const auto small = hn::Sub(hn::BitCast(du, shifted), set(std::bit_cast<Bits>(magic)));
    const auto nan = hn::Or(hn::And(leading, set(C::kQuiet16 - 1)), set(C::kInf16 | C::kQuiet16));

    const auto ordered = hn::BitCast(di, magnitude);
    const auto limit = [di](Bits b) HWY_ATTR { return hn::Set(di, static_cast<Int>(b)); };
    const auto is_small = hn::RebindMask(du, hn::Lt(ordered, limit(C::kMinNormal)));
    const auto is_large = hn::RebindMask(du, hn::Gt(ordered, limit(C::kOverflow - 1)));
    auto out = hn::IfThenElse(is_small, small, hn::ShiftRight<C::kShift>(sum));
    out = hn::IfThenElse(is_large, set(C::kInf16), out);
    out = hn::IfThenElse(is_nan, nan, out);
    const auto sign = hn::AndNot(set(Quant<R>::kMagnitude), bits);
    return hn::Or(out, hn::ShiftRight<W::kBits - 16>(sign));
  }
}

/// decode16 of each lane; without kQuiet, signalling NaN may stay so, for sums, which replace NaN.
template <class F, bool kQuiet, class D>
HWY_INLINE hn::VFromD<D> decode_lanes(D d, hn::VFromD<hn::Rebind<std::uint16_t, D>> words) {
  using R = hn::TFromD<D>;
  using C = Conversion<F, R>;
  using W = Wide<R>;
  using Bits = typename W::Bits;
  if constexpr (kHardware<F, R>) {
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), words));
  } else if constexpr (C::kSameRange) {
    const hn::RebindToUnsigned<D> du;
    const auto out = hn::ShiftLeft<C::kShift>(widen_lanes(d, words));
    const auto x = hn::BitCast(d, out);
    if constexpr (!kQuiet) return x;
    const auto quiet = hn::BitCast(d, hn::Or(out, hn::Set(du, C::kQuiet)));
    return hn::IfThenElse(hn::IsNaN(x), quiet, x);
  } else {
    const hn::RebindToUnsigned<D> du;
    const hn::RebindToSigned<D> di;
    using Int = hn::TFromD<decltype(di)>;
    const auto wide = widen_lanes(d, words);
    const auto sign = hn::ShiftLeft<W::kBits - 16>(hn::And(wide, hn::Set(du, Bits{0x8000})));
    const auto magnitude = hn::And(wide, hn::Set(du, Bits{0x7fff}));
    const auto ordered = hn::BitCast(di, magnitude);
    const auto compare = [di](Bits b) HWY_ATTR { return hn::Set(di, static_cast<Int>(b)); };

    const auto shifted = hn::ShiftLeft<C::kShift>(magnitude);
    auto out = hn::Add(shifted, hn::Set(du, C::kRebias));
    // Subnormal: give the digits the exponent of the smallest normal, then subtract its hidden 1.
    constexpr Bits kOne = Bits{1} << W::kMantissa;
    const auto hidden = hn::Set(d, std::bit_cast<R>(C::kMinNormal));
    const auto normal = hn::BitCast(d, hn::Add(out, hn::Set(du, kOne)));
    const auto is_small = hn::Lt(ordered, compare(Bits{1} << F::kMantissa));
    const auto small = hn::BitCast(du, hn::Sub(normal, hidden));
    out = hn::IfThenElse(hn::RebindMask(du, is_small), small, out);
    const auto is_special = hn::Gt(ordered, compare(C::kInf16 - 1));
    const auto special = hn::Or(shifted, hn::Set(du, C::kInf));
    out = hn::IfThenElse(hn::RebindMask(du, is_special), special, out);
    const auto is_nan = hn::Gt(ordered, compare(C::kInf16));
    const auto quiet = hn::IfThenElseZero(hn::RebindMask(du, is_nan), hn::Set(du, C::kQuiet));
    return hn::BitCast(d, hn::Or(hn::Or(out, quiet), sign));
  }
}

/// Finite values among in that overflow.
template <class F, class R>
std::size_t count_overflows(const R* in, std::size_t n) noexcept {
  const hn::ScalableTag<R> d;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  const auto mask = hn::Set(di, static_cast<hn::TFromD<decltype(di)>>(Quant<R>::kMagnitude));
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto magnitude = hn::And(hn::BitCast(di, hn::LoadU(d, in + i)), mask);
    count += hn::CountTrue(di, is_overflow<F>(d, magnitude));
  }
  for (; i < n; ++i) count += overflows16<F>(in[i]);
  return count;
}

template <class F, class R>
std::size_t to_16(const R* in, std::size_t n, std::uint16_t* out) noexcept {
  // Overflows are rare: a chunk is looked through only if its largest magnitude says so.
  constexpr std::size_t kChunk = 1024;
  using C = Conversion<F, R>;
  const hn::ScalableTag<R> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<std::uint16_t, decltype(d)> d16;
  using Int = hn::TFromD<decltype(di)>;
  const std::size_t lanes = hn::Lanes(d);
  const auto mask = hn::Set(di, static_cast<Int>(Quant<R>::kMagnitude));
  std::size_t overflows = 0;
  std::size_t i = 0;
  while (i + lanes <= n) {
    const std::size_t begin = i;
    const std::size_t end = begin + HWY_MIN(n - begin, kChunk);
    auto largest = hn::Zero(di);
    if constexpr (C::kSameRange) {
      // Two vectors at a time: their leading halves are the odd 16-bit lanes.
      const hn::Repartition<std::uint16_t, decltype(d)> dpair;
      for (; i + 2 * lanes <= end; i += 2 * lanes) {
        const auto x0 = hn::LoadU(d, in + i);
        const auto x1 = hn::LoadU(d, in + i + lanes);
        largest = hn::Max(largest, hn::And(hn::BitCast(di, x0), mask));
        largest = hn::Max(largest, hn::And(hn::BitCast(di, x1), mask));
        const auto lo = hn::BitCast(dpair, encode_leading<F>(d, x0));
        const auto hi = hn::BitCast(dpair, encode_leading<F>(d, x1));
        hn::StoreU(hn::ConcatOdd(dpair, hi, lo), dpair, out + i);
      }
    }
    for (; i + lanes <= end; i += lanes) {
      const auto x = hn::LoadU(d, in + i);
      largest = hn::Max(largest, hn::And(hn::BitCast(di, x), mask));
      if constexpr (kHardware<F, R>) {
        const hn::Rebind<hwy::float16_t, decltype(d)> dh;
        hn::StoreU(hn::BitCast(d16, hn::DemoteTo(dh, x)), d16, out + i);
      } else {
        hn::StoreU(hn::TruncateTo(d16, encode_lanes<F>(d, x)), d16, out + i);
      }
    }
    const auto reached = hn::Gt(largest, hn::Set(di, static_cast<Int>(C::kOverflow - 1)));
    if (!hn::AllFalse(di, reached)) overflows += count_overflows<F>(in + begin, i - begin);
  }
  for (; i < n; ++i) {
    overflows += overflows16<F>(in[i]);
    out[i] = encode16<F>(in[i]);
  }
  return overflows;
}

template <class F, class R>
void from_16(const std::uint16_t* in, std::size_t n, R* out) noexcept {
  const hn::ScalableTag<R> d;
  const hn::Rebind<std::uint16_t, decltype(d)> d16;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(decode_lanes<F, true>(d, hn::LoadU(d16, in + i)), d, out + i);
  }
  for (; i < n; ++i) out[i] = decode16<F, R>(in[i]);
}

template <class F, class R>
void add_16(const std::uint16_t* w, R sw, const R* x, R sx, std::size_t n, R* out) noexcept {
  const hn::ScalableTag<R> d;
  const hn::Rebind<std::uint16_t, decltype(d)> d16;
  const std::size_t lanes = hn::Lanes(d);
  const auto vsw = hn::Set(d, sw);
  const auto vsx = hn::Set(d, sx);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto decoded = decode_lanes<F, false>(d, hn::LoadU(d16, w + i));
    hn::StoreU(weighted_sum_lanes(d, decoded, vsw, hn::LoadU(d, x + i), vsx), d, out + i);
  }
  for (; i < n; ++i) out[i] = weighted_sum(decode16<F, R>(w[i]), sw, x[i], sx);
}

template <class R>
void fill_real(RealKernels<R>& kernels) {
  kernels.to_f16 = to_16<Fp16, R>;
  kernels.to_bf16 = to_16<Bf16, R>;
  kernels.from_f16 = from_16<Fp16, R>;
  kernels.from_bf16 = from_16<Bf16, R>;
  kernels.add_f16 = add_16<Fp16, R>;
  kernels.add_bf16 = add_16<Bf16, R>;
}

void fill_cast16(Kernels& kernels) {
  fill_real(kernels.f32);
#if HWY_HAVE_FLOAT64
  fill_real(kernels.f64);
#endif
}

#else
void fill_cast16(Kernels&) {}
#endif  // WRING_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace wring::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wring::kernels {
HWY_EXPORT(fill_cast16);
void override_cast16(Kernels& kernels) { HWY_DYNAMIC_DISPATCH(fill_cast16)(kernels); }
}  // namespace wring::kernels
#endif
#endif  // HAVE_HWY
