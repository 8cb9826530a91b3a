// SPDX-License-Identifier: BSD-3-Clause
// crc32c.cpp - CRC32C with the instruction of SSE 4.2.
//
// The instruction takes eight bytes, may start every cycle and takes three, so three neighbouring
// stretches of kStretch bytes run at once. crc(A B C) then is shift2(crc(A)) ^ shift1(crc(B)) ^
// crc(C), shift being multiplication by x^(8 * bytes) modulo the polynomial: one carry-less
// product with a constant, reduced by the crc instruction itself, which multiplies by x^33 on the
// way (32 from the instruction, 1 from the bit-reversed product).
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#if HAVE_HWY
#include <cstring>

#include "kernels/crc32c.hpp"
#include "kernels/simd/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/crc32c.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef WRING_SIMD_CRC32C_ONCE
#define WRING_SIMD_CRC32C_ONCE
namespace wring::kernels {

/// Longer ones gain 10 % in L2, but from memory fall from 23 to 6 GB/s: too far apart to be
/// prefetched.
inline constexpr std::size_t kStretch = 256;

/// x^exponent modulo the polynomial, bit 31 the coefficient of x^0.
constexpr std::uint32_t power_of_x(std::size_t exponent) noexcept {
  std::uint32_t value = 0x80000000;
  for (; exponent; --exponent) value = (value >> 1) ^ ((value & 1) ? kCrcPolynomial : 0);
  return value;
}
inline constexpr std::uint32_t kShift1 = power_of_x(8 * kStretch - 33);
inline constexpr std::uint32_t kShift2 = power_of_x(16 * kStretch - 33);

}  // namespace wring::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace wring::kernels {
namespace HWY_NAMESPACE {

#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_SSE4 && !defined(HWY_DISABLE_PCLMUL_AES)

HWY_INLINE std::uint64_t load64(const std::uint8_t* p) {
  std::uint64_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

HWY_INLINE std::uint64_t shift(std::uint64_t crc, std::uint32_t constant) {
  const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(crc)),
                                               _mm_cvtsi32_si128(static_cast<int>(constant)), 0);
  return _mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_cvtsi128_si64(product)));
}

std::uint32_t crc32c(std::uint32_t crc, const void* data, std::size_t bytes) noexcept {
  const auto* p = static_cast<const std::uint8_t*>(data);
  std::uint64_t state = static_cast<std::uint32_t>(~crc);
  for (; bytes >= 3 * kStretch; bytes -= 3 * kStretch, p += 3 * kStretch) {
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t i = 0; i < kStretch; i += 8) {
      state = _mm_crc32_u64(state, load64(p + i));
      second = _mm_crc32_u64(second, load64(p + kStretch + i));
      third = _mm_crc32_u64(third, load64(p + 2 * kStretch + i));
    }
    state = shift(state, kShift2) ^ shift(second, kShift1) ^ third;
  }
  for (; bytes >= 8; bytes -= 8, p += 8) state = _mm_crc32_u64(state, load64(p));
  auto narrow = static_cast<std::uint32_t>(state);
  for (; bytes; --bytes, ++p) narrow = _mm_crc32_u8(narrow, *p);
  return ~narrow;
}

void fill_crc32c(Kernels& kernels) { kernels.crc32c = crc32c; }

#else
void fill_crc32c(Kernels&) {}
#endif
}  // namespace HWY_NAMESPACE
}  // namespace wring::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wring::kernels {
HWY_EXPORT(fill_crc32c);
void override_crc32c(Kernels& kernels) { HWY_DYNAMIC_DISPATCH(fill_crc32c)(kernels); }
}  // namespace wring::kernels
#endif
#endif  // HAVE_HWY
