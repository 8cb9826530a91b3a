// SPDX-License-Identifier: BSD-3-Clause
// process.cpp - begins with the first call, ends in MPI_Finalize.
#include "runtime/process.hpp"

#include <algorithm>
#include <atomic>
#include <memory>

#include "base/config.hpp"
#include "base/log.hpp"
#include "runtime/communicator.hpp"
#include "runtime/runtime.hpp"

namespace wring::runtime {
namespace {

// Created once, and again only if a program that never called before starts late; null after the end.
std::mutex g_mutex;
std::atomic<Process*> g_process{nullptr};

Process* running() noexcept { return g_process.load(std::memory_order_acquire); }

/// WRING_AVG is only a name: what reduces is the engine. MPI calls this if a program gives the handle
/// to plain MPI.
void avg_outside(void*, void*, int*, MPI_Datatype*) {
  log(LogLevel::error, "WRING_AVG works in Wring's own calls only");
  MPI_Abort(MPI_COMM_WORLD, MPI_ERR_OP);
}

}  // namespace

Status check_mpi() noexcept {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  if (!initialized) return {Code::not_initialized, "MPI is not initialised"};
  MPI_Finalized(&finalized);
  if (finalized) return {Code::not_initialized, "MPI is finalised"};
  return {};
}

Process* Process::get(Status& status) noexcept {
  if (Process* p = running()) return p;
  status = check_mpi();
  if (status.is_error()) return nullptr;
  try {
    std::lock_guard lock(g_mutex);
    if (Process* p = running()) return p;
    std::unique_ptr<Process> p(new Process);
    status = p->start();
    if (status.is_error()) return nullptr;
    g_process.store(p.get(), std::memory_order_release);
    return p.release();
  } catch (...) {
    status = {Code::no_memory, "no memory to start"};
    return nullptr;
  }
}

Status Process::start() noexcept {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  threaded_ = level == MPI_THREAD_MULTIPLE;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank_);
  set_log_rank(world_rank_);
  const bool ok =
      MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, Communicator::on_delete, &keyval_, nullptr) == MPI_SUCCESS &&
      MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize, &finalize_keyval_, nullptr) == MPI_SUCCESS &&
      MPI_Comm_set_attr(MPI_COMM_SELF, finalize_keyval_, this) == MPI_SUCCESS &&
      MPI_Type_contiguous(2, MPI_BYTE, &float16_) == MPI_SUCCESS && MPI_Type_commit(&float16_) == MPI_SUCCESS &&
      MPI_Type_contiguous(2, MPI_BYTE, &bfloat16_) == MPI_SUCCESS && MPI_Type_commit(&bfloat16_) == MPI_SUCCESS &&
      MPI_Op_create(avg_outside, 1, &avg_) == MPI_SUCCESS;
  if (!ok) return {Code::internal, "MPI refused the attribute, type or operator handles that Wring needs"};
  MPI_Type_set_name(float16_, "WRING_FLOAT16");
  MPI_Type_set_name(bfloat16_, "WRING_BFLOAT16");
  return {};
}

int Process::on_finalize(MPI_Comm, int, void* value, void*) noexcept {
  auto* p = static_cast<Process*>(value);
  p->stop();
  g_process.store(nullptr, std::memory_order_release);
  delete p;
  return MPI_SUCCESS;
}

void Process::stop() noexcept {
  if (config().stats != "0" && (world_rank_ == 0 || config().stats == "all")) print_totals();
  // Nobody may close its side while another rank is still in a call: all communicators, at once, so that
  // their order on different ranks does not matter.
  Communicator::synchronize(communicators_);
  while (!communicators_.empty()) {
    MPI_Comm_delete_attr(communicators_.back()->user_comm(), keyval_);
  }
  transport::close_mailboxes();
  for (const transport::Transport* t : transport::all()) t->shutdown();
  device::host_pool().trim();
  MPI_Comm_free_keyval(&keyval_);
  MPI_Comm_free_keyval(&finalize_keyval_);
  MPI_Type_free(&float16_);
  MPI_Type_free(&bfloat16_);
  MPI_Op_free(&avg_);
}

void Process::remove(Communicator* c) noexcept {
  communicators_.erase(std::remove(communicators_.begin(), communicators_.end(), c), communicators_.end());
}

void Process::print_totals() const noexcept {
  const auto mega = [](std::uint64_t bytes) { return static_cast<double>(bytes) * 1e-6; };
  const Counters& c = totals_.counters;
  log_raw("wring: statistics of rank %d\n"
          "  calls          %12llu   passed on to MPI_Allreduce %llu\n"
          "  raw MB         %12.3f   wire MB %.3f   ratio %.2f\n"
          "  frames         %12llu   escaped blocks %llu   overflows %llu\n"
          "  seconds        %12.6f   in calls of 64 KiB and more\n",
          world_rank_, static_cast<unsigned long long>(totals_.calls), static_cast<unsigned long long>(totals_.passed_on),
          mega(c.raw_bytes), mega(c.wire_bytes),
          c.wire_bytes ? static_cast<double>(c.raw_bytes) / static_cast<double>(c.wire_bytes) : 1.0,
          static_cast<unsigned long long>(c.frames), static_cast<unsigned long long>(c.escapes),
          static_cast<unsigned long long>(c.overflows), totals_.seconds);
}

MPI_Datatype float16_type() noexcept {
  Status status;
  const Process* p = Process::get(status);
  return p ? p->float16() : MPI_DATATYPE_NULL;
}

MPI_Datatype bfloat16_type() noexcept {
  Status status;
  const Process* p = Process::get(status);
  return p ? p->bfloat16() : MPI_DATATYPE_NULL;
}

MPI_Op avg_op() noexcept {
  Status status;
  const Process* p = Process::get(status);
  return p ? p->avg() : MPI_OP_NULL;
}

}  // namespace wring::runtime
