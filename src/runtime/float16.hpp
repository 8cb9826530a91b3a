// SPDX-License-Identifier: BSD-3-Clause
// float16.hpp - minimum, maximum and product of the 16-bit types, which MPI does not know.
#pragma once

#include "runtime/arithmetic.hpp"

namespace wring::runtime {

enum class Float16Op : int { min, max, product };

/// dtype: f16 or bf16. Minimum and maximum return one of their inputs, bit for bit; a product is rounded
/// to the type once per multiplication, as MPI_PROD does in wider types.
OpaqueReduce float16_reduce(Dtype dtype, Float16Op op) noexcept;

}  // namespace wring::runtime
