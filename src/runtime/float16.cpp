// SPDX-License-Identifier: BSD-3-Clause
// float16.cpp - minimum, maximum and product of the 16-bit types, through the conversion kernels.
#include "runtime/float16.hpp"

#include <algorithm>

namespace wring::runtime {
namespace {

template <Dtype dtype, Float16Op op>
Status reduce(void*, const void* in, void* inout, std::size_t n) noexcept {
  constexpr std::size_t kChunk = 256;
  const auto& k = kernels::best().f32;
  const auto widen = dtype == Dtype::f16 ? k.from_f16 : k.from_bf16;
  const auto narrow = dtype == Dtype::f16 ? k.to_f16 : k.to_bf16;
  const auto* a = static_cast<const std::uint16_t*>(in);
  auto* b = static_cast<std::uint16_t*>(inout);
  float x[kChunk], y[kChunk];
  for (std::size_t first = 0; first < n; first += kChunk) {
    const std::size_t size = std::min(kChunk, n - first);
    widen(a + first, size, x);
    widen(b + first, size, y);
    for (std::size_t i = 0; i < size; ++i) {
      // A NaN on either side stays: comparisons with it are false, so it is looked for by itself.
      if constexpr (op == Float16Op::min) {
        if (x[i] < y[i] || x[i] != x[i]) b[first + i] = a[first + i];
      } else if constexpr (op == Float16Op::max) {
        if (x[i] > y[i] || x[i] != x[i]) b[first + i] = a[first + i];
      } else {
        x[i] = x[i] * y[i];
      }
    }
    if constexpr (op == Float16Op::product) (void)narrow(x, size, b + first);
  }
  return {};
}

template <Dtype dtype>
OpaqueReduce pick(Float16Op op) noexcept {
  switch (op) {
    case Float16Op::min: return {reduce<dtype, Float16Op::min>, nullptr};
    case Float16Op::max: return {reduce<dtype, Float16Op::max>, nullptr};
    case Float16Op::product: break;
  }
  return {reduce<dtype, Float16Op::product>, nullptr};
}

}  // namespace

OpaqueReduce float16_reduce(Dtype dtype, Float16Op op) noexcept {
  return dtype == Dtype::f16 ? pick<Dtype::f16>(op) : pick<Dtype::bf16>(op);
}

}  // namespace wring::runtime
