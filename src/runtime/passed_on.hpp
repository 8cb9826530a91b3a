// SPDX-License-Identifier: BSD-3-Clause
// passed_on.hpp - reductions that MPI does: derived types, the caller's operators, inter-communicators.
#pragma once

#include <mpi.h>

#include <vector>

#include "runtime/arguments.hpp"
#include "runtime/session.hpp"

namespace wring::runtime {

/// MPI's own all-reduce, in pieces where the count is beyond int: operators work element by element.
Status pass_on(const Arguments& a);

/// The same, nonblocking. Progress moves it on.
class PassedOnCall {
 public:
  /// Begins it on comm; completion hears of its end.
  Status begin(const Arguments& a, MPI_Comm comm, Completion& completion);
  /// Tests it; whether it is over. Under the lock, on a thread that may call MPI.
  bool advance() noexcept;

 private:
  std::vector<MPI_Request> pieces_;
  Completion* completion_ = nullptr;
};

}  // namespace wring::runtime
