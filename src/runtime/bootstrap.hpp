// SPDX-License-Identifier: BSD-3-Clause
// bootstrap.hpp - what transports ask of MPI while they open a channel.
#pragma once

#include <mpi.h>

#include "runtime/process.hpp"
#include "transport/transport.hpp"

namespace wring::runtime {

/// Over a communicator of Wring's own whose error handler returns. Transports open under the library's
/// lock; it is let go while MPI works, or threads that open channels for two communicators in another
/// order than their peers would wait for each other.
class MpiBootstrap final : public transport::Bootstrap {
 public:
  MpiBootstrap(MPI_Comm comm, int rank, int size, std::uint64_t context) noexcept
      : comm_(comm), rank_(rank), size_(size), context_(context) {}

  /// The lock that the caller holds from now on; null: none.
  void set_lock(Process::Lock* lock) noexcept { lock_ = lock; }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  std::uint64_t context() const noexcept override { return context_; }
  Status allgather(const void* in, std::size_t bytes, void* out) noexcept override;
  Status agree(Status mine) noexcept override;
  void* native_comm() noexcept override { return &comm_; }

 private:
  MPI_Comm comm_;
  const int rank_, size_;
  const std::uint64_t context_;
  Process::Lock* lock_ = nullptr;
};

/// An MPI error code as a Status, with MPI's text.
Status mpi_status(int code, const char* function) noexcept;

}  // namespace wring::runtime
