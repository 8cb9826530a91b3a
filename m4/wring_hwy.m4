# SPDX-License-Identifier: BSD-3-Clause
# wring_hwy.m4 - Highway, the SIMD library of the kernels.
AC_DEFUN([WRING_CHECK_HWY], [
  WRING_DEPENDENCY([hwy], [HWY], [Highway: SIMD kernels], [libhwy >= 1.0], [-lhwy],
    [[#include <hwy/highway.h>]], [[return hwy::SupportedTargets() == 0;]])
])
