// SPDX-License-Identifier: BSD-3-Clause
// block_quant.hpp - what int8 and int4 share: one scale a block, small integers for its elements.
//
// Payload of n elements of type R (float or double), blocks of b elements, the last maybe shorter:
//   scales   ceil(n / b) values R; the canonical NaN marks a block that escapes
//   codes    n bytes (int8) or ceil(n / 2) bytes (int4), then zero bytes up to a multiple of 4
//   raw      the elements of each escaping block, in order, as they are
// kernels.hpp says how codes are made and which blocks escape. The decoder derives the size from
// the scales and accepts no other; it also refuses scales that the encoder cannot have written.
#pragma once

#include "codec/support.hpp"

namespace wring::codec {

template <int kLevels>
struct BlockQuant {
  static constexpr std::uint32_t kMinBlock = 8;
  /// A whole block of fp64, escaped, still fits a frame of 256 KiB.
  static constexpr std::uint32_t kMaxBlock = 16384;

  static Status set(Params& params, std::string_view name, std::string_view value) noexcept;
  static void print(const Params& params, std::string& out);
  static std::size_t max_encoded_bytes(const Params& params, Real real, std::size_t n) noexcept;
  static std::size_t encode(const Params& params, Env& env, ConstValues in,
                            std::byte* out) noexcept;
  static Status decode(const Params& params, const kernels::Kernels& kernels,
                       std::span<const std::byte> payload, Values out) noexcept;
  static Status decode_add(const Params& params, const kernels::Kernels& kernels,
                           std::span<const std::byte> payload, double sw, const void* x, double sx,
                           Values out) noexcept;
  static ErrorModel error_model(const Params& params, Real real) noexcept;
  static CostModel cost_model(const Params& params, Real real) noexcept;

  static constexpr Codec make(const char* name, const char* summary, std::uint8_t wire_id,
                              std::uint32_t block) {
    return {
        .name = name,
        .summary = summary,
        .params = "block=8..16384 (a multiple of 8),rounding=nearest|stochastic,seed=0..2^64-1",
        .wire_id = wire_id,
        .lossy = true,
        .defaults = {.block = block, .stochastic = false, .seed = 0},
        .set = set,
        .print = print,
        .max_encoded_bytes = max_encoded_bytes,
        .encode = encode,
        .decode = decode,
        .decode_add = decode_add,
        .error_model = error_model,
        .cost_model = cost_model,
    };
  }
};

extern template struct BlockQuant<127>;
extern template struct BlockQuant<7>;

}  // namespace wring::codec
