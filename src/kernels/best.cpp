// SPDX-License-Identifier: BSD-3-Clause
// best.cpp - the table for this processor: the reference, overridden entry by entry.
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "base/config.hpp"
#include "kernels/kernels.hpp"

#if HAVE_HWY
#include "kernels/simd/simd.hpp"
#endif

namespace wring::kernels {
namespace {

Kernels choose() {
#if HAVE_HWY
  if (config().kernels != "reference") return simd_table();
#endif
  return reference();
}

}  // namespace

const Kernels& best() noexcept {
  static const Kernels kernels = choose();
  return kernels;
}

}  // namespace wring::kernels
