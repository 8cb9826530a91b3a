// SPDX-License-Identifier: BSD-3-Clause
// passed_on.cpp - MPI_Allreduce and MPI_Iallreduce on the caller's behalf.
#include "runtime/passed_on.hpp"

#include <algorithm>
#include <climits>

namespace wring::runtime {
namespace {

/// Calls each with the arguments of every piece that an int can count; stops at the first error.
template <class Each>
int for_pieces(const Arguments& a, Each&& each) {
  constexpr MPI_Count kPiece = INT_MAX;
  MPI_Aint low = 0, extent = 0;
  if (a.count > kPiece) MPI_Type_get_extent(a.datatype, &low, &extent);
  const void* send = a.send;
  void* recv = a.recv;
  MPI_Count left = a.count;
  do {
    const MPI_Count n = std::min(left, kPiece);
    if (const int code = each(send, recv, static_cast<int>(n)); code != MPI_SUCCESS) return code;
    left -= n;
    if (send != MPI_IN_PLACE) send = static_cast<const char*>(send) + n * extent;
    recv = static_cast<char*>(recv) + n * extent;
  } while (left > 0);
  return MPI_SUCCESS;
}

}  // namespace

Status pass_on(const Arguments& a) {
  const int code = for_pieces(a, [&](const void* send, void* recv, int n) {
    return PMPI_Allreduce(send, recv, n, a.datatype, a.op, a.comm);
  });
  return code == MPI_SUCCESS ? Status{} : Status{Code::mpi_error, "MPI_Allreduce failed", code};
}

Status PassedOnCall::begin(const Arguments& a, MPI_Comm comm, Completion& completion) {
  completion_ = &completion;
  pieces_.clear();
  const int code = for_pieces(a, [&](const void* send, void* recv, int n) {
    pieces_.push_back(MPI_REQUEST_NULL);
    return PMPI_Iallreduce(send, recv, n, a.datatype, a.op, comm, &pieces_.back());
  });
  return code == MPI_SUCCESS ? Status{} : Status{Code::mpi_error, "MPI_Iallreduce failed", code};
}

bool PassedOnCall::advance() noexcept {
  int done = 0;
  const int code = PMPI_Testall(static_cast<int>(pieces_.size()), pieces_.data(), &done, MPI_STATUSES_IGNORE);
  if (code == MPI_SUCCESS && !done) return false;
  // The last thing done here: the completion may end this object.
  completion_->completed(code == MPI_SUCCESS ? Status{} : Status{Code::mpi_error, "MPI_Iallreduce failed", code});
  return true;
}

}  // namespace wring::runtime
