// SPDX-License-Identifier: BSD-3-Clause
// plan_handle.cpp - from MPIX_Plan handles to plans.
#include <optional>

#include "runtime/persistent_plan.hpp"
#include "runtime/process.hpp"

namespace wring::runtime {
namespace {

/// The plan of a handle, kept from going away while a call uses it.
class Found {
 public:
  /// An error for a null or freed one.
  Status find(PlanHandle handle) {
    Status status;
    Process* process = Process::get(status);
    if (process == nullptr) return status;
    Process::Lock lock(*process);
    const auto* found = process->plans().find(handle);
    if (found == nullptr) return bad(Arg::request, "the plan is MPIX_PLAN_NULL, or was freed");
    plan_ = found->get();
    if (process->threaded()) keep_ = *found;  // else nobody can free it meanwhile
    return {};
  }
  PersistentPlan* operator->() const noexcept { return plan_; }

 private:
  PersistentPlan* plan_ = nullptr;
  std::shared_ptr<PersistentPlan> keep_;
};

}  // namespace

Status create_plan(const Arguments& a, MPI_Info info, PlanHandle& out) {
  Status status;
  Process* process = Process::get(status);
  if (process == nullptr) return status;
  if (a.comm == MPI_COMM_NULL) return bad(Arg::comm, "the communicator is MPI_COMM_NULL");
  std::shared_ptr<PersistentPlan> plan;
  WRING_TRY(PersistentPlan::create(*process, a, info, plan));
  Process::Lock lock(*process);
  const PlanHandle handle = process->plans().insert(std::move(plan));
  if (handle == 0) return {Code::no_memory, "too many plans"};
  out = handle;
  return {};
}

MPI_Comm plan_comm(PlanHandle handle) noexcept {
  Found plan;
  return plan.find(handle).ok() ? plan->user_comm() : MPI_COMM_NULL;
}

Status start_plan(PlanHandle handle) {
  Found plan;
  WRING_TRY(plan.find(handle));
  return plan->start();
}

Status wait_plan(PlanHandle handle) {
  Found plan;
  WRING_TRY(plan.find(handle));
  return plan->wait();
}

Status test_plan(PlanHandle handle, bool& over) {
  Found plan;
  WRING_TRY(plan.find(handle));
  return plan->test(over);
}

Status request_plan(PlanHandle handle, MPI_Request* request, MakeCode make_code) {
  Found plan;
  WRING_TRY(plan.find(handle));
  return plan->request(request, make_code);
}

Status free_plan(PlanHandle handle) {
  {
    Found plan;
    WRING_TRY(plan.find(handle));
    if (plan->active()) return bad(Arg::request, "the plan is active");
  }
  Status status;
  Process* process = Process::get(status);
  if (process == nullptr) return status;
  std::optional<std::shared_ptr<PersistentPlan>> gone;
  {
    Process::Lock lock(*process);
    gone = process->plans().erase(handle);
  }
  gone.reset();  // not under the lock
  process->bury();
  return {};
}

Status describe_plan(PlanHandle handle, std::string& out) {
  Found plan;
  WRING_TRY(plan.find(handle));
  out = plan->describe();
  return {};
}

Status plan_stats(PlanHandle handle, PlanStats& out) {
  Found plan;
  WRING_TRY(plan.find(handle));
  Status status;
  Process::Lock lock(*Process::get(status));
  out = plan->stats();
  return {};
}

CallInfo last_start(PlanHandle handle) {
  Found plan;
  if (plan.find(handle).is_error()) return {};
  Status status;
  Process::Lock lock(*Process::get(status));
  return plan->last_start();
}

Status set_next_plan_start(PlanHandle handle, std::uint32_t start) {
  Found plan;
  WRING_TRY(plan.find(handle));
  Status status;
  Process::Lock lock(*Process::get(status));
  plan->set_next_start(start);
  return {};
}

}  // namespace wring::runtime
