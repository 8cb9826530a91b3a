// SPDX-License-Identifier: BSD-3-Clause
// public.hpp - wring.h as the library itself sees it: its functions are the ones that are exported.
#pragma once

#include <mpi.h>

#pragma GCC visibility push(default)
#include <wring.h>
#pragma GCC visibility pop
