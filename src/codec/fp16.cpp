// SPDX-License-Identifier: BSD-3-Clause
// fp16.cpp - the codec that casts values to IEEE half precision.
#include "codec/cast16.hpp"

namespace wring::codec {
namespace {

struct Format {
  template <class R>
  static constexpr auto to = &kernels::RealKernels<R>::to_f16;
  template <class R>
  static constexpr auto from = &kernels::RealKernels<R>::from_f16;
  template <class R>
  static constexpr auto add = &kernels::RealKernels<R>::add_f16;
  static constexpr int kPrecision = 11;
  static constexpr int kQuantum = -24;
};

}  // namespace

extern constexpr Codec fp16 = Cast16<Format>::make(
    "fp16", "IEEE half precision: 11 significant bits, largest value 65504", 2);

}  // namespace wring::codec
