# SPDX-License-Identifier: BSD-3-Clause
# wring_gtest.m4 - GoogleTest, for `make check` only, and what ends a test that hangs.
AC_DEFUN([WRING_CHECK_GTEST], [
  WRING_DEPENDENCY([gtest], [GTEST], [GoogleTest: unit and simulator tests], [gtest >= 1.10],
    [-lgtest -lpthread], [[#include <gtest/gtest.h>]], [[return RUN_ALL_TESTS();]])
  AC_CHECK_PROG([TEST_LIMIT], [timeout], [timeout -k 10 1200])
])
