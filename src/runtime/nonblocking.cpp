// SPDX-License-Identifier: BSD-3-Clause
// nonblocking.cpp - the nonblocking call: as the blocking one, but whoever moves on next ends it.
#include <climits>

#include "runtime/arguments.hpp"
#include "runtime/communicator.hpp"
#include "runtime/passed_on.hpp"

namespace wring::runtime {
namespace {

constexpr const char* kFunction = "MPIX_Iallreduce_compressed";

/// Several pieces that MPI reduces, behind one request. Ends itself.
class PassedOnInPieces final : public Completion {
 public:
  PassedOnInPieces(Progress& progress, Ticket* ticket) : progress_(progress), ticket_(ticket) {}
  PassedOnCall& call() noexcept { return call_; }
  void completed(Status status) noexcept override {
    progress_.finish(ticket_, status);
    delete this;
  }

 private:
  Progress& progress_;
  Ticket* const ticket_;
  PassedOnCall call_;
};

/// What MPI does itself. One piece is MPI's own request.
Status ipass_on(Process& process, const Arguments& a, MPI_Request* request, MakeCode make_code) {
  process.count_passed_on();
  if (a.count <= INT_MAX) {
    const int code = PMPI_Iallreduce(a.send, a.recv, static_cast<int>(a.count), a.datatype, a.op, a.comm, request);
    return code == MPI_SUCCESS ? Status{} : Status{Code::mpi_error, "MPI_Iallreduce failed", code};
  }
  Status status;
  Ticket* ticket = process.progress().make_ticket(kFunction, make_code, status);
  if (ticket == nullptr) return status;
  *request = ticket->request;
  auto pieces = std::make_unique<PassedOnInPieces>(process.progress(), ticket);
  status = pieces->call().begin(a, a.comm, *pieces);
  Process::Lock lock(process);
  if (status.is_error()) {
    process.progress().finish(ticket, status);
  } else {
    process.progress().add(pieces.release()->call());
  }
  return {};
}

}  // namespace

Status iallreduce(const Arguments& a, MPI_Request* request, MakeCode make_code) {
  Status status;
  Process* process = Process::get(status);
  if (process == nullptr) return status;
  if (a.comm == MPI_COMM_NULL) return bad(Arg::comm, "the communicator is MPI_COMM_NULL");
  if (request == nullptr) return bad(Arg::request, "the request is null");

  const CallKey key{a.count, a.datatype, a.op, a.codec};
  Communicator* c = Communicator::find(*process, a.comm);
  Reduction reduction;
  WRING_TRY(examine(a, reduction));
  if (c == nullptr) {
    bool inter = false;
    WRING_TRY(examine_inter(*process, a, reduction, inter));
    if (inter) return ipass_on(*process, a, request, make_code);
    WRING_TRY(Communicator::of(*process, a.comm, c));
  }
  if (reduction.path == Reduction::Path::mpi) return ipass_on(*process, a, request, make_code);

  c->forget_last();
  CachedCall* call = nullptr;
  if (c->size() > 1 && a.count > 0) {
    call = c->find_call(key);
    if (call == nullptr) {
      WRING_TRY(c->make_call(key, reduction, *find_codec(a.codec), call));
    } else {
      c->use(*call);
    }
  }
  Progress& progress = process->progress();
  if (process->wants_thread()) WRING_TRY(progress.start_thread());
  Ticket* ticket = progress.make_ticket(kFunction, make_code, status);
  if (ticket == nullptr) return status;
  *request = ticket->request;
  {
    Process::Lock lock(*process);
    if (call == nullptr) {
      if (c->size() == 1) {
        run_alone(a.send, a.recv, static_cast<std::uint64_t>(a.count) * reduction.element_bytes);
      } else {
        c->session().start_empty(c->session().calls());
      }
      progress.finish(ticket, {});
    } else {
      c->begin(call->plan, a.send == MPI_IN_PLACE ? a.recv : a.send, a.recv, reduction.opaque, ticket);
    }
  }
  progress.deliver();
  return {};
}

}  // namespace wring::runtime
