// SPDX-License-Identifier: BSD-3-Clause
// mpi_extensions.hpp - functions beyond the standard that an MPI may have, looked up in the running program.
#pragma once

#include <mpi.h>

namespace wring::runtime {

struct MpiExtensions {
  /// Open MPI: calls the function from its progress loop, at every call of MPI that may wait. 0: success.
  int (*opal_progress_register)(int (*callback)()) = nullptr;
  int (*opal_progress_unregister)(int (*callback)()) = nullptr;
  /// MPICH: a generalised request that is polled while MPI waits for it. MPI_Waitall calls wait, the others
  /// poll (R. Latham et al., Extending the MPI-2 generalized request interface, EuroPVM/MPI 2007).
  int (*grequest_start)(MPI_Grequest_query_function* query, MPI_Grequest_free_function* free,
                        MPI_Grequest_cancel_function* cancel, int (*poll)(void* state, MPI_Status* status),
                        int (*wait)(int count, void** states, double timeout, MPI_Status* status), void* state,
                        MPI_Request* request) = nullptr;
};

/// Members are null where this MPI has no such function.
const MpiExtensions& mpi_extensions() noexcept;

}  // namespace wring::runtime
