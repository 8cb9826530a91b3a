// SPDX-License-Identifier: BSD-3-Clause
// cast16.hpp - what the two 16-bit casts share; fp16.cpp and bf16.cpp name the kernels.
//
// Payload: n words of 16 bits, little-endian. One rounding to nearest even; finite values beyond
// the range travel as infinities and are counted; NaN stays NaN.
#pragma once

#include "codec/support.hpp"

namespace wring::codec {

/// Format has for R in {float, double}: to<R>, from<R>, add<R>, members of RealKernels<R>; and
/// kPrecision (significant bits) and kQuantum (the smallest subnormal is 2^kQuantum).
template <class Format>
struct Cast16 {
  static std::size_t max_encoded_bytes(const Params&, Real, std::size_t n) noexcept {
    return 2 * n;
  }

  static std::size_t encode(const Params&, Env& env, ConstValues in, std::byte* out) noexcept {
    with_real(in.real, [&](auto zero) {
      using R = decltype(zero);
      const auto cast = env.kernels->real<R>().*Format::template to<R>;
      env.overflows +=
          cast(static_cast<const R*>(in.data), in.n, reinterpret_cast<std::uint16_t*>(out));
    });
    return 2 * in.n;
  }

  static Status decode(const Params&, const kernels::Kernels& kernels,
                       std::span<const std::byte> payload, Values out) noexcept {
    if (payload.size() != 2 * out.n) return kBadSize;
    with_real(out.real, [&](auto zero) {
      using R = decltype(zero);
      const auto cast = kernels.real<R>().*Format::template from<R>;
      cast(words(payload), out.n, static_cast<R*>(out.data));
    });
    return {};
  }

  static Status decode_add(const Params&, const kernels::Kernels& kernels,
                           std::span<const std::byte> payload, double sw, const void* x, double sx,
                           Values out) noexcept {
    if (payload.size() != 2 * out.n) return kBadSize;
    with_real(out.real, [&](auto zero) {
      using R = decltype(zero);
      const auto add = kernels.real<R>().*Format::template add<R>;
      add(words(payload), static_cast<R>(sw), static_cast<const R*>(x), static_cast<R>(sx), out.n,
          static_cast<R*>(out.data));
    });
    return {};
  }

  /// Half a unit in the last place: relative to normal values, absolute for subnormal ones.
  static ErrorModel error_model(const Params&, Real) noexcept {
    return {.relative = exp2(-Format::kPrecision),
            .absolute = exp2(Format::kQuantum - 1),
            .of_block_max = false};
  }

  /// A third of what was measured with vector kernels, 23 and 25 GB/s (memcpy 18): other processors
  /// are slower, and a codec has to pay clearly.
  static CostModel cost_model(const Params&, Real real) noexcept {
    return {.encode_rate = 7.5e9, .decode_rate = 8.5e9, .ratio = real == Real::f64 ? 4.0 : 2.0};
  }

  static constexpr Codec make(const char* name, const char* summary, std::uint8_t wire_id) {
    return {
        .name = name,
        .summary = summary,
        .params = "",
        .wire_id = wire_id,
        .lossy = true,
        .defaults = {},
        .set = set_nothing,
        .print = print_nothing,
        .max_encoded_bytes = max_encoded_bytes,
        .encode = encode,
        .decode = decode,
        .decode_add = decode_add,
        .error_model = error_model,
        .cost_model = cost_model,
    };
  }

 private:
  static const std::uint16_t* words(std::span<const std::byte> payload) noexcept {
    return reinterpret_cast<const std::uint16_t*>(payload.data());
  }
  static constexpr double exp2(int exponent) noexcept {
    double value = 1;
    for (; exponent < 0; ++exponent) value /= 2;
    return value;
  }
};

}  // namespace wring::codec
