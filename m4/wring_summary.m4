# SPDX-License-Identifier: BSD-3-Clause
# wring_summary.m4 - what configure found, in one screen.
AC_DEFUN([WRING_SUMMARY], [
  AC_MSG_NOTICE([
  wring $PACKAGE_VERSION
    prefix       $prefix
    MPI          $MPI_FLAVOR $MPI_VERSION ($MPICC)
    launcher     ${MPIEXEC:-none: MPI tests will be skipped}
    UCX          $HAVE_UCX  (transport between nodes)
    Highway      $HAVE_HWY  (SIMD kernels)
    JSON, CLI11  $HAVE_JSON, $HAVE_CLI11  (tools)
    zlib         $HAVE_ZLIB  (training example)
    GoogleTest   $HAVE_GTEST  (unit and simulator tests)
    sanitizers   ${WRING_SAN:-none}
  ])
])
