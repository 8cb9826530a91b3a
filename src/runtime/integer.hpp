// SPDX-License-Identifier: BSD-3-Clause
// integer.hpp - reductions of integers. MPI_Reduce_local would do, but is wrong for some types in MPIs
// that are in use: Open MPI 4.1.4 and MPICH 4.0.2 mix up signed and unsigned types in MPI_MIN and MPI_MAX.
#pragma once

#include <cstdint>

#include "runtime/arithmetic.hpp"

namespace wring::runtime {

/// MPI's operators on integers, in its order.
enum class IntegerOp : std::uint8_t { sum, product, min, max, land, lor, lxor, band, bor, bxor };

/// Sums and products wrap around. bytes: 1, 2, 4 or 8; for others the result has no function.
OpaqueReduce integer_reduce(std::uint32_t bytes, bool is_signed, IntegerOp op) noexcept;

}  // namespace wring::runtime
