// SPDX-License-Identifier: BSD-3-Clause
// reference.cpp - the kernels in plain C++: the definition of right.
//
// Every operation is rounded on its own: this file must be compiled with -ffp-contract=off and
// without -ffast-math, as the build does for the whole library.
#include <algorithm>

#include "kernels/crc32c.hpp"
#include "kernels/half.hpp"
#include "kernels/kernels.hpp"
#include "kernels/quant.hpp"

namespace wring::kernels {
namespace {

template <class R>
void add(const R* a, R sa, const R* b, R sb, std::size_t n, R* out) noexcept {
  for (std::size_t i = 0; i < n; ++i) out[i] = weighted_sum(a[i], sa, b[i], sb);
}

template <class R>
void divide(const R* in, R divisor, std::size_t n, R* out) noexcept {
  for (std::size_t i = 0; i < n; ++i) out[i] = canonical(in[i] / divisor);
}

template <class F, class R>
std::size_t to_16(const R* in, std::size_t n, std::uint16_t* out) noexcept {
  std::size_t overflows = 0;
  for (std::size_t i = 0; i < n; ++i) {
    overflows += overflows16<F>(in[i]);
    out[i] = encode16<F>(in[i]);
  }
  return overflows;
}

template <class F, class R>
void from_16(const std::uint16_t* in, std::size_t n, R* out) noexcept {
  for (std::size_t i = 0; i < n; ++i) out[i] = decode16<F, R>(in[i]);
}

template <class F, class R>
void add_16(const std::uint16_t* w, R sw, const R* x, R sx, std::size_t n, R* out) noexcept {
  for (std::size_t i = 0; i < n; ++i) out[i] = weighted_sum(decode16<F, R>(w[i]), sw, x[i], sx);
}

template <class R>
std::size_t quantize(const R* in, std::size_t n, std::uint64_t first, const QuantShape& shape,
                     R* scales, std::uint8_t* codes) noexcept {
  const int levels = shape.levels;
  std::size_t escapes = 0;
  for (std::size_t begin = 0; begin < n; begin += shape.block) {
    const std::size_t size = std::min(shape.block, n - begin);
    const R* x = in + begin;
    typename Wide<R>::Bits max_bits = 0;
    for (std::size_t i = 0; i < size; ++i) max_bits = std::max(max_bits, magnitude_bits(x[i]));

    const BlockScale<R> s = block_scale<R>(max_bits, levels);
    *scales++ = s.scale;
    escapes += s.escapes;
    std::uint8_t* to = codes + code_bytes(levels, begin);
    for (std::size_t i = 0; i < size; ++i) {
      int code = 0;
      if (s.inv != 0) {
        code = shape.random ? code_stochastic(x[i], s.inv, levels,
                                              random_word(*shape.random, first + begin + i))
                            : code_nearest(x[i], s.inv);
      }
      put_code(to, levels, i, code);
    }
  }
  return escapes;
}

template <class R>
void dequantize(const R* scales, const std::uint8_t* codes, std::size_t n, const QuantShape& shape,
                R* out) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    const R scale = scales[i / shape.block];
    if (scale == scale) out[i] = static_cast<R>(get_code(codes, shape.levels, i)) * scale;
  }
}

template <class R>
void add_quantized(const R* scales, const std::uint8_t* codes, R sw, const R* x, R sx,
                   std::size_t n, const QuantShape& shape, R* out) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    const R scale = scales[i / shape.block];
    if (scale != scale) continue;
    out[i] = weighted_sum(static_cast<R>(get_code(codes, shape.levels, i)) * scale, sw, x[i], sx);
  }
}

template <class R>
constexpr RealKernels<R> table() {
  return {add<R>,           divide<R>,        to_16<Fp16, R>,  to_16<Bf16, R>,
          from_16<Fp16, R>, from_16<Bf16, R>, add_16<Fp16, R>, add_16<Bf16, R>,
          quantize<R>,      dequantize<R>,    add_quantized<R>};
}

constexpr Kernels kReference{"reference", table<float>(), table<double>(), crc32c_table};

}  // namespace

const Kernels& reference() noexcept { return kReference; }

}  // namespace wring::kernels
