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

/// A plan with its running state.
struct CachedPlan {
  CachedPlan(plan::Plan&& p, transport::Channel& channel, std::uint64_t context)
      : plan(std::move(p)), execution(plan, channel, device::host_pool(), context, 0) {}
  plan::Plan plan;
  Execution execution;
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
  std::unique_ptr<CachedPlan> plan;
  std::uint64_t used = 0;  ///< when, in calls
};

/// Hangs on the caller's communicator as an attribute. Holds one communicator of its own with the same
/// ranks. Made by the first call, which is collective; calls after that agree on nothing.
class Communicator {
 public:
  /// The attribute of comm, made if need be (collective then). Null status error on all ranks or none.
  static Status of(Process& process, MPI_Comm comm, Communicator*& out);
  /// The attribute of comm, or null. Local.
  static Communicator* find(const Process& process, MPI_Comm comm) noexcept;
  /// Waits until all ranks of all these communicators are here, moving traffic on meanwhile, for a few
  /// seconds at most.
  static void synchronize(const std::vector<Communicator*>& all) noexcept;
  /// Delete callback of the attribute: MPI_Comm_free, or the end of the process.
  static int on_delete(MPI_Comm, int, void* value, void* process) noexcept;

  MPI_Comm user_comm() const noexcept { return user_comm_; }
  int size() const noexcept { return size_; }
  int rank() const noexcept { return rank_; }
  const char* transport_name() const noexcept { return transport_ ? transport_->name : "none"; }
  Session& session() noexcept { return *session_; }

  /// The cached call, or null.
  CachedCall* find_call(const CallKey& key) noexcept {
    CachedCall* set = &calls_[set_of(key) * kWays];
    for (std::size_t way = 0; way < kWays; ++way) {
      if (!(set[way].key == key)) continue;
      set[way].used = ++clock_;
      return &set[way];
    }
    return nullptr;
  }
  /// Decides about a call and keeps it; of those that share its places, the one not used for longest goes.
  Status make_call(const CallKey& key, const Reduction& reduction, const codec::Spec& spec, CachedCall*& out);
  /// Runs a plan to its end. Holds the lock but while it waits.
  Status run(CachedPlan& plan, const void* send, void* recv, OpaqueReduce opaque) noexcept;
  /// A call without elements.
  void run_empty() noexcept;
  /// Before the first call of a kind that goes through MPI_Allreduce: makes sure that all ranks take
  /// that way, with the same count.
  Status check_passed_on(MPI_Count count, MPI_Datatype datatype);

  Status set_algorithm(const std::string& name);
  /// What the last call did. Put together only when it is asked for: calls just note the plan.
  CallInfo describe_last() const;
  void forget_last() noexcept { last_ = nullptr; }

 private:
  static constexpr std::size_t kSets = 32, kWays = 8;

  Communicator(Process& process, MPI_Comm user_comm) : process_(process), user_comm_(user_comm) {}
  ~Communicator();
  Status start();
  Status agree_on_settings();
  Status open_transport();
  Status count_neighbours(transport::Bootstrap& boot);
  Status wait_done(std::uint64_t bytes) noexcept;
  static std::size_t set_of(const CallKey& key) noexcept;

  Process& process_;
  MPI_Comm user_comm_;
  MPI_Comm own_comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  bool one_host_ = false;        ///< all ranks run on this host
  bool oversubscribed_ = false;  ///< more ranks on this host than processors
  std::uint64_t context_ = 0;
  std::string wanted_transport_;
  plan::Settings settings_;
  const transport::Transport* transport_ = nullptr;
  std::unique_ptr<Session> session_;
  std::array<CachedCall, kSets * kWays> calls_;
  std::uint64_t clock_ = 0;  ///< of uses of calls_
  std::unordered_set<std::uint64_t> passed_on_;  ///< calls that check_passed_on has seen
  const CachedPlan* last_ = nullptr;
};

}  // namespace wring::runtime
