// SPDX-License-Identifier: BSD-3-Clause
// datatype.hpp - which MPI datatypes and operators Wring reduces itself.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/dtype.hpp"
#include "runtime/arithmetic.hpp"

namespace wring::runtime {

/// How a pair of datatype and operator is reduced.
struct Reduction {
  enum class Path : std::uint8_t {
    wring,  ///< by the engine
    mpi,    ///< by MPI_Allreduce: derived and padded types, user operators
  };
  Path path = Path::mpi;
  Dtype dtype = Dtype::opaque;
  Op op = Op::other;
  std::uint32_t element_bytes = 0;
  std::uint32_t id = 0;      ///< names type and operator, the same on all machines; 0 on the mpi path
  OpaqueReduce opaque;       ///< where dtype is opaque or op is other
};

/// invalid_arg (type or op) for what MPI_Allreduce refuses too, or WRING_AVG with a type that is not a
/// floating-point type. Both handles are not null.
Status classify(MPI_Datatype datatype, MPI_Op op, Reduction& out);

/// Whether the handle is one of MPI's or Wring's own types without padding, so that it cannot be freed.
bool is_plain(MPI_Datatype datatype) noexcept;

}  // namespace wring::runtime
