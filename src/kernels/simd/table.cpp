// SPDX-License-Identifier: BSD-3-Clause
// table.cpp - puts together what the files of this folder override.
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#if HAVE_HWY
#include <hwy/highway.h>

#include "kernels/simd/simd.hpp"

namespace wring::kernels {

Kernels simd_table() {
  Kernels kernels = reference();
  override_arith(kernels);
  override_cast16(kernels);
  override_quant(kernels);
  override_crc32c(kernels);
  return kernels;
}

std::vector<Kernels> simd_tables() {
  std::vector<Kernels> tables;
  for (const auto target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    const Kernels kernels = simd_table();
    if (kernels.name != reference().name) tables.push_back(kernels);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return tables;
}

}  // namespace wring::kernels
#endif  // HAVE_HWY
