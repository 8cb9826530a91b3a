// SPDX-License-Identifier: BSD-3-Clause
// plan_handle.cpp - from MPIX_Plan handles to plans.
#include "runtime/persistent_plan.hpp"
#include "runtime/process.hpp"

namespace wring::runtime {
namespace {

/// The plan of a handle; an error for a null or freed one.
Status find(PlanHandle handle, std::shared_ptr<PersistentPlan>& out) {
  Status status;
  Process* process = Process::get(status);
  if (process == nullptr) return status;
  Process::Lock lock(*process);
  const auto* found = process->plans().find(handle);
  if (found == nullptr) return bad(Arg::request, "the plan is MPIX_PLAN_NULL, or was freed");
  out = *found;
  return {};
}

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
  std::shared_ptr<PersistentPlan> plan;
  return find(handle, plan).ok() ? plan->user_comm() : MPI_COMM_NULL;
}

Status start_plan(PlanHandle handle) {
  std::shared_ptr<PersistentPlan> plan;
  WRING_TRY(find(handle, plan));
  return plan->start();
}

Status wait_plan(PlanHandle handle) {
  std::shared_ptr<PersistentPlan> plan;
  WRING_TRY(find(handle, plan));
  return plan->wait();
}

Status test_plan(PlanHandle handle, bool& over) {
  std::shared_ptr<PersistentPlan> plan;
  WRING_TRY(find(handle, plan));
  return plan->test(over);
}

Status request_plan(PlanHandle handle, MPI_Request* request, MakeCode make_code) {
  std::shared_ptr<PersistentPlan> plan;
  WRING_TRY(find(handle, plan));
  return plan->request(request, make_code);
}

Status free_plan(PlanHandle handle) {
  std::shared_ptr<PersistentPlan> plan;
  WRING_TRY(find(handle, plan));
  if (plan->active()) return bad(Arg::request, "the plan is active");
  Status status;
  Process* process = Process::get(status);
  if (process == nullptr) return status;
  {
    Process::Lock lock(*process);
    (void)process->plans().erase(handle);  // `plan` still holds it
  }
  plan.reset();
  process->bury();
  return {};
}

Status describe_plan(PlanHandle handle, std::string& out) {
  std::shared_ptr<PersistentPlan> plan;
  WRING_TRY(find(handle, plan));
  out = plan->describe();
  return {};
}

Status plan_stats(PlanHandle handle, PlanStats& out) {
  std::shared_ptr<PersistentPlan> plan;
  WRING_TRY(find(handle, plan));
  Status status;
  Process::Lock lock(*Process::get(status));
  out = plan->stats();
  return {};
}

CallInfo last_start(PlanHandle handle) {
  std::shared_ptr<PersistentPlan> plan;
  if (find(handle, plan).is_error()) return {};
  Status status;
  Process::Lock lock(*Process::get(status));
  return plan->last_start();
}

Status set_next_plan_start(PlanHandle handle, std::uint32_t start) {
  std::shared_ptr<PersistentPlan> plan;
  WRING_TRY(find(handle, plan));
  Status status;
  Process::Lock lock(*Process::get(status));
  plan->set_next_start(start);
  return {};
}

}  // namespace wring::runtime
