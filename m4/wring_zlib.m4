# SPDX-License-Identifier: BSD-3-Clause
# wring_zlib.m4 - zlib, for the example that reads gzipped data.
AC_DEFUN([WRING_CHECK_ZLIB], [
  WRING_DEPENDENCY([zlib], [ZLIB], [zlib: the training example], [zlib], [-lz],
    [[#include <zlib.h>]], [[return zlibVersion()@<:@0@:>@ == '0';]])
])
