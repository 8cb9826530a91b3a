// SPDX-License-Identifier: BSD-3-Clause
// kernel_inputs.hpp - tables, buffers and values that the kernel and codec tests share.
#pragma once

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/half.hpp"
#include "kernels/kernels.hpp"
#include "kernels/quant.hpp"

#if HAVE_HWY
#include "kernels/simd/simd.hpp"
#endif

namespace wring::test {

/// The reference and every vector table that this machine can run.
inline const std::vector<kernels::Kernels>& all_tables() {
  static const std::vector<kernels::Kernels> tables = [] {
    std::vector<kernels::Kernels> list;
#if HAVE_HWY
    list = kernels::simd_tables();
#endif
    list.insert(list.begin(), kernels::reference());
    return list;
  }();
  return tables;
}

/// n elements that end where their heap block ends, `offset` elements after where it begins: any
/// address that is aligned for T, and a sanitizer sees each step too far.
template <class T>
class Tight {
 public:
  Tight(std::size_t n, std::size_t offset, T fill = T{})
      : memory_(n + offset, fill), offset_(offset), size_(n) {
    memory_.shrink_to_fit();
  }
  Tight(const std::vector<T>& values, std::size_t offset) : Tight(values.size(), offset) {
    std::copy(values.begin(), values.end(), data());
  }
  T* data() { return memory_.data() + offset_; }
  const T* data() const { return memory_.data() + offset_; }
  std::size_t size() const { return size_; }
  std::vector<T> values() const { return {data(), data() + size_}; }

 private:
  std::vector<T> memory_;
  std::size_t offset_, size_;
};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

using Random = std::mt19937_64;

/// A value from a wide choice: any bits, ordinary numbers, specials, ties and limits of fp16 and
/// bf16.
template <class R>
R hostile_value(Random& random) {
  using W = kernels::Wide<R>;
  using Bits = typename W::Bits;
  using Limits = std::numeric_limits<R>;
  const auto word = random();
  const R sign = (word & 1) ? R{-1} : R{1};
  switch ((word >> 1) % 8) {
    case 0:
      return std::bit_cast<R>(static_cast<Bits>(random()));
    case 1: {
      const R specials[] = {0,
                            Limits::infinity(),
                            Limits::quiet_NaN(),
                            Limits::signaling_NaN(),
                            Limits::max(),
                            Limits::min(),
                            Limits::denorm_min(),
                            std::bit_cast<R>(static_cast<Bits>(~Bits{0} >> 1)),
                            R(65504),
                            R(65519.99),
                            R(65520),
                            R(0x1.fep127),
                            R(0x1.fffffcp127),
                            R(0x1.fffffep127)};
      return std::copysign(specials[random() % std::size(specials)], sign);
    }
    case 2: {  // near a tie of fp16, subnormal ones too
      const auto w = static_cast<std::uint16_t>(random() % 0x7c00);
      const R tie = (kernels::decode16<kernels::Fp16, R>(w) +
                     kernels::decode16<kernels::Fp16, R>(static_cast<std::uint16_t>(w + 1))) /
                    2;
      return sign *
             std::bit_cast<R>(static_cast<Bits>(std::bit_cast<Bits>(tie) + random() % 3 - 1));
    }
    case 3: {  // near a tie of bf16
      const Bits bits = static_cast<Bits>(random()) >> 1;
      const int shift = W::kMantissa - kernels::Bf16::kMantissa;
      const Bits tie = ((bits >> shift) << shift) | Bits{1} << (shift - 1);
      return sign * std::bit_cast<R>(static_cast<Bits>(tie + random() % 3 - 1));
    }
    default: {
      std::normal_distribution<double> normal;
      return static_cast<R>(normal(random));
    }
  }
}

template <class R>
std::vector<R> hostile(std::size_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<R> values(n);
  for (R& value : values) value = hostile_value<R>(random);
  return values;
}

/// Ordinary numbers, in every fourth stretch of `stretch` elements scaled by a power of two.
template <class R>
std::vector<R> gaussian(std::size_t n, std::uint64_t seed, std::size_t stretch = 64) {
  Random random(seed);
  std::normal_distribution<double> normal;
  std::vector<R> values(n);
  int exponent = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (i % stretch == 0) exponent = random() % 4 ? 0 : static_cast<int>(random() % 160) - 80;
    values[i] = static_cast<R>(std::ldexp(normal(random), exponent));
  }
  return values;
}

/// Mostly ordinary blocks, some that escape, some of zeros: what a quantiser sees.
template <class R>
std::vector<R> quantiser_input(std::size_t n, std::uint64_t seed, std::size_t block) {
  Random random(seed);
  std::vector<R> values = gaussian<R>(n, seed + 1, block);
  for (std::size_t begin = 0; begin < n; begin += block) {
    const std::size_t size = std::min(block, n - begin);
    const auto word = random();
    R& victim = values[begin + (word >> 8) % size];
    switch (word % 8) {
      case 0:
        victim = hostile_value<R>(random);
        break;
      case 1:
        victim = std::numeric_limits<R>::infinity();
        break;
      case 2:
        std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(begin), size, R{-0.0});
        break;
      case 3: {  // codes fall on ties: multiples of half a step
        const R step = R(0.5);
        for (std::size_t i = 0; i < size; ++i) {
          values[begin + i] = step * static_cast<R>(static_cast<int>(random() % 255) - 127);
        }
        values[begin] = R(127);
        break;
      }
      default:
        break;
    }
  }
  return values;
}

}  // namespace wring::test
