// SPDX-License-Identifier: BSD-3-Clause
// bf16.cpp - the codec that casts values to bfloat16.
#include "codec/cast16.hpp"

namespace wring::codec {
namespace {

struct Format {
  template <class R>
  static constexpr auto to = &kernels::RealKernels<R>::to_bf16;
  template <class R>
  static constexpr auto from = &kernels::RealKernels<R>::from_bf16;
  template <class R>
  static constexpr auto add = &kernels::RealKernels<R>::add_bf16;
  static constexpr int kPrecision = 8;
  static constexpr int kQuantum = -133;
};

}  // namespace

extern constexpr Codec bf16 =
    Cast16<Format>::make("bf16", "bfloat16: 8 significant bits, range of fp32", 3);

}  // namespace wring::codec
