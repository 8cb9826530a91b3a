// SPDX-License-Identifier: BSD-3-Clause
// arguments.cpp - checks that need no other rank.
#include "runtime/arguments.hpp"

#include "device/device.hpp"
#include "runtime/process.hpp"

namespace wring::runtime {

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

Status examine(const Arguments& a, Reduction& out) {
  if (a.count < 0) return bad(Arg::count, "the count is negative");
  if (find_codec(a.codec) == nullptr) return bad(Arg::other, "the codec is MPIX_CODEC_NULL, or was freed");
  if (a.datatype == MPI_DATATYPE_NULL) return bad(Arg::type, "the datatype is MPI_DATATYPE_NULL");
  if (a.op == MPI_OP_NULL) return bad(Arg::op, "the operator is MPI_OP_NULL");
  WRING_TRY(classify(a.datatype, a.op, out));
  if (out.path != Reduction::Path::wring || a.count == 0) return {};
  if (static_cast<std::uint64_t>(a.count) > UINT64_MAX / 2 / out.element_bytes) {
    return bad(Arg::count, "the count is beyond the address space");
  }
  return check_buffers(a.send, a.recv, static_cast<std::uint64_t>(a.count) * out.element_bytes);
}

Status examine_inter(const Process& process, const Arguments& a, const Reduction& reduction, bool& inter) {
  int flag = 0;
  MPI_Comm_test_inter(a.comm, &flag);
  inter = flag != 0;
  const bool own = a.op == process.avg() || a.datatype == process.float16() || a.datatype == process.bfloat16();
  if (inter && own && reduction.path == Reduction::Path::wring) {
    return bad(Arg::comm, "Wring's own types and operators need an intra-communicator");
  }
  return {};
}

void run_alone(const void* send, void* recv, std::uint64_t bytes) {
  if (send != MPI_IN_PLACE && bytes > 0) device::owner_of(recv).copy(recv, send, bytes);
}

}  // namespace wring::runtime
