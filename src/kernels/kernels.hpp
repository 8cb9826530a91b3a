// SPDX-License-Identifier: BSD-3-Clause
// kernels.hpp - the table of compute kernels: pure functions over arrays.
//
// reference() is the definition of right, in plain C++. best() is that table with every entry
// replaced that a faster implementation offers for this machine; each such entry gives the same
// bits as its reference for every input, misalignment and length. All kernels are noexcept,
// allocate nothing, and may be called from any thread. Outputs may alias inputs only where it is
// said. NaN results are canonical (0x7fc00000, 0x7ff8000000000000) in the accumulating kernels,
// so that neither operand order nor instruction set shows; +0 and -0 follow IEEE 754.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wring::kernels {

/// What quantisation with stochastic rounding draws its numbers from: element i of a vector uses
/// word i % 4 of Philox4x32-10 (Salmon et al., SC'11) with counter {i / 4 (64 bits), c2, c3} and
/// this key. The caller puts seed, rank, start count and step into key, c2 and c3.
struct RandomKey {
  std::uint32_t key[2];
  std::uint32_t c2, c3;
};

/// Layout and rounding of a block quantiser. block: elements per scale, a multiple of 8.
struct QuantShape {
  std::size_t block;
  int levels;                ///< 127 (8 bits) or 7 (4 bits): codes lie in [-levels, levels]
  const RandomKey* random;   ///< null: round to nearest even
};

/// Kernels for one accumulator type R (float or double).
template <class R>
struct RealKernels {
  /// out[i] = sa * a[i] + sb * b[i], each product and the sum rounded on its own (no FMA).
  /// sa and sb are powers of two; 1 leaves values exact. out may be a or b.
  void (*add)(const R* a, R sa, const R* b, R sb, std::size_t n, R* out) noexcept;
  /// out[i] = in[i] / divisor; out may be in.
  void (*divide)(const R* in, R divisor, std::size_t n, R* out) noexcept;

  /// Casts to 16 bits, round to nearest even, one rounding also from double. Finite values beyond
  /// the range become infinities; returns how many. NaN stays NaN (quiet, sign and leading payload
  /// bits kept).
  std::size_t (*to_f16)(const R* in, std::size_t n, std::uint16_t* out) noexcept;
  std::size_t (*to_bf16)(const R* in, std::size_t n, std::uint16_t* out) noexcept;
  /// Exact conversions from 16 bits.
  void (*from_f16)(const std::uint16_t* in, std::size_t n, R* out) noexcept;
  void (*from_bf16)(const std::uint16_t* in, std::size_t n, R* out) noexcept;
  /// out[i] = sw * decode(w[i]) + sx * x[i], as add; out may be x.
  void (*add_f16)(const std::uint16_t* w, R sw, const R* x, R sx, std::size_t n, R* out) noexcept;
  void (*add_bf16)(const std::uint16_t* w, R sw, const R* x, R sx, std::size_t n, R* out) noexcept;

  /// Block quantiser, encode. Block k (the last may be short) covers in[k * block ...].
  /// m = max|block|. m == 0: scale 0, codes 0. A block with a NaN or Inf, or with m outside
  /// [2^-100, 2^126] (double: [2^-900, 2^1020]): scale is the canonical NaN, codes 0: it escapes,
  /// and the caller stores it raw. Otherwise scale = m / levels, code = round(x * (levels / m))
  /// clamped to [-levels, levels]; stochastic: floor(x * (levels / m) + u), u in [0, 1) with 24
  /// bits. The reference states the exact order of operations. Codes: one two's complement byte
  /// each (levels 127), or two a byte, even element in the low nibble (levels 7); an odd tail's high
  /// nibble is 0. first: index of in[0] in the whole vector, a multiple of 4. Returns the number
  /// of blocks that escape.
  std::size_t (*quantize)(const R* in, std::size_t n, std::uint64_t first, const QuantShape& shape,
                          R* scales, std::uint8_t* codes) noexcept;
  /// out[i] = code[i] * scale[block of i]; elements of escaped blocks are left alone.
  void (*dequantize)(const R* scales, const std::uint8_t* codes, std::size_t n,
                     const QuantShape& shape, R* out) noexcept;
  /// out[i] = sw * (code[i] * scale) + sx * x[i], as add; out may be x; elements of escaped blocks
  /// are left alone.
  void (*add_quantized)(const R* scales, const std::uint8_t* codes, R sw, const R* x, R sx,
                        std::size_t n, const QuantShape& shape, R* out) noexcept;
};

struct Kernels {
  const char* name;  ///< "reference", or the instruction set of the best ones ("AVX3", "NEON" ...)
  RealKernels<float> f32;
  RealKernels<double> f64;
  /// CRC32C (Castagnoli, reflected, initial and final complement) continued from crc; 0 to begin.
  std::uint32_t (*crc32c)(std::uint32_t crc, const void* data, std::size_t bytes) noexcept;

  template <class R>
  const RealKernels<R>& real() const noexcept;
};

template <>
inline const RealKernels<float>& Kernels::real<float>() const noexcept { return f32; }
template <>
inline const RealKernels<double>& Kernels::real<double>() const noexcept { return f64; }

/// Plain C++ kernels: the definition of right.
const Kernels& reference() noexcept;

/// The fastest kernels for this processor, chosen at first use. Thread-safe.
const Kernels& best() noexcept;

}  // namespace wring::kernels
