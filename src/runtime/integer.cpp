// SPDX-License-Identifier: BSD-3-Clause
// integer.cpp - reductions of integers of 1 to 8 bytes.
#include "runtime/integer.hpp"

#include <algorithm>
#include <type_traits>

namespace wring::runtime {
namespace {

/// a op b. Arithmetic goes through an unsigned type of at least int's size: it wraps and is never undefined.
template <class T, IntegerOp op>
T apply(T a, T b) noexcept {
  using Wide = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
  const auto x = static_cast<Wide>(a), y = static_cast<Wide>(b);
  switch (op) {
    case IntegerOp::sum: return static_cast<T>(x + y);
    case IntegerOp::product: return static_cast<T>(x * y);
    case IntegerOp::min: return std::min(a, b);
    case IntegerOp::max: return std::max(a, b);
    case IntegerOp::land: return static_cast<T>(a != 0 && b != 0);
    case IntegerOp::lor: return static_cast<T>(a != 0 || b != 0);
    case IntegerOp::lxor: return static_cast<T>((a != 0) != (b != 0));
    case IntegerOp::band: return static_cast<T>(x & y);
    case IntegerOp::bor: return static_cast<T>(x | y);
    case IntegerOp::bxor: return static_cast<T>(x ^ y);
  }
  return b;
}

template <class T, IntegerOp op>
Status reduce(void*, const void* in, void* inout, std::size_t n) noexcept {
  const auto* a = static_cast<const T*>(in);
  auto* b = static_cast<T*>(inout);
  for (std::size_t i = 0; i < n; ++i) b[i] = apply<T, op>(a[i], b[i]);
  return {};
}

template <class T>
OpaqueReduce pick(IntegerOp op) noexcept {
  switch (op) {
    case IntegerOp::sum: return {reduce<T, IntegerOp::sum>, nullptr};
    case IntegerOp::product: return {reduce<T, IntegerOp::product>, nullptr};
    case IntegerOp::min: return {reduce<T, IntegerOp::min>, nullptr};
    case IntegerOp::max: return {reduce<T, IntegerOp::max>, nullptr};
    case IntegerOp::land: return {reduce<T, IntegerOp::land>, nullptr};
    case IntegerOp::lor: return {reduce<T, IntegerOp::lor>, nullptr};
    case IntegerOp::lxor: return {reduce<T, IntegerOp::lxor>, nullptr};
    case IntegerOp::band: return {reduce<T, IntegerOp::band>, nullptr};
    case IntegerOp::bor: return {reduce<T, IntegerOp::bor>, nullptr};
    case IntegerOp::bxor: return {reduce<T, IntegerOp::bxor>, nullptr};
  }
  return {};
}

}  // namespace

OpaqueReduce integer_reduce(std::uint32_t bytes, bool is_signed, IntegerOp op) noexcept {
  switch (bytes) {
    case 1: return is_signed ? pick<std::int8_t>(op) : pick<std::uint8_t>(op);
    case 2: return is_signed ? pick<std::int16_t>(op) : pick<std::uint16_t>(op);
    case 4: return is_signed ? pick<std::int32_t>(op) : pick<std::uint32_t>(op);
    case 8: return is_signed ? pick<std::int64_t>(op) : pick<std::uint64_t>(op);
    default: return {};
  }
}

}  // namespace wring::runtime
