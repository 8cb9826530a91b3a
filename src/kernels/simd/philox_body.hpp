// SPDX-License-Identifier: BSD-3-Clause
// philox_body.hpp - the random numbers of stochastic rounding in vectors; included once per target.
#if defined(WRING_PHILOX_BODY_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef WRING_PHILOX_BODY_HPP
#undef WRING_PHILOX_BODY_HPP
#else
#define WRING_PHILOX_BODY_HPP
#endif

#include <hwy/highway.h>

#include "kernels/kernels.hpp"
#include "kernels/philox.hpp"
#include "kernels/simd/lanes_body.hpp"

HWY_BEFORE_NAMESPACE();
namespace wring::kernels {
namespace HWY_NAMESPACE {
#if WRING_VECTORS

/// Elements whose numbers are made at a time.
constexpr std::size_t kChunk = 256;

// Philox works in lanes of 64 bits that hold 32-bit values; upper halves may be garbage until the
// end, as the multiplication ignores them.
template <class V, class D>
HWY_INLINE void philox_round(D d, V& c0, V& c1, V& c2, V& c3, std::uint64_t k0, std::uint64_t k1) {
  const hn::Repartition<std::uint32_t, D> d32;
  const auto p0 = hn::MulEven(hn::BitCast(d32, c0), hn::Set(d32, kPhiloxMul0));
  const auto p1 = hn::MulEven(hn::BitCast(d32, c2), hn::Set(d32, kPhiloxMul1));
  c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), c1), hn::Set(d, k0));
  c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), c3), hn::Set(d, k1));
  c1 = p1;
  c3 = p0;
}

template <class V, class D>
HWY_INLINE void store_words(D d, V c0, V c1, V c2, V c3, std::uint32_t* words) {
  const auto low = hn::Set(d, std::uint64_t{0xffffffff});
  const auto pair0 = hn::Or(hn::And(c0, low), hn::ShiftLeft<32>(c1));
  const auto pair1 = hn::Or(hn::And(c2, low), hn::ShiftLeft<32>(c3));
  hn::StoreInterleaved2(pair0, pair1, d, reinterpret_cast<std::uint64_t*>(words));
}

/// Random words of elements first .. first + n, n <= kChunk, and some more, up to kChunk. Two
/// vectors of counters at a time, as one would wait for its multiplications.
HWY_INLINE void random_words(const RandomKey& key, std::uint64_t first, std::size_t n,
                             std::uint32_t* words) {
  const hn::CappedTag<std::uint64_t, kChunk / 8> d;
  const std::size_t lanes = hn::Lanes(d);
  std::uint64_t k0[kPhiloxRounds];
  std::uint64_t k1[kPhiloxRounds];
  for (std::uint32_t round = 0; round < kPhiloxRounds; ++round) {
    k0[round] = key.key[0] + round * kPhiloxKey0;
    k1[round] = key.key[1] + round * kPhiloxKey1;
  }
  for (std::size_t i = 0; 4 * i < n; i += 2 * lanes) {
    auto a0 = hn::Iota(d, first / 4 + i);
    auto b0 = hn::Iota(d, first / 4 + i + lanes);
    auto a1 = hn::ShiftRight<32>(a0);
    auto b1 = hn::ShiftRight<32>(b0);
    auto a2 = hn::Set(d, std::uint64_t{key.c2});
    auto a3 = hn::Set(d, std::uint64_t{key.c3});
    auto b2 = a2;
    auto b3 = a3;
    for (int round = 0; round < kPhiloxRounds; ++round) {
      philox_round(d, a0, a1, a2, a3, k0[round], k1[round]);
      philox_round(d, b0, b1, b2, b3, k0[round], k1[round]);
    }
    store_words(d, a0, a1, a2, a3, words + 4 * i);
    store_words(d, b0, b1, b2, b3, words + 4 * (i + lanes));
  }
}

#endif  // WRING_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace wring::kernels
HWY_AFTER_NAMESPACE();

#endif  // WRING_PHILOX_BODY_HPP
