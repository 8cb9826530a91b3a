// SPDX-License-Identifier: BSD-3-Clause
// quant.cpp - the block quantiser in vectors.
//
// Operations and order are those of quant.hpp. A rounded q is taken from the low bits of q +
// kRound, one addition instead of a conversion. Rounded to nearest no clamp is needed: |q| <=
// levels * (1 + 2 ulp) rounds to at most levels. Random numbers are made for kChunk elements at a
// time.
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#if HAVE_HWY
#include "kernels/simd/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/quant.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/simd/lanes_body.hpp"
#include "kernels/simd/philox_body.hpp"

HWY_BEFORE_NAMESPACE();
namespace wring::kernels {
namespace HWY_NAMESPACE {
#if WRING_VECTORS

/// Largest magnitude_bits of x[0 .. n).
template <class D, class R>
HWY_INLINE typename Wide<R>::Bits max_magnitude(D d, const R* x, std::size_t n) {
  using Bits = typename Wide<R>::Bits;
  const hn::RebindToSigned<D> di;
  const std::size_t lanes = hn::Lanes(d);
  const auto mask = hn::Set(di, static_cast<hn::TFromD<decltype(di)>>(Quant<R>::kMagnitude));
  auto largest = hn::Zero(di);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    largest = hn::Max(largest, hn::And(hn::BitCast(di, hn::LoadU(d, x + i)), mask));
  }
  auto result = static_cast<Bits>(hn::GetLane(hn::MaxOfLanes(di, largest)));
  for (; i < n; ++i) result = HWY_MAX(result, magnitude_bits(x[i]));
  return result;
}

/// Stores the low bytes or nibbles of the lanes.
template <int kLevels, class D>
HWY_INLINE void store_codes(D, hn::VFromD<hn::RebindToUnsigned<D>> bits, std::uint8_t* codes) {
  const hn::Rebind<std::uint8_t, D> d8;
  const auto bytes = hn::TruncateTo(d8, bits);
  if constexpr (kLevels == 127) {
    hn::StoreU(bytes, d8, codes);
  } else {
    const hn::Repartition<std::uint16_t, decltype(d8)> d16;
    const hn::Rebind<std::uint8_t, decltype(d16)> dpair;
    const auto pairs = hn::BitCast(d16, bytes);
    const auto even = hn::And(pairs, hn::Set(d16, std::uint16_t{0x0f}));
    const auto odd = hn::And(hn::ShiftRight<4>(pairs), hn::Set(d16, std::uint16_t{0xf0}));
    hn::StoreU(hn::TruncateTo(dpair, hn::Or(even, odd)), dpair, codes);
  }
}

/// Codes of a vector as R.
template <int kLevels, class D>
HWY_INLINE hn::VFromD<D> load_codes(D d, const std::uint8_t* codes) {
  const hn::Rebind<std::int32_t, D> d32;
  const hn::Rebind<std::int8_t, D> d8;
  if constexpr (kLevels == 127) {
    const hn::Rebind<std::uint8_t, D> du8;
    return real_lanes(d, hn::PromoteTo(d32, hn::BitCast(d8, hn::LoadU(du8, codes))));
  } else {
    const hn::Repartition<std::uint16_t, decltype(d8)> d16;
    const hn::Rebind<std::uint8_t, decltype(d16)> dpair;
    const auto byte = hn::PromoteTo(d16, hn::LoadU(dpair, codes));
    const auto nibbles =
        hn::And(hn::Or(byte, hn::ShiftLeft<4>(byte)), hn::Set(d16, std::uint16_t{0x0f0f}));
    const auto eight = hn::Set(d8, std::int8_t{8});
    const auto bytes = hn::Sub(hn::Xor(hn::BitCast(d8, nibbles), eight), eight);
    return real_lanes(d, hn::PromoteTo(d32, bytes));
  }
}

template <int kLevels, class D, class R>
HWY_INLINE void encode_nearest(D d, const R* x, std::size_t n, R inv, std::uint8_t* codes) {
  const hn::RebindToUnsigned<D> du;
  const std::size_t lanes = hn::Lanes(d);
  const auto vinv = hn::Set(d, inv);
  const auto round = hn::Set(d, Quant<R>::kRound);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto q = hn::Add(hn::Mul(hn::LoadU(d, x + i), vinv), round);
    store_codes<kLevels>(d, hn::BitCast(du, q), codes + code_bytes(kLevels, i));
  }
  for (; i < n; ++i) put_code(codes, kLevels, i, code_nearest(x[i], inv));
}

/// n <= kChunk elements with their random words.
template <int kLevels, class D, class R>
HWY_INLINE void encode_stochastic(D d, const R* x, std::size_t n, R inv, const std::uint32_t* words,
                                  std::uint8_t* codes) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<std::uint32_t, D> d32;
  const hn::Rebind<std::int32_t, D> di32;
  const std::size_t lanes = hn::Lanes(d);
  const auto vinv = hn::Set(d, inv);
  const auto round = hn::Set(d, Quant<R>::kRound);
  const auto limit = hn::Set(d, static_cast<R>(kLevels));
  const auto unit = hn::Set(d, exp2i<R>(-24));
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto word = hn::ShiftRight<8>(hn::LoadU(d32, words + i));
    const auto u = hn::Mul(real_lanes(d, hn::BitCast(di32, word)), unit);
    const auto q = hn::Add(hn::Mul(hn::LoadU(d, x + i), vinv), u);
    const auto t = hn::Max(hn::Min(q, limit), hn::Neg(limit));
    const auto shifted = hn::Add(t, round);
    const auto above = hn::VecFromMask(d, hn::Gt(hn::Sub(shifted, round), t));
    const auto code = hn::Add(hn::BitCast(du, shifted), hn::BitCast(du, above));
    store_codes<kLevels>(d, code, codes + code_bytes(kLevels, i));
  }
  for (; i < n; ++i) put_code(codes, kLevels, i, code_stochastic(x[i], inv, kLevels, words[i]));
}

template <int kLevels, class D, class R>
HWY_INLINE void encode_block(D d, const R* x, std::size_t n, std::uint64_t first, R inv,
                             const RandomKey* random, std::uint8_t* codes) {
  if (inv == 0) {
    for (std::size_t i = 0; i < code_bytes(kLevels, n); ++i) codes[i] = 0;
  } else if (!random) {
    encode_nearest<kLevels>(d, x, n, inv, codes);
  } else {
    HWY_ALIGN std::uint32_t words[kChunk];
    for (std::size_t i = 0; i < n; i += kChunk) {
      const std::size_t size = HWY_MIN(n - i, kChunk);
      random_words(*random, first + i, size, words);
      encode_stochastic<kLevels>(d, x + i, size, inv, words, codes + code_bytes(kLevels, i));
    }
  }
}

/// Scales of a group of blocks first, then their codes: the searches for the largest magnitudes,
/// long chains of dependent operations, overlap each other (from 20 to 26 GB/s for int4 in L2).
template <int kLevels, class D, class R>
std::size_t quantize_blocks(D d, const R* in, std::size_t n, std::uint64_t first,
                            const QuantShape& shape, R* scales, std::uint8_t* codes) {
  constexpr std::size_t kGroup = 8;
  R inv[kGroup];
  std::size_t escapes = 0;
  for (std::size_t begin = 0; begin < n;) {
    std::size_t blocks = 0;
    for (std::size_t at = begin; at < n && blocks < kGroup; at += shape.block, ++blocks) {
      const std::size_t size = HWY_MIN(shape.block, n - at);
      const BlockScale<R> s = block_scale<R>(max_magnitude(d, in + at, size), kLevels);
      *scales++ = s.scale;
      inv[blocks] = s.inv;
      escapes += s.escapes;
    }
    for (std::size_t k = 0; k < blocks; ++k, begin += shape.block) {
      encode_block<kLevels>(d, in + begin, HWY_MIN(shape.block, n - begin), first + begin, inv[k],
                            shape.random, codes + code_bytes(kLevels, begin));
    }
  }
  return escapes;
}

/// decoded codes of each block that does not escape: out = finish(decoded, index), as vectors, and
/// finish_one(decoded, index) for what is left of a block.
template <int kLevels, class D, class R, class Finish, class FinishOne>
HWY_INLINE void decode_blocks(D d, const R* scales, const std::uint8_t* codes, std::size_t n,
                              std::size_t block, R* out, Finish finish, FinishOne finish_one) {
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t begin = 0; begin < n; begin += block) {
    const R scale = *scales++;
    if (scale != scale) continue;
    const std::size_t end = begin + HWY_MIN(block, n - begin);
    const auto vscale = hn::Set(d, scale);
    std::size_t i = begin;
    for (; i + lanes <= end; i += lanes) {
      const auto decoded = hn::Mul(load_codes<kLevels>(d, codes + code_bytes(kLevels, i)), vscale);
      hn::StoreU(finish(decoded, i), d, out + i);
    }
    for (; i < end; ++i) {
      out[i] = finish_one(static_cast<R>(get_code(codes, kLevels, i)) * scale, i);
    }
  }
}

template <int kLevels, class D, class R>
void dequantize_blocks(D d, const R* scales, const std::uint8_t* codes, std::size_t n,
                       std::size_t block, R* out) {
  decode_blocks<kLevels>(
      d, scales, codes, n, block, out,
      [](hn::VFromD<D> decoded, std::size_t) HWY_ATTR { return decoded; },
      [](R decoded, std::size_t) HWY_ATTR { return decoded; });
}

template <int kLevels, class D, class R>
void add_blocks(D d, const R* scales, const std::uint8_t* codes, R sw, const R* x, R sx,
                std::size_t n, std::size_t block, R* out) {
  const auto vsw = hn::Set(d, sw);
  const auto vsx = hn::Set(d, sx);
  decode_blocks<kLevels>(
      d, scales, codes, n, block, out,
      [&](hn::VFromD<D> decoded, std::size_t i)
          HWY_ATTR { return weighted_sum_lanes(d, decoded, vsw, hn::LoadU(d, x + i), vsx); },
      [&](R decoded, std::size_t i) HWY_ATTR { return weighted_sum(decoded, sw, x[i], sx); });
}

/// Calls f with vectors that fit the block: shorter ones where blocks are no multiple of the full.
template <class R, class F>
HWY_INLINE auto with_tag(std::size_t block, F f) {
  const hn::ScalableTag<R> d;
  if (block % hn::Lanes(d) != 0) return f(hn::CappedTag<R, 8>());
  return f(d);
}

template <class R>
std::size_t quantize(const R* in, std::size_t n, std::uint64_t first, const QuantShape& shape,
                     R* scales, std::uint8_t* codes) noexcept {
  return with_tag<R>(shape.block, [&](auto d) HWY_ATTR {
    return shape.levels == 127 ? quantize_blocks<127>(d, in, n, first, shape, scales, codes)
                               : quantize_blocks<7>(d, in, n, first, shape, scales, codes);
  });
}

template <class R>
void dequantize(const R* scales, const std::uint8_t* codes, std::size_t n, const QuantShape& shape,
                R* out) noexcept {
  with_tag<R>(shape.block, [&](auto d) HWY_ATTR {
    shape.levels == 127 ? dequantize_blocks<127>(d, scales, codes, n, shape.block, out)
                        : dequantize_blocks<7>(d, scales, codes, n, shape.block, out);
  });
}

template <class R>
void add_quantized(const R* scales, const std::uint8_t* codes, R sw, const R* x, R sx,
                   std::size_t n, const QuantShape& shape, R* out) noexcept {
  with_tag<R>(shape.block, [&](auto d) HWY_ATTR {
    shape.levels == 127 ? add_blocks<127>(d, scales, codes, sw, x, sx, n, shape.block, out)
                        : add_blocks<7>(d, scales, codes, sw, x, sx, n, shape.block, out);
  });
}

template <class R>
void fill_real(RealKernels<R>& kernels) {
  kernels.quantize = quantize<R>;
  kernels.dequantize = dequantize<R>;
  kernels.add_quantized = add_quantized<R>;
}

void fill_quant(Kernels& kernels) {
  fill_real(kernels.f32);
#if HWY_HAVE_FLOAT64
  fill_real(kernels.f64);
#endif
}

#else
void fill_quant(Kernels&) {}
#endif  // WRING_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace wring::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wring::kernels {
HWY_EXPORT(fill_quant);
void override_quant(Kernels& kernels) { HWY_DYNAMIC_DISPATCH(fill_quant)(kernels); }
}  // namespace wring::kernels
#endif
#endif  // HAVE_HWY
