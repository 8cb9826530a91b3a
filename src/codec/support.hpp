// SPDX-License-Identifier: BSD-3-Clause
// support.hpp - what the codecs of this room share: dispatch over Real, raw values, parameters.
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <type_traits>

#include "codec/codec.hpp"

namespace wring::codec {

// Payloads are little-endian and are written as memory holds them.
static_assert(std::endian::native == std::endian::little);

/// How Codec::set answers parse, which writes the text that the user sees: detail says what is
/// wrong, what() what would be allowed.
enum SetError : int { kUnknownParameter = 1, kBadValue = 2 };

/// Codec::set and Codec::print of a codec without parameters.
inline Status set_nothing(Params&, std::string_view, std::string_view) noexcept {
  return {Code::invalid_arg, "", kUnknownParameter};
}
inline void print_nothing(const Params&, std::string&) {}

/// A whole decimal number in [low, high] and nothing else.
inline std::optional<std::uint64_t> parse_number(std::string_view text, std::uint64_t low,
                                                 std::uint64_t high) noexcept {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc{} || result.ptr != end || value < low || value > high) return {};
  return value;
}

/// Calls f with a value of the type that real names.
template <class F>
decltype(auto) with_real(Real real, F&& f) {
  return real == Real::f64 ? f(double{}) : f(float{});
}

constexpr Status kBadSize{Code::corrupt_frame, "payload size does not fit the element count"};

/// out[i] = sw * raw[i] + sx * x[i] for values R at any address. Goes through a buffer on the
/// stack, as raw values inside a payload may be misaligned.
template <class R>
void add_raw(const kernels::Kernels& kernels, const std::byte* raw, R sw, const R* x, R sx,
             std::size_t n, R* out) noexcept {
  constexpr std::size_t kChunk = 256;
  R values[kChunk];
  for (std::size_t i = 0; i < n; i += kChunk) {
    const std::size_t size = std::min(kChunk, n - i);
    std::memcpy(values, raw + i * sizeof(R), size * sizeof(R));
    kernels.real<R>().add(values, sw, x + i, sx, size, out + i);
  }
}

}  // namespace wring::codec
