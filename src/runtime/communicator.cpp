// SPDX-License-Identifier: BSD-3-Clause
// communicator.cpp - set-up and end of a communicator's state, and its cached plans.
#include "runtime/communicator.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "base/clock.hpp"
#include "base/config.hpp"
#include "base/log.hpp"
#include "runtime/bootstrap.hpp"
#include "runtime/memo.hpp"

namespace wring::runtime {
namespace {

/// How long the end waits for ranks that have vanished.
constexpr double kLeaveSeconds = 5;

std::uint64_t mix(std::uint64_t h, std::uint64_t value) noexcept {
  h = (h ^ value) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 29);
}

template <class Handle>
std::uint64_t bits_of(Handle h) noexcept {  // a pointer with Open MPI, an integer with MPICH
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(h);
  } else {
    return static_cast<std::uint64_t>(h);
  }
}

}  // namespace

/// A nonblocking call while it runs.
struct Communicator::Call final : Completion {
  explicit Call(Communicator& c) : communicator(c) {}

  void completed(Status status) noexcept override {
    communicator.count(execution->counters());
    Progress& progress = communicator.process_.progress();
    progress.finish(ticket, status);
    plan->idle.push_back(std::move(execution));
    communicator.last_ = plan.use_count() > 1 ? plan.get() : nullptr;  // else it has left the cache
    plan.reset();
    if (calls_mpi) communicator.count_mpi_start(-1);
    communicator.idle_calls_.push_back(this);
    progress.remove(communicator);
  }

  Communicator& communicator;
  std::shared_ptr<CallPlan> plan;
  std::unique_ptr<Execution> execution;
  Ticket* ticket = nullptr;
  bool calls_mpi = false;
};

// --- life -------------------------------------------------------------------------------------------

Communicator* Communicator::find(const Process& process, MPI_Comm comm) noexcept {
  void* value = nullptr;
  int found = 0;
  MPI_Comm_get_attr(comm, process.keyval(), &value, &found);
  return found ? static_cast<Communicator*>(value) : nullptr;
}

Status Communicator::of(Process& process, MPI_Comm comm, Communicator*& out) {
  out = find(process, comm);
  if (out != nullptr) return {};
  process.bury();
  // What is on its way on other communicators may have to end before all ranks come here.
  WRING_TRY(process.meet(comm));
  std::shared_ptr<Communicator> made(new Communicator(process, comm));
  WRING_TRY(made->start());
  WRING_TRY(mpi_status(MPI_Comm_set_attr(comm, process.keyval(), made.get()), "MPI_Comm_set_attr"));
  Process::Lock lock(process);
  out = made.get();
  process.add(std::move(made));
  return {};
}

Status Communicator::start() {
  MPI_Comm_size(user_comm_, &size_);
  MPI_Comm_rank(user_comm_, &rank_);
  if (size_ == 1) return {};
  // Not MPI_Comm_dup: that would run copy callbacks of the caller's attributes.
  WRING_TRY(mpi_status(MPI_Comm_split(user_comm_, 0, rank_, &own_comm_), "MPI_Comm_split"));
  MPI_Comm_set_errhandler(own_comm_, MPI_ERRORS_RETURN);
  WRING_TRY(agree_on_settings());
  WRING_TRY(open_transport());
  return tune_ == Tune::model ? Status{} : measure_network();
}

Status Communicator::open_transport() {
  MpiBootstrap boot(own_comm_, rank_, size_, context_);

  WRING_TRY(count_neighbours(boot));

  session_ = std::make_unique<Session>(rank_, size_, context_, settings_.checksum);
  static std::once_flag once;
  Status status{Code::unsupported, "no transport"};
  const bool any = wanted_transport_ == "auto";
  if (!any && transport::find(wanted_transport_.c_str()) == nullptr) {
    std::call_once(once, [&] {
      if (rank_ == 0) log(LogLevel::warn, "WRING_TRANSPORT=\"%s\" is not a transport of this build, using auto", wanted_transport_.c_str());
    });
    wanted_transport_ = "auto";
  }
  for (const transport::Transport* t : transport::all()) {
    if (wanted_transport_ != "auto" && wanted_transport_ != t->name) continue;
    std::unique_ptr<transport::Channel> channel;
    {
      Process::Lock lock(process_);
      boot.set_lock(&lock);
      status = transport::open_with_mailboxes(*t, boot, *session_, channel);
      boot.set_lock(nullptr);
    }
    if (status.ok()) {
      settings_.network.short_way.most = channel->short_way() == nullptr ? 0 : channel->short_way()->most();
      session_->attach(std::move(channel));
      transport_ = t;
      transport_calls_mpi_ = t->caps().calls_mpi;
      settings_.max_payload = t->caps().max_payload;
      return {};
    }
    std::call_once(once, [&] {
      if (rank_ == 0) log(LogLevel::warn, "transport %s cannot start (%s), trying the next", t->name, status.what());
    });
  }
  return status;
}

Status Communicator::count_neighbours(transport::Bootstrap& boot) {
  // Waiting may spin where every rank of this host has a processor to itself. Hosts are told apart by
  // name, which is all that this needs; launchers may bind ranks, so the sets of all of them count.
  struct Seat {
    char host[64];
    char node[64];
    cpu_set_t processors;
  } mine{};
  gethostname(mine.host, sizeof mine.host - 1);
  const std::string node = config().node.empty() ? mine.host : config().node;
  node.copy(mine.node, sizeof mine.node - 1);
  if (sched_getaffinity(0, sizeof mine.processors, &mine.processors) != 0) CPU_SET(0, &mine.processors);
  std::vector<Seat> all(static_cast<std::size_t>(size_));
  WRING_TRY(boot.allgather(&mine, sizeof mine, all.data()));
  struct Host {
    int ranks = 0;
    cpu_set_t processors{};
  };
  std::map<std::string, Host> hosts;
  std::map<std::string, int> nodes;
  std::vector<int> node_of;
  for (const Seat& seat : all) {
    node_of.push_back(nodes.try_emplace(seat.node, static_cast<int>(nodes.size())).first->second);
    Host& host = hosts[seat.host];
    ++host.ranks;
    CPU_OR(&host.processors, &host.processors, &seat.processors);
  }
  const Host& here = hosts[mine.host];
  oversubscribed_ = here.ranks > CPU_COUNT(&here.processors);
  one_host_ = here.ranks == size_;
  // The same on all ranks: choices rest on them.
  for (const auto& [name, host] : hosts) {
    settings_.processor.sharing = std::max(settings_.processor.sharing, static_cast<double>(host.ranks) / CPU_COUNT(&host.processors));
  }
  nodes_ = algorithm::Nodes(node_of);
  return {};
}

Communicator::Communicator(Process& process, MPI_Comm user_comm) : process_(process), user_comm_(user_comm) {}

Communicator::~Communicator() {
  for (CachedCall& c : calls_) c = {};
  session_.reset();
  if (own_comm_ != MPI_COMM_NULL) MPI_Comm_free(&own_comm_);
}

int Communicator::on_delete(MPI_Comm, int, void* value, void*) noexcept {
  auto* c = static_cast<Communicator*>(value);
  g_freed.fetch_add(1, std::memory_order_release);
  Process& process = c->process_;
  synchronize({c});
  {
    Process::Lock lock(process);
    c->user_comm_ = MPI_COMM_NULL;
    process.remove(c);  // plans and running calls may still hold it
  }
  process.bury();
  return MPI_SUCCESS;
}

void Communicator::synchronize(const std::vector<Communicator*>& all) noexcept {
  try {
    std::vector<MPI_Request> requests;
    for (Communicator* c : all) {
      if (c->own_comm_ == MPI_COMM_NULL || c->session_ == nullptr) continue;
      {
        Process::Lock lock(c->process_);
        c->session_->announce_empty_starts();
      }
      requests.emplace_back();
      if (MPI_Ibarrier(c->own_comm_, &requests.back()) != MPI_SUCCESS) requests.pop_back();
    }
    const double limit = now() + kLeaveSeconds;
    for (int done = requests.empty(); !done;) {
      MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
      bool moved = false;
      for (Communicator* c : all) {
        if (c->session_ == nullptr) continue;
        Process::Lock lock(c->process_);
        moved = c->session_->progress() || moved;
      }
      if (!done && !moved) usleep(20);
      if (now() > limit) {
        log(LogLevel::debug, "gave up waiting for other ranks to leave");
        return;
      }
    }
  } catch (...) {  // no memory for a list of requests: leave without waiting
  }
}

// --- plans ------------------------------------------------------------------------------------------

std::size_t Communicator::set_of(const CallKey& key) noexcept {
  std::uint64_t h = mix(0, static_cast<std::uint64_t>(key.count));
  h = mix(h, bits_of(key.datatype));
  h = mix(h, bits_of(key.op));
  h = mix(h, key.codec);
  return (h >> 32) % kSets;
}

plan::Problem Communicator::problem(MPI_Count count, const Reduction& reduction, const codec::Spec& spec) const {
  return {.count = static_cast<std::uint64_t>(count), .dtype = reduction.dtype, .element_bytes = reduction.element_bytes,
          .op = reduction.op, .opaque_id = reduction.id, .size = size_, .codec = spec, .nodes = nodes_};
}

Status Communicator::make_call(const CallKey& key, const Reduction& reduction, const codec::Spec& spec,
                               CachedCall*& out) {
  if (reduction.path == Reduction::Path::wring && key.count > 0) {
    WRING_TRY(tune(problem(key.count, reduction, spec), reduction.opaque));
  }
  Process::Lock lock(process_);  // nonblocking calls may end meanwhile
  CachedCall* set = &calls_[set_of(key) * kWays];
  CachedCall& call = *std::min_element(set, set + kWays, [](const auto& a, const auto& b) { return a.used < b.used; });
  if (last_ != nullptr && last_ == call.plan.get()) last_ = nullptr;
  call = {};
  if (reduction.path == Reduction::Path::wring && key.count > 0) {
    call.plan = std::make_shared<CallPlan>(CallPlan{plan::make_plan(problem(key.count, reduction, spec), settings_, rank_), {}});
    call.plan->idle.push_back(std::make_unique<Execution>(call.plan->plan, session_->channel(), device::host_pool(), context_));
    if (rank_ == 0 && log_enabled(LogLevel::info)) {
      log(LogLevel::info, "plan for %d ranks over %s: %s", size_, transport_name(), call.plan->plan.describe().c_str());
    }
  }
  call.reduction = reduction;
  call.key = key;
  call.used = ++clock_;
  out = &call;
  return {};
}

void Communicator::forget_last() noexcept {
  Process::Lock lock(process_);
  last_ = nullptr;
}

void Communicator::run_empty() noexcept {
  Process::Lock lock(process_);
  last_ = nullptr;
  session_->start_empty(session_->calls());
}

std::unique_ptr<Execution> Communicator::lease(CallPlan& plan) {
  if (plan.idle.empty()) {
    plan.idle.reserve(plan.idle.capacity() + 1);  // so that giving back cannot fail
    return std::make_unique<Execution>(plan.plan, session_->channel(), device::host_pool(), context_);
  }
  std::unique_ptr<Execution> execution = std::move(plan.idle.back());
  plan.idle.pop_back();
  return execution;
}

Status Communicator::run(CallPlan& plan, const void* send, void* recv, OpaqueReduce opaque) {
  Waiter waiter;
  std::unique_ptr<Execution> execution;
  {
    Process::Lock lock(process_);
    if (!plan.idle.empty() && !process_.progress().busy()) {
      Execution& first = *plan.idle.back();
      if (session_->exchange(session_->calls(), first, send, recv, opaque, exchange_polls(), waiter.status)) {
        count(first.counters());
        last_ = &plan;
        return waiter.status;
      }
    }
    execution = lease(plan);
    session_->start(session_->calls(), *execution, send, recv, opaque, waiter);
  }
  wait(waiter.over, plan.plan.problem.bytes());
  Process::Lock lock(process_);
  count(execution->counters());
  last_ = &plan;
  plan.idle.push_back(std::move(execution));
  return waiter.status;
}

void Communicator::count(const Counters& c) noexcept {
  if (probing_) return;
  Totals& totals = process_.totals();
  ++totals.calls;
  totals.counters += c;
  last_counters_ = c;
}

// --- nonblocking calls ------------------------------------------------------------------------------

void Communicator::begin(const std::shared_ptr<CallPlan>& plan, const void* send, void* recv, OpaqueReduce opaque, Ticket* ticket) {
  if (idle_calls_.empty()) {
    all_calls_.push_back(std::make_unique<Call>(*this));
    idle_calls_.reserve(all_calls_.size());
    idle_calls_.push_back(all_calls_.back().get());
  }
  std::unique_ptr<Execution> execution = lease(*plan);
  process_.progress().add(shared_from_this());
  Call& call = *idle_calls_.back();
  idle_calls_.pop_back();
  call.plan = plan;
  call.execution = std::move(execution);
  call.ticket = ticket;
  call.calls_mpi = opaque.calls_mpi;
  if (call.calls_mpi) count_mpi_start(1);
  session_->start(session_->calls(), *call.execution, send, recv, opaque, call);
}

CallInfo Communicator::describe_last() const {
  Process::Lock lock(process_);
  if (last_ != nullptr) return describe_start(last_->plan, last_counters_, transport_name());
  CallInfo info;
  info.transport = transport_name();
  return info;
}

CallInfo describe_start(const plan::Plan& plan, const Counters& c, const char* transport) {
  CallInfo info;
  info.compressed = true;
  info.problem = plan.problem;
  info.choice = plan.choice;
  info.segment_bytes = plan.geometry.segment * plan.problem.element_bytes;
  info.transport = transport;
  info.raw_bytes = c.raw_bytes;
  info.wire_bytes = c.wire_bytes;
  info.frames = c.frames;
  info.escapes = c.escapes;
  info.overflows = c.overflows;
  return info;
}

std::uint64_t passed_on_key(MPI_Count count, MPI_Datatype datatype) {
  int size = 0;
  MPI_Aint low = 0, extent = 0;
  MPI_Type_size(datatype, &size);
  MPI_Type_get_extent(datatype, &low, &extent);
  Reduction reduction;
  const bool known = is_plain(datatype) && classify(datatype, MPI_SUM, reduction).ok();
  std::uint64_t key = mix(0, static_cast<std::uint64_t>(count));
  key = mix(key, static_cast<std::uint64_t>(size));
  key = mix(key, static_cast<std::uint64_t>(extent));
  return mix(key, known ? reduction.id : 0);
}

Status Communicator::check_passed_on(MPI_Count count, MPI_Datatype datatype) {
  const std::uint64_t key = passed_on_key(count, datatype);
  constexpr std::size_t kRemembered = 4096;
  if (passed_on_.size() >= kRemembered || !passed_on_.insert(key).second) return {};

  const plan::Problem problem{.count = 1, .dtype = Dtype::opaque, .element_bytes = 1, .op = Op::other,
                              .opaque_id = static_cast<std::uint32_t>(key >> 32), .size = size_,
                              .codec = {.codec = codec::all().front(), .params = codec::all().front()->defaults},
                              .nodes = nodes_};
  const plan::Plan plan = plan::make_plan(problem, settings_, rank_);
  Execution check(plan, session_->channel(), device::host_pool(), context_);
  check.pose_as(static_cast<std::uint64_t>(count));
  const std::byte in{};
  std::byte out{};
  const OpaqueReduce nothing{[](void*, const void*, void*, std::size_t) noexcept { return Status{}; }, nullptr};
  Waiter waiter;
  {
    Process::Lock lock(process_);
    session_->start(session_->calls(), check, &in, &out, nothing, waiter);
  }
  wait(waiter.over, 1);
  return waiter.status;
}

}  // namespace wring::runtime
