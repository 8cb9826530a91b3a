// SPDX-License-Identifier: BSD-3-Clause
// persistent_plan.hpp - what stands behind an MPIX_Plan.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/arguments.hpp"
#include "runtime/communicator.hpp"
#include "runtime/passed_on.hpp"
#include "runtime/plan_hints.hpp"

namespace wring::runtime {

/// An all-reduce of fixed buffers. Of its ways, one: through the engine, with a lane of its own; by MPI, on a
/// communicator of its own, as starts may come in another order on other ranks; or nothing to be done with
/// others, for lack of elements or ranks.
class PersistentPlan final : public Completion {
 public:
  /// Collective over a.comm: fails on all ranks or on none.
  static Status create(Process& process, const Arguments& a, MPI_Info info, std::shared_ptr<PersistentPlan>& out);
  ~PersistentPlan();
  PersistentPlan(const PersistentPlan&) = delete;
  PersistentPlan& operator=(const PersistentPlan&) = delete;

  bool active() const noexcept { return progress_->active(); }
  MPI_Comm user_comm() const noexcept { return communicator_ ? communicator_->user_comm() : passed_on_comm_; }

  // Not under the lock.
  Status start();
  /// Waits for the running start; its error, ok if there is none.
  Status wait();
  /// As wait, if it is over already.
  Status test(bool& over);
  Status request(MPI_Request* request, MakeCode make_code);
  /// In MPI_Finalize: what still runs keeps its memory for good.
  static void leave(const std::shared_ptr<PersistentPlan>& plan) noexcept;

  // Under the lock.
  std::string describe() const;
  PlanStats stats() const noexcept;
  CallInfo last_start() const;
  void set_next_start(std::uint32_t start) noexcept {
    if (lane_ != nullptr) lane_->next_start = start;
  }

  void completed(Status status) noexcept override;

 private:
  enum class Way : std::uint8_t { engine, mpi, alone, empty };

  PersistentPlan(Process& process, const Arguments& a) : process_(process), arguments_(a) {}
  Status set_up(const Status& mine, const PlanHints& hints);
  Status agree(Status mine, PlanHints& hints, plan::Settings& settings);
  Status find_mismatch(long long way, long long key);
  Status begin();
  Status see_end() noexcept;
  Status tell(Status status) noexcept;
  bool be_busy() noexcept;

  Process& process_;
  Arguments arguments_;
  Reduction reduction_;
  Way way_ = Way::empty;
  std::shared_ptr<Communicator> communicator_;  ///< null: an inter-communicator
  MPI_Comm passed_on_comm_ = MPI_COMM_NULL;     ///< of the way through MPI
  PassedOnCall passed_on_;
  Lane* lane_ = nullptr;
  std::unique_ptr<plan::Plan> plan_;
  std::unique_ptr<Execution> execution_;

  std::shared_ptr<PlanProgress> progress_ = std::make_shared<PlanProgress>();
  std::vector<Ticket*> tickets_;  ///< of the running start
  bool over_ = true;              ///< the last start has ended
  bool busy_ = false;             ///< others move it on
  Status status_;                 ///< how
  std::uint64_t ended_ = 0;
  Counters counters_, last_counters_;
};

}  // namespace wring::runtime
