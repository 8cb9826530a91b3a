# SPDX-License-Identifier: BSD-3-Clause
# wring_ucx.m4 - UCX, which moves data between nodes.
AC_DEFUN([WRING_CHECK_UCX], [
  WRING_DEPENDENCY([ucx], [UCX], [UCX transport], [ucx >= 1.10], [-lucp -lucs],
    [[#include <ucp/api/ucp.h>]],
    [[ucp_am_handler_param_t am = {}; ucp_worker_set_am_recv_handler(nullptr, &am);]])
  AS_IF([test $HAVE_UCX = 1], [WRING_PC_REQUIRES=ucx], [WRING_PC_REQUIRES=])
  AC_SUBST([WRING_PC_REQUIRES])
])
