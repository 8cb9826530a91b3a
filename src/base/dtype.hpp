// SPDX-License-Identifier: BSD-3-Clause
// dtype.hpp - the element types and operators that Wring itself computes with.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wring {

/// Element type of the caller's vector. Values travel in frame headers: never renumber.
/// `opaque` stands for every type that Wring moves and reduces without looking inside.
enum class Dtype : std::uint8_t { opaque = 0, f16 = 1, bf16 = 2, f32 = 3, f64 = 4 };

/// Type of accumulators and of codec input and output: fp32 for 16-bit and fp32 data, fp64 for fp64.
enum class Real : std::uint8_t { f32 = 3, f64 = 4 };

/// What is done with the contributions. `other` is reduced by a function that the caller supplies.
enum class Op : std::uint8_t { other = 0, sum = 1, avg = 2 };

constexpr std::size_t size_of(Real r) { return r == Real::f64 ? 8 : 4; }

/// Bytes per element; 0 for opaque, whose size only its owner knows.
constexpr std::size_t size_of(Dtype t) {
  switch (t) {
    case Dtype::f16:
    case Dtype::bf16: return 2;
    case Dtype::f32: return 4;
    case Dtype::f64: return 8;
    case Dtype::opaque: break;
  }
  return 0;
}

constexpr Real real_of(Dtype t) { return t == Dtype::f64 ? Real::f64 : Real::f32; }

/// Whether elements of type t are stored as their accumulator is.
constexpr bool is_wide(Dtype t) { return t == Dtype::f32 || t == Dtype::f64; }

constexpr const char* name_of(Dtype t) {
  switch (t) {
    case Dtype::f16: return "fp16";
    case Dtype::bf16: return "bf16";
    case Dtype::f32: return "fp32";
    case Dtype::f64: return "fp64";
    case Dtype::opaque: break;
  }
  return "opaque";
}

}  // namespace wring
