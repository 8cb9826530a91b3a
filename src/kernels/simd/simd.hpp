// SPDX-License-Identifier: BSD-3-Clause
// simd.hpp - kernels in vector instructions, for best.cpp and the tests. Needs Highway.
//
// Each other file of this folder is compiled once for every instruction set that the compiler can
// produce (foreach_target.h) and overrides the entries of a table that it has a vector form of, for
// the set that Highway chose at run time. Where only scalar code is at hand it overrides nothing.
#pragma once

#include <vector>

#include "kernels/kernels.hpp"

namespace wring::kernels {

/// The reference overridden for the best instruction set of this processor; name says which.
Kernels simd_table();

/// One table for each vector instruction set that this processor can run, best first. For tests:
/// changes Highway's choice for the whole process while it runs.
std::vector<Kernels> simd_tables();

void override_arith(Kernels& kernels);
void override_cast16(Kernels& kernels);
void override_quant(Kernels& kernels);
void override_crc32c(Kernels& kernels);

}  // namespace wring::kernels
