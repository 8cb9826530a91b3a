// SPDX-License-Identifier: BSD-3-Clause
// half.hpp - one value at a time between float or double and the two 16-bit formats.
//
// Integer arithmetic throughout, so that neither the rounding mode nor flush-to-zero of the calling
// program matters. From wide to 16 bits: round to nearest, ties to even, once; beyond the range
// Inf; NaN keeps its sign and leading payload bits and becomes quiet. To wide: exact; NaN becomes
// quiet.
#pragma once

#include <bit>
#include <cstdint>

namespace wring::kernels {

/// Layouts of the 16-bit formats: sign, exponent, kMantissa bits.
struct Fp16 {
  static constexpr int kMantissa = 10;
  static constexpr int kBias = 15;
};
struct Bf16 {
  static constexpr int kMantissa = 7;
  static constexpr int kBias = 127;
};

/// Layout of the accumulator types.
template <class R>
struct Wide;
template <>
struct Wide<float> {
  using Bits = std::uint32_t;
  static constexpr int kBits = 32;
  static constexpr int kMantissa = 23;
  static constexpr int kBias = 127;
};
template <>
struct Wide<double> {
  using Bits = std::uint64_t;
  static constexpr int kBits = 64;
  static constexpr int kMantissa = 52;
  static constexpr int kBias = 1023;
};

/// 2^exponent, which must be normal in R.
template <class R>
constexpr R exp2i(int exponent) noexcept {
  using W = Wide<R>;
  using Bits = typename W::Bits;
  return std::bit_cast<R>(
      static_cast<Bits>(static_cast<Bits>(W::kBias + exponent) << W::kMantissa));
}

/// Constants of the conversion between 16-bit format F and wide type R.
template <class F, class R>
struct Conversion {
  using W = Wide<R>;
  using Bits = typename W::Bits;
  static constexpr int kShift = W::kMantissa - F::kMantissa;
  static constexpr Bits kSign = Bits{1} << (W::kBits - 1);
  static constexpr Bits kInf = ((Bits{1} << (W::kBits - 1 - W::kMantissa)) - 1) << W::kMantissa;
  static constexpr Bits kQuiet = Bits{1} << (W::kMantissa - 1);
  /// What to add to the bits of a value of F, shifted to R's place, to correct the exponent.
  static constexpr Bits kRebias = static_cast<Bits>(W::kBias - F::kBias) << W::kMantissa;
  /// Smallest magnitude whose conversion is normal in F, and smallest that overflows.
  static constexpr Bits kMinNormal = kRebias + (Bits{1} << W::kMantissa);
  static constexpr Bits kInf16 = ((Bits{1} << (15 - F::kMantissa)) - 1) << F::kMantissa;
  static constexpr Bits kQuiet16 = Bits{1} << (F::kMantissa - 1);
  static constexpr Bits kOverflow = (kInf16 << kShift) + kRebias - (Bits{1} << (kShift - 1));
  /// Distance between subnormals of F is 2^kQuantum.
  static constexpr int kQuantum = 1 - F::kBias - F::kMantissa;
  /// bfloat16 has the exponents of float: no range to leave but the rounding into Inf.
  static constexpr bool kSameRange = kRebias == 0;
};

template <class F, class R>
constexpr std::uint16_t encode16(R x) noexcept {
  using C = Conversion<F, R>;
  using W = Wide<R>;
  using Bits = typename W::Bits;
  const Bits bits = std::bit_cast<Bits>(x);
  const Bits sign = (bits >> (W::kBits - 16)) & 0x8000;
  const Bits magnitude = bits & ~C::kSign;
  Bits out;
  if (magnitude > C::kInf) {
    out = C::kInf16 | C::kQuiet16 | ((magnitude >> C::kShift) & (C::kQuiet16 - 1));
  } else if (magnitude >= C::kOverflow) {
    out = C::kInf16;
  } else if (!C::kSameRange && magnitude < C::kMinNormal) {
    const int exponent = static_cast<int>(magnitude >> W::kMantissa);
    const Bits hidden = exponent ? Bits{1} << W::kMantissa : 0;
    const Bits significand = (magnitude & ((Bits{1} << W::kMantissa) - 1)) | hidden;
    const int shift = C::kShift + W::kBias - F::kBias + 1 - (exponent ? exponent : 1);
    if (shift > W::kMantissa + 1) {
      out = 0;  // below half the smallest subnormal
    } else {
      const Bits half = Bits{1} << (shift - 1);
      const Bits rest = significand & (2 * half - 1);
      out = significand >> shift;
      out += (rest > half || (rest == half && (out & 1))) ? 1 : 0;
    }
  } else {
    const Bits half = Bits{1} << (C::kShift - 1);
    out = (magnitude - C::kRebias + half - 1 + ((magnitude >> C::kShift) & 1)) >> C::kShift;
  }
  return static_cast<std::uint16_t>(sign | out);
}

/// Whether encode16 makes an infinity of a finite value.
template <class F, class R>
constexpr bool overflows16(R x) noexcept {
  using C = Conversion<F, R>;
  const auto magnitude = std::bit_cast<typename C::Bits>(x) & ~C::kSign;
  return magnitude >= C::kOverflow && magnitude < C::kInf;
}

template <class F, class R>
constexpr R decode16(std::uint16_t w) noexcept {
  using C = Conversion<F, R>;
  using W = Wide<R>;
  using Bits = typename W::Bits;
  const Bits sign = static_cast<Bits>(w & 0x8000u) << (W::kBits - 16);
  const Bits magnitude = w & 0x7fffu;
  Bits out;
  if (magnitude >= C::kInf16) {
    out = C::kInf | ((magnitude - C::kInf16) << C::kShift);
    out |= magnitude > C::kInf16 ? C::kQuiet : 0;
  } else if (!C::kSameRange && magnitude < (Bits{1} << F::kMantissa)) {
    // A small integer times a power of two, both normal in R.
    out = std::bit_cast<Bits>(static_cast<R>(magnitude) * exp2i<R>(C::kQuantum));
  } else {
    out = (magnitude << C::kShift) + C::kRebias;
  }
  return std::bit_cast<R>(static_cast<Bits>(sign | out));
}

}  // namespace wring::kernels
