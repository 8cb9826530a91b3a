# SPDX-License-Identifier: BSD-3-Clause
# local.mk - headers that users include.
include_HEADERS = %D%/c/wring.h
nodist_include_HEADERS = %D%/c/wring_version.h
