// SPDX-License-Identifier: BSD-3-Clause
// quant.hpp - the block quantiser, one block and one value at a time: its exact arithmetic.
//
// Order of operations, each rounded on its own in R (float or double):
//   m     = largest magnitude of the block, found by comparing bits
//   scale = m / levels          travels with the codes
//   inv   = levels / m
//   q     = x * inv             |q| <= levels * (1 + 2 ulp), so q and q + u are far from 2^22
//   nearest:    code = q rounded to an integer, ties to even; |code| <= levels follows
//   stochastic: code = floor(clamp(q + u)), u = (random word >> 8) * 2^-24
//   decoded  = code * scale
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/half.hpp"
#include "kernels/kernels.hpp"
#include "kernels/philox.hpp"

namespace wring::kernels {

template <class R>
struct Quant {
  using W = Wide<R>;
  using Bits = typename W::Bits;
  static constexpr bool kFloat = W::kBits == 32;

  static constexpr Bits kMagnitude = ~(Bits{1} << (W::kBits - 1));
  static constexpr R kNan =
      std::bit_cast<R>(kFloat ? Bits{0x7fc00000} : static_cast<Bits>(0x7ff8000000000000));
  /// Blocks whose largest magnitude is outside escape: inside, inv and scale are normal numbers.
  static constexpr R kMin = exp2i<R>(kFloat ? -100 : -900);
  static constexpr R kMax = exp2i<R>(kFloat ? 126 : 1020);
  /// q + kRound holds the rounded q in its low bits: the spacing of R there is 1.
  static constexpr R kRound = R{1.5} * exp2i<R>(W::kMantissa);
};

template <class R>
constexpr typename Wide<R>::Bits magnitude_bits(R x) noexcept {
  return std::bit_cast<typename Wide<R>::Bits>(x) & Quant<R>::kMagnitude;
}

/// What a block's largest magnitude decides. inv is 0 where every code is 0.
template <class R>
struct BlockScale {
  R scale, inv;
  bool escapes;
};

template <class R>
constexpr BlockScale<R> block_scale(typename Wide<R>::Bits max_bits, int levels) noexcept {
  using Q = Quant<R>;
  if (max_bits == 0) return {R{0}, R{0}, false};
  // As unsigned integers, Inf and NaN are larger than every finite number.
  if (max_bits < magnitude_bits(Q::kMin) || max_bits > magnitude_bits(Q::kMax)) {
    return {Q::kNan, R{0}, true};
  }
  const R m = std::bit_cast<R>(max_bits);
  return {m / static_cast<R>(levels), static_cast<R>(levels) / m, false};
}

/// Nearest integer, ties to even, of |q| < 2^22.
template <class R>
constexpr R round_even(R q) noexcept {
  return (q + Quant<R>::kRound) - Quant<R>::kRound;
}

template <class R>
constexpr int code_nearest(R x, R inv) noexcept {
  return static_cast<int>(round_even(x * inv));
}

template <class R>
constexpr int code_stochastic(R x, R inv, int levels, std::uint32_t word) noexcept {
  const R limit = static_cast<R>(levels);
  R t = x * inv + static_cast<R>(word >> 8) * exp2i<R>(-24);
  t = t > limit ? limit : t < -limit ? -limit : t;
  const R r = round_even(t);
  return static_cast<int>(r) - (r > t ? 1 : 0);
}

/// Random word of element i (RandomKey in kernels.hpp).
constexpr std::uint32_t random_word(const RandomKey& key, std::uint64_t i) noexcept {
  const std::uint64_t counter = i / 4;
  return philox4x32({static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32),
                     key.c2, key.c3},
                    {key.key[0], key.key[1]})[i % 4];
}

/// Bytes of n codes.
constexpr std::size_t code_bytes(int levels, std::size_t n) noexcept {
  return levels == 127 ? n : n / 2 + n % 2;
}

/// Stores code i of a block whose codes begin at codes. Even 4-bit codes clear the odd neighbour,
/// so codes are to be stored in order.
constexpr void put_code(std::uint8_t* codes, int levels, std::size_t i, int code) noexcept {
  if (levels == 127) {
    codes[i] = static_cast<std::uint8_t>(code);
  } else if (i % 2 == 0) {
    codes[i / 2] = static_cast<std::uint8_t>(code & 15);
  } else {
    codes[i / 2] = static_cast<std::uint8_t>(codes[i / 2] | (code & 15) << 4);
  }
}

constexpr int get_code(const std::uint8_t* codes, int levels, std::size_t i) noexcept {
  if (levels == 127) return static_cast<std::int8_t>(codes[i]);
  return (((codes[i / 2] >> (i % 2 * 4)) & 15) ^ 8) - 8;
}

/// The canonical NaN for any NaN, everything else unchanged.
template <class R>
constexpr R canonical(R x) noexcept {
  return x != x ? Quant<R>::kNan : x;
}

/// sa * a + sb * b, each operation rounded on its own; any NaN is the canonical one.
template <class R>
constexpr R weighted_sum(R a, R sa, R b, R sb) noexcept {
  return canonical(sa * a + sb * b);
}

}  // namespace wring::kernels
