// SPDX-License-Identifier: BSD-3-Clause
// allreduce.cpp - the blocking call: check, find the plan, run it.
#include <cstdint>

#include "runtime/arguments.hpp"
#include "runtime/bootstrap.hpp"
#include "runtime/communicator.hpp"
#include "runtime/passed_on.hpp"

namespace wring::runtime {

Status allreduce(const Arguments& a) {
  Status status;
  Process* process = Process::get(status);
  if (process == nullptr) return status;
  if (a.comm == MPI_COMM_NULL) return bad(Arg::comm, "the communicator is MPI_COMM_NULL");

  // The second call of its kind looks nothing up but its plan.
  const CallKey key{a.count, a.datatype, a.op, a.codec};
  Communicator* c = Communicator::find(*process, a.comm);
  CachedCall* call = c ? c->find_call(key) : nullptr;
  Reduction reduction;
  if (call != nullptr && find_codec(a.codec) != nullptr) {
    reduction = call->reduction;
    if (a.count > 0) WRING_TRY(check_buffers(a.send, a.recv, static_cast<std::uint64_t>(a.count) * reduction.element_bytes));
  } else {
    WRING_TRY(examine(a, reduction));
    if (c == nullptr) {
      bool inter = false;
      WRING_TRY(examine_inter(*process, a, reduction, inter));
      if (inter) {
        process->count_passed_on();
        return pass_on(a);
      }
      // From here on all ranks act alike: the first call on a communicator is a collective step.
      WRING_TRY(Communicator::of(*process, a.comm, c));
    }
    if (c->size() > 1 && reduction.path == Reduction::Path::wring) {
      WRING_TRY(c->make_call(key, reduction, *find_codec(a.codec), call));
    }
  }

  if (reduction.path == Reduction::Path::mpi) {
    c->forget_last();
    if (c->size() > 1) WRING_TRY(c->check_passed_on(a.count, a.datatype));
    process->count_passed_on();
    return pass_on(a);
  }
  if (c->size() == 1) {
    run_alone(a.send, a.recv, static_cast<std::uint64_t>(a.count) * reduction.element_bytes);
    return {};
  }
  if (a.count == 0) {
    c->run_empty();
    return {};
  }
  const void* send = a.send == MPI_IN_PLACE ? a.recv : a.send;
  status = c->run(*call->plan, send, a.recv, reduction.opaque);
  process->progress().deliver();
  return status;
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
  if (c->size() > 1) c->session().calls().next_start = start;
  return {};
}

}  // namespace wring::runtime
