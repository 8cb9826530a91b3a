// SPDX-License-Identifier: BSD-3-Clause
// allreduce.cpp - the blocking call: check, find the plan, run it.
#include <cstdint>

#include "runtime/arguments.hpp"
#include "runtime/bootstrap.hpp"
#include "runtime/memo.hpp"
#include "runtime/passed_on.hpp"

namespace wring::runtime {
namespace {

thread_local constinit Memo t_last [[gnu::tls_model("initial-exec")]];

Status run(Process& process, Communicator& c, CachedCall& call, const Arguments& a) {
  if (a.count == 0) {
    c.run_empty();
    return {};
  }
  const Status status = c.run(*call.plan, a.send == MPI_IN_PLACE ? a.recv : a.send, a.recv, call.reduction.opaque);
  process.progress().deliver();
  return status;
}

/// A call that was examined before, but for its buffers.
Status run_again(Process& process, Communicator& c, CachedCall& call, const Arguments& a) {
  if (a.count > 0) WRING_TRY(check_buffers(a.send, a.recv, static_cast<std::uint64_t>(a.count) * call.reduction.element_bytes));
  c.use(call);
  return run(process, c, call, a);
}

}  // namespace

Status allreduce(const Arguments& a) {
  Status status;
  Process* process = Process::get(status);
  if (process == nullptr) return status;
  if (a.comm == MPI_COMM_NULL) return bad(Arg::comm, "the communicator is MPI_COMM_NULL");

  // The second call of its kind looks nothing up but its plan, and right after the first not even that.
  const CallKey key{a.count, a.datatype, a.op, a.codec};
  if (t_last.holds(a.comm, key)) return run_again(*process, *t_last.communicator, *t_last.call, a);
  const std::uint64_t freed = g_freed.load(std::memory_order_acquire);
  Communicator* c = Communicator::find(*process, a.comm);
  CachedCall* call = c ? c->find_call(key) : nullptr;
  if (call != nullptr && find_codec(a.codec) != nullptr) {
    t_last = {c, a.comm, call, freed};
    return run_again(*process, *c, *call, a);
  }
  Reduction reduction;
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
  WRING_TRY(c->make_call(key, reduction, *find_codec(a.codec), call));
  return run(*process, *c, *call, a);
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
