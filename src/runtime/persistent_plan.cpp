// SPDX-License-Identifier: BSD-3-Clause
// persistent_plan.cpp - plans: made together, started, waited for, freed.
#include "runtime/persistent_plan.hpp"

#include <sched.h>

#include <mutex>
#include <new>

#include "base/log.hpp"
#include "runtime/bootstrap.hpp"
#include "runtime/process.hpp"

namespace wring::runtime {

// --- creation ---------------------------------------------------------------------------------------

Status PersistentPlan::create(Process& process, const Arguments& a, MPI_Info info, std::shared_ptr<PersistentPlan>& out) {
  std::shared_ptr<PersistentPlan> made(new PersistentPlan(process, a));
  PlanHints hints;
  Status mine = examine(a, made->reduction_);
  if (mine.ok()) mine = hints.read(info);
  int inter = 0;
  MPI_Comm_test_inter(a.comm, &inter);
  if (inter) {
    WRING_TRY(mine);
    bool known = false;
    WRING_TRY(examine_inter(process, a, made->reduction_, known));
    made->way_ = Way::mpi;
    WRING_TRY(mpi_status(MPI_Comm_split(a.comm, 0, 0, &made->passed_on_comm_), "MPI_Comm_split"));
    // The caller's own may be gone when an error comes.
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(a.comm, &handler);
    MPI_Comm_set_errhandler(made->passed_on_comm_, handler);
    MPI_Errhandler_free(&handler);
    process.progress().hook();
  } else {
    const std::string text = mine.what();  // setting up says other things meanwhile
    if (mine.is_error()) mine = {mine.code(), text.c_str(), mine.detail()};
    Communicator* c = nullptr;
    WRING_TRY(Communicator::of(process, a.comm, c));
    {
      Process::Lock lock(process);
      made->communicator_ = process.share(c);
    }
    if (Status status = made->set_up(mine, hints); status.is_error()) {
      const std::string why = status.what();  // may be that of `mine`, which ends here, or fail's own
      return fail(status.code(), status.detail(), "%s", why.c_str());
    }
  }
  out = std::move(made);
  return {};
}

Status PersistentPlan::set_up(const Status& mine, const PlanHints& own_hints) {
  Communicator& c = *communicator_;
  plan::Settings settings = c.settings();
  PlanHints hints = own_hints;
  if (mine.ok()) {
    way_ = reduction_.path == Reduction::Path::mpi ? Way::mpi
           : arguments_.count == 0                 ? Way::empty
           : c.size() == 1                         ? Way::alone
                                                   : Way::engine;
  }
  WRING_TRY(agree(mine, hints, settings));
  process_.progress().hook();
  if (hints.wants_thread() || process_.wants_thread()) WRING_TRY(process_.progress().start_thread());
  if (way_ == Way::mpi) {
    // Starts may come in another order on other ranks, which MPI allows on separate communicators only.
    MPI_Comm from = c.own_comm() != MPI_COMM_NULL ? c.own_comm() : arguments_.comm;
    WRING_TRY(mpi_status(MPI_Comm_split(from, 0, c.rank(), &passed_on_comm_), "MPI_Comm_split"));
    MPI_Comm_set_errhandler(passed_on_comm_, MPI_ERRORS_RETURN);  // tell() calls the caller's
    return {};
  }
  if (c.size() == 1) return {};
  if (way_ == Way::engine) {
    const plan::Problem problem = c.problem(arguments_.count, reduction_, *find_codec(arguments_.codec));
    if (settings.algorithm == nullptr) {
      WRING_TRY(c.tune(problem, reduction_.opaque));
      settings.measured = c.settings().measured;
    }
    plan_ = std::make_unique<plan::Plan>(plan::make_plan(problem, settings, c.rank()));
    execution_ = std::make_unique<Execution>(*plan_, c.session().channel(), device::host_pool(), c.context());
    if (c.is_rank0() && log_enabled(LogLevel::info)) log(LogLevel::info, "plan for %d ranks over %s: %s", c.size(), c.transport_name(), plan_->describe().c_str());
  }
  Process::Lock lock(process_);
  lane_ = &c.session().open_lane();
  return {};
}

/// Rank 0's hints count for all; whoever fails, all fail.
Status PersistentPlan::agree(Status mine, PlanHints& hints, plan::Settings& settings) {
  Communicator& c = *communicator_;
  const MPI_Comm comm = c.own_comm();
  if (comm == MPI_COMM_NULL) {  // alone
    WRING_TRY(mine);
    return hints.apply(settings);
  }
  const PlanHints own = hints;
  MPI_Request request = MPI_REQUEST_NULL;
  WRING_TRY(mpi_status(PMPI_Ibcast(&hints, sizeof hints, MPI_BYTE, 0, comm, &request), "MPI_Ibcast"));
  WRING_TRY(process_.wait_mpi(request, "MPI_Ibcast"));
  static std::once_flag once;
  if (const std::string names = own.differences(hints); !names.empty()) {
    std::call_once(once, [&] { log(LogLevel::warn, "%s of rank %d differs from rank 0's, which is used", names.c_str(), c.rank()); });
  }
  std::string text;
  if (mine.ok()) {
    mine = hints.apply(settings);
    text = mine.what();
    if (mine.is_error()) mine = {mine.code(), text.c_str(), mine.detail()};
  }

  // The first rank that failed, and whether all take the same way. On MPI's nothing finds out later.
  const auto way = static_cast<long long>(way_);
  const auto key = way_ == Way::mpi && mine.ok() ? static_cast<long long>(passed_on_key(arguments_.count, arguments_.datatype) >> 1) : 0;
  const long long said[5] = {mine.is_error() ? c.size() - c.rank() : 0, way, -way, key, -key};
  long long all[5] = {};
  WRING_TRY(mpi_status(PMPI_Iallreduce(said, all, 5, MPI_LONG_LONG, MPI_MAX, comm, &request), "MPI_Iallreduce"));
  WRING_TRY(process_.wait_mpi(request, "MPI_Iallreduce"));
  if (mine.is_error()) return fail(mine.code(), mine.detail(), "%s", mine.what());
  if (all[0] > 0) return fail(Code::invalid_arg, static_cast<int>(Arg::other), "the plan could not be made on rank %d", c.size() - static_cast<int>(all[0]));
  if (all[1] != -all[2] || all[3] != -all[4]) return find_mismatch(way, key);
  return {};
}

/// Ranks disagree on the way: says which two, and what each wants.
Status PersistentPlan::find_mismatch(long long way, long long key) {
  Communicator& c = *communicator_;
  struct Wish {
    long long count, way, key;
  };
  const Wish mine{static_cast<long long>(arguments_.count), way, key};
  std::vector<Wish> all(static_cast<std::size_t>(c.size()));
  MPI_Request request = MPI_REQUEST_NULL;
  WRING_TRY(mpi_status(PMPI_Iallgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, c.own_comm(), &request), "MPI_Iallgather"));
  WRING_TRY(process_.wait_mpi(request, "MPI_Iallgather"));
  int other = 1;
  const auto differs = [&](const Wish& w) { return w.way != all[0].way || w.key != all[0].key; };
  while (other < c.size() - 1 && !differs(all[static_cast<std::size_t>(other)])) ++other;
  const Wish& theirs = all[static_cast<std::size_t>(other)];
  if (theirs.count != all[0].count) {
    return fail(Code::mismatch, 0, "mismatched calls: count %lld on rank 0, count %lld on rank %d", all[0].count, theirs.count, other);
  }
  const auto kind = [](const Wish& w) { return w.way == static_cast<long long>(Way::mpi) ? "only MPI can reduce" : "Wring reduces"; };
  return fail(Code::mismatch, 0, "mismatched calls: a datatype or operator that %s on rank 0, another that %s on rank %d", kind(all[0]), kind(theirs), other);
}

PersistentPlan::~PersistentPlan() {
  if (lane_ != nullptr) {
    Process::Lock lock(process_);
    communicator_->session().close_lane(*lane_);
  }
  execution_.reset();
  if (passed_on_comm_ != MPI_COMM_NULL) MPI_Comm_free(&passed_on_comm_);
  if (communicator_ != nullptr) {
    Process::Lock lock(process_);
    process_.retire(std::move(communicator_));
  }
}

void PersistentPlan::leave(const std::shared_ptr<PersistentPlan>& plan) noexcept {
  if (!plan->over_) (void)new (std::nothrow) std::shared_ptr<PersistentPlan>(plan);
}

// --- starts -----------------------------------------------------------------------------------------

Status PersistentPlan::start() {
  if (active()) return bad(Arg::request, "the plan is active");
  progress_->started.store(progress_->started.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  status_ = {};
  const Status status = begin();
  if (status.is_error()) {  // nothing has begun
    over_ = true;
    progress_->see(progress_->started.load());
  }
  return tell(status);
}

/// An error that MPI found on a communicator of ours, where no handler of the caller's hears of it.
Status PersistentPlan::tell(Status status) noexcept {
  if (status.code() != Code::mpi_error || communicator_ == nullptr) return status;
  const MPI_Comm comm = communicator_->user_comm();
  MPI_Comm_call_errhandler(comm != MPI_COMM_NULL ? comm : MPI_COMM_SELF, status.detail());
  return status;
}

Status PersistentPlan::begin() {
  const Arguments& a = arguments_;
  switch (way_) {
    case Way::engine: {
      Process::Lock lock(process_);
      over_ = false;
      if (reduction_.opaque.calls_mpi) communicator_->count_mpi_start(1);
      communicator_->session().start(*lane_, *execution_, a.send == MPI_IN_PLACE ? a.recv : a.send, a.recv, reduction_.opaque, *this);
      // An exchange has done its part for the others; what is left is for whoever asks for the result, unless
      // there is a thread to do it.
      if (!over_ && (!execution_->exchanging() || process_.progress().has_thread())) (void)be_busy();
      return {};
    }
    case Way::mpi: {
      over_ = false;
      process_.count_passed_on();
      WRING_TRY(passed_on_.begin(a, passed_on_comm_, *this));
      Process::Lock lock(process_);
      process_.progress().add(passed_on_);
      return {};
    }
    case Way::alone:
      run_alone(a.send, a.recv, static_cast<std::uint64_t>(a.count) * reduction_.element_bytes);
      break;
    case Way::empty:
      if (lane_ != nullptr) {
        Process::Lock lock(process_);
        communicator_->session().start_empty(*lane_);
      }
      break;
  }
  Process::Lock lock(process_);
  over_ = true;
  ++ended_;
  return {};
}

/// From now on others move the running start on. False if there is no memory: then only whoever waits does.
bool PersistentPlan::be_busy() noexcept {
  if (busy_ || way_ != Way::engine) return true;
  try {
    process_.progress().add(communicator_);
  } catch (...) {
    return false;
  }
  return busy_ = true;
}

void PersistentPlan::completed(Status status) noexcept {
  over_ = true;
  status_ = status;
  ++ended_;
  for (Ticket* ticket : tickets_) process_.progress().finish(ticket, status);
  tickets_.clear();
  if (way_ != Way::engine) return;
  last_counters_ = execution_->counters();
  counters_ += last_counters_;
  communicator_->count(last_counters_);
  if (reduction_.opaque.calls_mpi) communicator_->count_mpi_start(-1);
  if (busy_) process_.progress().remove(*communicator_);
  busy_ = false;
}

Status PersistentPlan::wait() {
  if (!active()) return {};
  if (way_ == Way::engine) {
    communicator_->wait(over_, plan_->problem.bytes());
  } else if (way_ == Way::mpi) {
    for (;;) {
      {
        Process::Lock lock(process_);
        if (!over_) process_.progress().advance();
        if (over_) break;
      }
      sched_yield();
    }
  }
  process_.progress().deliver();
  return see_end();
}

Status PersistentPlan::test(bool& over) {
  over = true;
  if (!active()) {
    process_.progress().poll();  // others may run
    return {};
  }
  {
    Process::Lock lock(process_);
    if (!over_ && way_ == Way::engine && !busy_) (void)communicator_->session().progress();
    if (!over_) process_.progress().advance();
    over = over_;
  }
  process_.progress().deliver();
  return over ? see_end() : Status{};
}

Status PersistentPlan::see_end() noexcept {
  const std::uint64_t start = progress_->started.load();
  const bool seen = progress_->seen.load() == start;
  progress_->see(start);
  return seen ? Status{} : tell(status_);
}

Status PersistentPlan::request(MPI_Request* request, MakeCode make_code) {
  if (request == nullptr) return bad(Arg::request, "the request is null");
  if (!active()) {
    *request = MPI_REQUEST_NULL;
    return {};
  }
  {
    Process::Lock lock(process_);
    if (!over_ && !be_busy()) return {Code::no_memory, "no memory for a request"};
  }
  Status status;
  Ticket* ticket = process_.progress().make_ticket("MPIX_Plan_start", make_code, status);
  if (ticket == nullptr) return status;
  ticket->plan = progress_;
  ticket->start = progress_->started.load();
  *request = ticket->request;
  {
    Process::Lock lock(process_);
    if (over_) {
      process_.progress().finish(ticket, status_);
    } else {
      tickets_.push_back(ticket);
    }
  }
  process_.progress().deliver();
  return {};
}

// --- what a plan says about itself -------------------------------------------------------------------

std::string PersistentPlan::describe() const {
  switch (way_) {
    case Way::engine: return plan_->describe() + ", over " + communicator_->transport_name();
    case Way::mpi: return "MPI_Iallreduce: derived types, the caller's operators and inter-communicators are reduced by MPI, exactly";
    case Way::alone: return "copy: one rank alone";
    case Way::empty: break;
  }
  return "nothing to do: no elements";
}

PlanStats PersistentPlan::stats() const noexcept {
  const Counters& c = counters_;
  return {.starts = ended_, .raw_bytes = c.raw_bytes, .wire_bytes = c.wire_bytes, .frames = c.frames, .escapes = c.escapes,
          .seconds_total = c.seconds, .seconds_encode = c.seconds_encode, .seconds_decode = c.seconds_decode};
}

CallInfo PersistentPlan::last_start() const {
  return way_ == Way::engine ? describe_start(*plan_, last_counters_, communicator_->transport_name()) : CallInfo{};
}

}  // namespace wring::runtime
