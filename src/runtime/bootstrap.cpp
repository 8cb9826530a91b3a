// SPDX-License-Identifier: BSD-3-Clause
// bootstrap.cpp - collectives of MPI for the set-up of a communicator.
#include "runtime/bootstrap.hpp"

#include <climits>

namespace wring::runtime {
namespace {

/// Lets go of a lock for as long as it lives.
class Unlocked {
 public:
  explicit Unlocked(Process::Lock* lock) noexcept : lock_(lock) { if (lock_) lock_->unlock(); }
  ~Unlocked() { if (lock_) lock_->lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  Process::Lock* lock_;
};

}  // namespace

Status mpi_status(int code, const char* function) noexcept {
  if (code == MPI_SUCCESS) return {};
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return fail(Code::internal, code, "%s: %s", function, text);
}

Status MpiBootstrap::allgather(const void* in, std::size_t bytes, void* out) noexcept {
  if (bytes > INT_MAX) return {Code::internal, "allgather of too many bytes"};
  const int n = static_cast<int>(bytes);
  Unlocked unlocked(lock_);
  return mpi_status(PMPI_Allgather(in, n, MPI_BYTE, out, n, MPI_BYTE, comm_), "MPI_Allgather");
}

Status MpiBootstrap::agree(Status mine) noexcept {
  // The lowest rank that failed tells the others what happened.
  struct {
    int failed;
    int rank;
  } in{mine.is_error() ? 1 : 0, rank_}, out{0, 0};
  {
    Unlocked unlocked(lock_);
    WRING_TRY(mpi_status(PMPI_Allreduce(&in, &out, 1, MPI_2INT, MPI_MAXLOC, comm_), "MPI_Allreduce"));
  }
  if (out.failed == 0 || mine.is_error()) return mine;
  return fail(Code::unsupported, out.rank, "it failed on rank %d", out.rank);
}

}  // namespace wring::runtime
