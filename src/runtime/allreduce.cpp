// SPDX-License-Identifier: BSD-3-Clause
// allreduce.cpp - the blocking call: check, find the plan, run it.
#include <climits>
#include <cstdint>

#include "base/log.hpp"
#include "runtime/bootstrap.hpp"
#include "runtime/communicator.hpp"
#include "runtime/runtime.hpp"

namespace wring::runtime {
namespace {

Status bad(Arg arg, const char* what) { return {Code::invalid_arg, what, static_cast<int>(arg)}; }

/// Buffers of `bytes` > 0 bytes of a type without gaps.
Status check_buffers(const void* send, const void* recv, std::uint64_t bytes) {
  if (recv == MPI_IN_PLACE) return bad(Arg::buffer, "MPI_IN_PLACE is for the send buffer");
  if (recv == nullptr) return bad(Arg::buffer, "the receive buffer is null");
  if (send == MPI_IN_PLACE) return {};
  if (send == nullptr) return bad(Arg::buffer, "the send buffer is null");
  const auto a = reinterpret_cast<std::uintptr_t>(send), b = reinterpret_cast<std::uintptr_t>(recv);
  if ((a <= b && b - a < bytes) || (b < a && a - b < bytes)) {
    return bad(Arg::buffer, "the buffers overlap (MPI_IN_PLACE is the way to reduce in one buffer)");
  }
  return {};
}

/// MPI's own all-reduce, in pieces where the count is beyond int: operators work element by element.
Status pass_on(const void* send, void* recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  constexpr MPI_Count kPiece = INT_MAX;
  MPI_Aint low = 0, extent = 0;
  if (count > kPiece) MPI_Type_get_extent(datatype, &low, &extent);
  do {
    const MPI_Count n = count < kPiece ? count : kPiece;
    const int code = PMPI_Allreduce(send, recv, static_cast<int>(n), datatype, op, comm);
    if (code != MPI_SUCCESS) return {Code::mpi_error, "MPI_Allreduce failed", code};
    count -= n;
    if (send != MPI_IN_PLACE) send = static_cast<const char*>(send) + n * extent;
    recv = static_cast<char*>(recv) + n * extent;
  } while (count > 0);
  return {};
}

/// One rank alone: the result is the input, bit for bit.
Status run_alone(const void* send, void* recv, std::uint64_t bytes) {
  if (send != MPI_IN_PLACE && bytes > 0) device::owner_of(recv).copy(recv, send, bytes);
  return {};
}

}  // namespace

Status allreduce(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                 CodecHandle codec, MPI_Comm comm) {
  Status status;
  Process* process = Process::get(status);
  if (process == nullptr) return status;
  if (comm == MPI_COMM_NULL) return bad(Arg::comm, "the communicator is MPI_COMM_NULL");
  if (count < 0) return bad(Arg::count, "the count is negative");

  // The second call of its kind looks nothing up but its plan.
  const CallKey key{count, datatype, op, codec};
  Communicator* c = Communicator::find(*process, comm);
  CachedCall* call = c ? c->find_call(key) : nullptr;
  const codec::Spec* spec = find_codec(codec);
  if (spec == nullptr) return bad(Arg::other, "the codec is MPIX_CODEC_NULL, or was freed");
  Reduction reduction;
  if (call != nullptr) {
    reduction = call->reduction;
  } else {
    if (datatype == MPI_DATATYPE_NULL) return bad(Arg::type, "the datatype is MPI_DATATYPE_NULL");
    if (op == MPI_OP_NULL) return bad(Arg::op, "the operator is MPI_OP_NULL");
    WRING_TRY(classify(datatype, op, reduction));
    if (reduction.path == Reduction::Path::wring && count > 0) {
      if (static_cast<std::uint64_t>(count) > UINT64_MAX / 2 / reduction.element_bytes) {
        return bad(Arg::count, "the count is beyond the address space");
      }
      WRING_TRY(check_buffers(sendbuf, recvbuf, static_cast<std::uint64_t>(count) * reduction.element_bytes));
    }
    if (c == nullptr) {
      int inter = 0;
      MPI_Comm_test_inter(comm, &inter);
      if (inter) {
        if (reduction.path == Reduction::Path::wring && (op == process->avg() || datatype == process->float16() || datatype == process->bfloat16())) {
          return bad(Arg::comm, "Wring's own types and operators need an intra-communicator");
        }
        process->count_passed_on();
        return pass_on(sendbuf, recvbuf, count, datatype, op, comm);
      }
      // From here on all ranks act alike: the first call on a communicator is a collective step.
      WRING_TRY(Communicator::of(*process, comm, c));
    }
    if (c->size() > 1 && reduction.path == Reduction::Path::wring) {
      WRING_TRY(c->make_call(key, reduction, *spec, call));
    }
  }

  c->forget_last();
  if (reduction.path == Reduction::Path::mpi) {
    if (c->size() > 1) WRING_TRY(c->check_passed_on(count, datatype));
    process->count_passed_on();
    return pass_on(sendbuf, recvbuf, count, datatype, op, comm);
  }
  const std::uint64_t bytes = static_cast<std::uint64_t>(count) * reduction.element_bytes;
  if (count > 0) WRING_TRY(check_buffers(sendbuf, recvbuf, bytes));
  if (c->size() == 1) return run_alone(sendbuf, recvbuf, bytes);
  if (count == 0) {
    c->run_empty();
    return {};
  }
  const void* send = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
  return c->run(*call->plan, send, recvbuf, reduction.opaque);
}

CallInfo last_call(MPI_Comm comm) {
  Status status;
  Process* process = Process::get(status);
  Communicator* c = process ? Communicator::find(*process, comm) : nullptr;
  return c ? c->describe_last() : CallInfo{};
}

Status set_algorithm(MPI_Comm comm, const std::string& name) {
  Status status;
  Process* process = Process::get(status);
  if (process == nullptr) return status;
  Communicator* c = nullptr;
  WRING_TRY(Communicator::of(*process, comm, c));
  return c->set_algorithm(name);
}

Status set_next_start(MPI_Comm comm, std::uint32_t start) {
  Status status;
  Process* process = Process::get(status);
  if (process == nullptr) return status;
  Communicator* c = nullptr;
  WRING_TRY(Communicator::of(*process, comm, c));
  if (c->size() > 1) c->session().set_next_start(start);
  return {};
}

}  // namespace wring::runtime
