// SPDX-License-Identifier: BSD-3-Clause
// block_quant.cpp - the body of int8 and int4 (block_quant.hpp).
#include "codec/block_quant.hpp"

#include <bit>

namespace wring::codec {
namespace {

/// Where the parts of a payload begin, as offsets.
struct Layout {
  std::size_t blocks;
  std::size_t codes;       ///< begin of the codes: the size of the scales
  std::size_t code_bytes;  ///< without padding
  std::size_t raw;         ///< begin of the raw blocks: the whole size if no block escapes
};

Layout layout(int levels, std::size_t block, Real real, std::size_t n) noexcept {
  Layout at;
  at.blocks = n / block + (n % block != 0);
  at.codes = at.blocks * size_of(real);
  at.code_bytes = levels == 127 ? n : n / 2 + n % 2;
  at.raw = at.codes + (at.code_bytes + 3) / 4 * 4;
  return at;
}

/// Key of an encode's random numbers. For one seed, different (rank, step, start, element) use
/// different counters or keys, never the same number twice. Finaliser: SplitMix64 (Steele, Lea,
/// Flood, OOPSLA'14), a bijection.
kernels::RandomKey random_key(std::uint64_t seed, const Env& env) noexcept {
  std::uint64_t z = seed + env.start * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return {{static_cast<std::uint32_t>(z), static_cast<std::uint32_t>(z >> 32)}, env.rank, env.step};
}

template <class R>
bool is_nan(R x) noexcept {
  return x != x;
}

/// Calls f(first element, elements, block) for every block.
template <class F>
void for_blocks(std::size_t n, std::size_t block, F&& f) {
  std::size_t k = 0;
  for (std::size_t begin = 0; begin < n; begin += block) f(begin, std::min(block, n - begin), k++);
}

/// What the encoder can have written: 0, m / levels for an m in range, or the canonical NaN.
template <class R>
bool valid_scale(R scale, int levels) noexcept {
  constexpr bool kFloat = sizeof(R) == 4;
  using Bits = std::conditional_t<kFloat, std::uint32_t, std::uint64_t>;
  const R low = (kFloat ? R(0x1p-100) : R(0x1p-900)) / static_cast<R>(levels);
  const R high = (kFloat ? R(0x1p+126) : R(0x1p+1020)) / static_cast<R>(levels);
  if (scale >= low && scale <= high) return true;
  const Bits bits = std::bit_cast<Bits>(scale);
  return bits == 0 || bits == (kFloat ? Bits{0x7fc00000} : static_cast<Bits>(0x7ff8000000000000));
}

/// Checks everything but the codes' values.
template <class R>
Status check(int levels, std::size_t block, std::span<const std::byte> payload, std::size_t n,
             const Layout& at) noexcept {
  if (payload.size() < at.raw) return kBadSize;
  const R* scales = reinterpret_cast<const R*>(payload.data());
  std::size_t raw_elems = 0;
  bool valid = true;
  for_blocks(n, block, [&](std::size_t, std::size_t size, std::size_t k) {
    valid = valid && valid_scale(scales[k], levels);
    if (is_nan(scales[k])) raw_elems += size;
  });
  if (!valid) return {Code::corrupt_frame, "scale of a block out of range"};
  if (payload.size() - at.raw != raw_elems * sizeof(R)) return kBadSize;

  bool padded = true;
  for (std::size_t i = at.codes + at.code_bytes; i < at.raw; ++i) {
    padded = padded && payload[i] == std::byte{0};
  }
  if (levels == 7 && n % 2) padded = padded && payload[at.codes + n / 2] < std::byte{16};
  if (!padded) return {Code::corrupt_frame, "padding of the codes is not zero"};
  return {};
}

const std::uint8_t* codes_of(std::span<const std::byte> payload, const Layout& at) noexcept {
  return reinterpret_cast<const std::uint8_t*>(payload.data()) + at.codes;
}

/// Calls f(raw bytes, first element, elements) for every escaping block of a checked payload.
template <class R, class F>
void for_escapes(std::span<const std::byte> payload, std::size_t block, std::size_t n,
                 const Layout& at, F&& f) {
  if (payload.size() == at.raw) return;
  const R* scales = reinterpret_cast<const R*>(payload.data());
  const std::byte* raw = payload.data() + at.raw;
  for_blocks(n, block, [&](std::size_t begin, std::size_t size, std::size_t k) {
    if (!is_nan(scales[k])) return;
    f(raw, begin, size);
    raw += size * sizeof(R);
  });
}

}  // namespace

template <int kLevels>
Status BlockQuant<kLevels>::set(Params& params, std::string_view name,
                                std::string_view value) noexcept {
  if (name == "block") {
    const auto number = parse_number(value, kMinBlock, kMaxBlock);
    if (!number || *number % 8) {
      return {Code::invalid_arg, "a multiple of 8 from 8 to 16384", kBadValue};
    }
    params.block = static_cast<std::uint32_t>(*number);
  } else if (name == "rounding") {
    if (value != "nearest" && value != "stochastic") {
      return {Code::invalid_arg, "nearest or stochastic", kBadValue};
    }
    params.stochastic = value == "stochastic";
  } else if (name == "seed") {
    const auto number = parse_number(value, 0, ~std::uint64_t{0});
    if (!number) return {Code::invalid_arg, "a number from 0 to 18446744073709551615", kBadValue};
    params.seed = *number;
  } else {
    return {Code::invalid_arg, "", kUnknownParameter};
  }
  return {};
}

template <int kLevels>
void BlockQuant<kLevels>::print(const Params& params, std::string& out) {
  out += ":block=" + std::to_string(params.block);
  out += params.stochastic ? ",rounding=stochastic" : ",rounding=nearest";
  out += ",seed=" + std::to_string(params.seed);
}

template <int kLevels>
std::size_t BlockQuant<kLevels>::max_encoded_bytes(const Params& params, Real real,
                                                   std::size_t n) noexcept {
  return layout(kLevels, params.block, real, n).raw + n * size_of(real);
}

template <int kLevels>
std::size_t BlockQuant<kLevels>::encode(const Params& params, Env& env, ConstValues in,
                                        std::byte* out) noexcept {
  const Layout at = layout(kLevels, params.block, in.real, in.n);
  return with_real(in.real, [&](auto zero) {
    using R = decltype(zero);
    const R* values = static_cast<const R*>(in.data);
    R* scales = reinterpret_cast<R*>(out);
    std::uint8_t* codes = reinterpret_cast<std::uint8_t*>(out) + at.codes;
    const kernels::RandomKey key = random_key(params.seed, env);
    const kernels::QuantShape shape{params.block, kLevels, params.stochastic ? &key : nullptr};
    const std::size_t escapes =
        env.kernels->real<R>().quantize(values, in.n, in.first, shape, scales, codes);
    std::fill(codes + at.code_bytes, codes + (at.raw - at.codes), std::uint8_t{0});

    std::byte* raw = out + at.raw;
    if (escapes) {
      for_blocks(in.n, params.block, [&](std::size_t begin, std::size_t size, std::size_t k) {
        if (!is_nan(scales[k])) return;
        std::memcpy(raw, values + begin, size * sizeof(R));
        raw += size * sizeof(R);
      });
    }
    env.escapes += escapes;
    return static_cast<std::size_t>(raw - out);
  });
}

template <int kLevels>
Status BlockQuant<kLevels>::decode(const Params& params, const kernels::Kernels& kernels,
                                   std::span<const std::byte> payload, Values out) noexcept {
  const Layout at = layout(kLevels, params.block, out.real, out.n);
  return with_real(out.real, [&](auto zero) -> Status {
    using R = decltype(zero);
    WRING_TRY(check<R>(kLevels, params.block, payload, out.n, at));
    R* to = static_cast<R*>(out.data);
    const kernels::QuantShape shape{params.block, kLevels, nullptr};
    kernels.real<R>().dequantize(reinterpret_cast<const R*>(payload.data()), codes_of(payload, at),
                                 out.n, shape, to);
    for_escapes<R>(payload, params.block, out.n, at,
                   [&](const std::byte* raw, std::size_t begin, std::size_t size) {
                     std::memcpy(to + begin, raw, size * sizeof(R));
                   });
    return {};
  });
}

template <int kLevels>
Status BlockQuant<kLevels>::decode_add(const Params& params, const kernels::Kernels& kernels,
                                       std::span<const std::byte> payload, double sw, const void* x,
                                       double sx, Values out) noexcept {
  const Layout at = layout(kLevels, params.block, out.real, out.n);
  return with_real(out.real, [&](auto zero) -> Status {
    using R = decltype(zero);
    WRING_TRY(check<R>(kLevels, params.block, payload, out.n, at));
    const R* other = static_cast<const R*>(x);
    R* to = static_cast<R*>(out.data);
    const kernels::QuantShape shape{params.block, kLevels, nullptr};
    kernels.real<R>().add_quantized(reinterpret_cast<const R*>(payload.data()),
                                    codes_of(payload, at), static_cast<R>(sw), other,
                                    static_cast<R>(sx), out.n, shape, to);
    for_escapes<R>(payload, params.block, out.n, at,
                   [&](const std::byte* raw, std::size_t begin, std::size_t size) {
                     add_raw(kernels, raw, static_cast<R>(sw), other + begin, static_cast<R>(sx),
                             size, to + begin);
                   });
    return {};
  });
}

/// Half a step for nearest, a step for stochastic. The factor covers the four roundings around the
/// code: with u = 2^-24 they move the result by at most 4 * u * levels steps, 2^-15 of a step.
template <int kLevels>
ErrorModel BlockQuant<kLevels>::error_model(const Params& params, Real) noexcept {
  const double step = 1.0 / kLevels * (1 + 0x1p-14);
  return {.relative = params.stochastic ? step : step / 2, .absolute = 0, .of_block_max = true};
}

/// A third of what was measured with vector kernels, 28 and 30 GB/s (memcpy 18): other processors are
/// slower, and a codec has to pay clearly. Random numbers cost more than the rounding itself.
template <int kLevels>
CostModel BlockQuant<kLevels>::cost_model(const Params& params, Real real) noexcept {
  const double each = static_cast<double>(size_of(real));
  const double code = kLevels > 7 ? 1.0 : 0.5;
  return {.encode_rate = params.stochastic ? 3e9 : 9.5e9,
          .decode_rate = 10e9,
          .ratio = each / (code + each / params.block)};
}

template struct BlockQuant<127>;
template struct BlockQuant<7>;

}  // namespace wring::codec
