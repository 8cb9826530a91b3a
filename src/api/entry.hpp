// SPDX-License-Identifier: BSD-3-Clause
// entry.hpp - the one way from a public function into the library and back.
#pragma once

#include <mpi.h>

#include <exception>
#include <new>
#include <type_traits>

#include "base/status.hpp"

namespace wring::api {

/// Turns a Status into an MPI error code with its own text, and calls the error handler of comm (of
/// MPI_COMM_SELF if comm is MPI_COMM_NULL) unless MPI is not running.
int report(MPI_Comm comm, const char* function, Status status) noexcept;
/// The code alone, without calling an error handler.
int make_code(const char* function, Status status) noexcept;

/// Runs body, which returns a Status. Nothing that it throws passes the C boundary: this is the only
/// try/catch on the way.
/// comm: the communicator, or a function that returns it, called only after an error.
template <class Comm, class Body>
int mpi_entry(Comm&& comm, const char* function, Body&& body) noexcept {
  Status status;
  try {
    status = body();
  } catch (const std::bad_alloc&) {
    status = {Code::no_memory, "no memory"};
  } catch (const std::exception& e) {
    status = fail(Code::internal, 0, "unexpected: %s", e.what());
  } catch (...) {
    status = {Code::internal, "unexpected exception"};
  }
  if (!status.is_error()) return MPI_SUCCESS;
  if constexpr (std::is_invocable_v<Comm>) {
    return report(comm(), function, status);
  } else {
    return report(comm, function, status);
  }
}

}  // namespace wring::api
