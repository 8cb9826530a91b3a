// SPDX-License-Identifier: BSD-3-Clause
// communicator.hpp - what Wring keeps for one of the caller's communicators.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "runtime/datatype.hpp"
#include "runtime/process.hpp"
#include "runtime/runtime.hpp"
#include "runtime/session.hpp"

namespace wring::runtime {

/// A plan that calls share, and the executions that can run it: one, or more while nonblocking calls
/// overlap.
struct CallPlan {
  plan::Plan plan;
  std::vector<std::unique_ptr<Execution>> idle;
};

/// Waits for the end of a start, on the stack of a blocking call.
struct Waiter final : Completion {
  bool over = false;
  Status status;
  void completed(Status s) noexcept override {
    over = true;
    status = s;
  }
};

/// A call as the caller writes it, to find its plan again without looking at anything else. Only calls
/// with handles that cannot be freed and made anew as something else are kept.
struct CallKey {
  MPI_Count count = -1;  ///< no call has it
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  CodecHandle codec = 0;
  bool operator==(const CallKey&) const = default;
};

struct CachedCall {
  CallKey key;
  Reduction reduction;
  std::shared_ptr<CallPlan> plan;
  std::uint64_t used = 0;  ///< when, in calls
};

/// Links as they were measured: those of a communicator's ranks, and the same by the short way.
struct MeasuredLinks {
  plan::Link all, short_way;
};

/// Hangs on the caller's communicator as an attribute. Holds one communicator of its own with the same
/// ranks. Made by the first call, which is collective; calls after that agree on nothing.
class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  /// The attribute of comm, made if need be (collective then). An error on all ranks or none.
  static Status of(Process& process, MPI_Comm comm, Communicator*& out);
  /// The attribute of comm, or null. Local.
  static Communicator* find(const Process& process, MPI_Comm comm) noexcept;
  /// Waits until all ranks of all these communicators are here, moving traffic on meanwhile, for a few
  /// seconds at most.
  static void synchronize(const std::vector<Communicator*>& all) noexcept;
  /// Delete callback of the attribute: MPI_Comm_free, or the end of the process.
  static int on_delete(MPI_Comm, int, void* value, void* process) noexcept;

  /// MPI_COMM_NULL once the caller has freed it.
  MPI_Comm user_comm() const noexcept { return user_comm_; }
  MPI_Comm own_comm() const noexcept { return own_comm_; }
  int size() const noexcept { return size_; }
  int rank() const noexcept { return rank_; }
  const char* transport_name() const noexcept { return transport_ ? transport_->name : "none"; }
  Session& session() noexcept { return *session_; }
  Process& process() noexcept { return process_; }
  std::uint64_t context() const noexcept { return context_; }
  const plan::Settings& settings() const noexcept { return settings_; }
  /// Whether moving its starts on may call MPI.
  bool calls_mpi() const noexcept { return transport_calls_mpi_ || mpi_starts_ > 0; }
  /// Counts a start whose reduction calls MPI, or its end.
  void count_mpi_start(int change) noexcept { mpi_starts_ += change; }
  bool is_rank0() const noexcept { return rank_ == 0; }

  /// The cached call, or null.
  CachedCall* find_call(const CallKey& key) noexcept {
    CachedCall* set = &calls_[set_of(key) * kWays];
    for (std::size_t way = 0; way < kWays; ++way) {
      if (set[way].key == key) return &set[way];
    }
    return nullptr;
  }
  /// Notes that a cached call is used again.
  void use(CachedCall& call) noexcept { call.used = ++clock_; }
  plan::Problem problem(MPI_Count count, const Reduction& reduction, const codec::Spec& spec) const;
  /// Before a plan is made: measures, where that is asked for. Collective then.
  Status tune(const plan::Problem& problem, OpaqueReduce opaque);
  /// Decides about a call and keeps it; of those that share its places, the one not used for longest goes.
  Status make_call(const CallKey& key, const Reduction& reduction, const codec::Spec& spec, CachedCall*& out);
  /// Runs a plan to its end. Holds the lock but while it waits.
  Status run(CallPlan& plan, const void* send, void* recv, OpaqueReduce opaque);
  /// Begins a nonblocking call, whose end finishes the ticket. Under the lock.
  void begin(const std::shared_ptr<CallPlan>& plan, const void* send, void* recv, OpaqueReduce opaque, Ticket* ticket);
  /// Waits until `over`, which a completion under the lock sets. Not under the lock.
  void wait(const bool& over, std::uint64_t bytes) noexcept;
  /// A call without elements.
  void run_empty() noexcept;
  /// Before the first call of a kind that goes through MPI_Allreduce: makes sure that all ranks take
  /// that way, with the same count.
  Status check_passed_on(MPI_Count count, MPI_Datatype datatype);

  Status set_algorithm(const std::string& name);
  /// What the last call did. Put together only when it is asked for: calls just note the plan.
  CallInfo describe_last() const;
  void forget_last() noexcept;

  /// Notes what a start has done.
  void count(const Counters& c) noexcept;

 private:
  static constexpr std::size_t kSets = 32, kWays = 8;
  struct Call;

  Communicator(Process& process, MPI_Comm user_comm);
  Status start();
  Status agree_on_settings();
  Status open_transport();
  Status count_neighbours(transport::Bootstrap& boot);
  Status measure_network();
  Status measure_links(MeasuredLinks& links);
  Status time_calls(const plan::Problem& problem, const plan::Settings& settings, OpaqueReduce opaque, int calls, double& seconds);
  void wait_on(Process::Lock& lock, const bool& over, std::uint64_t bytes) noexcept;
  unsigned exchange_polls() const noexcept { return oversubscribed_ ? 1 : kExchangePolls; }
  std::unique_ptr<Execution> lease(CallPlan& plan);
  static std::size_t set_of(const CallKey& key) noexcept;

 public:
  ~Communicator();

 private:
  Process& process_;
  MPI_Comm user_comm_;
  MPI_Comm own_comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  bool one_host_ = false;        ///< all ranks run on this host
  bool oversubscribed_ = false;  ///< more ranks on this host than processors
  algorithm::Nodes nodes_;       ///< which ranks share one
  std::uint64_t context_ = 0;
  std::string wanted_transport_;
  /// Where figures for the choice of algorithms come from.
  enum class Tune : std::uint64_t { model, link, measure } tune_ = Tune::link;
  plan::Settings settings_;
  const transport::Transport* transport_ = nullptr;
  std::unique_ptr<Session> session_;
  std::array<CachedCall, kSets * kWays> calls_;
  std::uint64_t clock_ = 0;  ///< of uses of calls_
  std::unordered_set<std::uint64_t> passed_on_;  ///< calls that check_passed_on has seen
  std::vector<std::unique_ptr<Call>> all_calls_;  ///< nonblocking calls, running or to be used again
  std::vector<Call*> idle_calls_;
  bool transport_calls_mpi_ = false;
  bool probing_ = false;  ///< calls are the library's own, and do not count
  int mpi_starts_ = 0;
  const CallPlan* last_ = nullptr;
  Counters last_counters_;
};

/// What ranks have to agree on before a reduction goes to MPI, and what all of a correct program do.
std::uint64_t passed_on_key(MPI_Count count, MPI_Datatype datatype);

/// What a start of that plan did, for tools.
CallInfo describe_start(const plan::Plan& plan, const Counters& c, const char* transport);

}  // namespace wring::runtime
