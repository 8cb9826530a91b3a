# SPDX-License-Identifier: BSD-3-Clause
# wring_gtest.m4 - GoogleTest, for `make check` only.
AC_DEFUN([WRING_CHECK_GTEST], [
  WRING_DEPENDENCY([gtest], [GTEST], [GoogleTest: unit and simulator tests], [gtest >= 1.10],
    [-lgtest -lpthread], [[#include <gtest/gtest.h>]], [[return RUN_ALL_TESTS();]])
])
