// SPDX-License-Identifier: BSD-3-Clause
// process.cpp - begins with the first call, ends in MPI_Finalize.
#include "runtime/process.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "base/config.hpp"
#include "base/log.hpp"
#include "base/trace.hpp"
#include "runtime/bootstrap.hpp"
#include "runtime/communicator.hpp"
#include "runtime/persistent_plan.hpp"
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
  threaded_ = multiple_ = level == MPI_THREAD_MULTIPLE;
  wants_thread_ = config().progress == "thread";
  if (!wants_thread_ && config().progress != "mpi") log(LogLevel::warn, "WRING_PROGRESS=\"%s\" is neither mpi nor thread, using mpi", config().progress.c_str());
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
  progress_.stop();
  // Nobody may close its side while another rank is still in a call: all communicators, at once, so that
  // their order on different ranks does not matter.
  if (trace::enabled()) (void)trace::write(config().trace, world_rank_);
  std::vector<Communicator*> all;
  for (const auto& c : communicators_) all.push_back(c.get());
  Communicator::synchronize(all);
  for (const auto& plan : plans_.take_all()) PersistentPlan::leave(plan);
  while (!communicators_.empty()) {
    MPI_Comm_delete_attr(communicators_.back()->user_comm(), keyval_);
  }
  bury();
  transport::close_mailboxes();
  for (const transport::Transport* t : transport::all()) t->shutdown();
  device::host_pool().trim();
  MPI_Comm_free_keyval(&keyval_);
  MPI_Comm_free_keyval(&finalize_keyval_);
  MPI_Type_free(&float16_);
  MPI_Type_free(&bfloat16_);
  MPI_Op_free(&avg_);
}

std::shared_ptr<Communicator> Process::share(const Communicator* c) const noexcept {
  for (const auto& known : communicators_) {
    if (known.get() == c) return known;
  }
  return nullptr;
}

void Process::remove(const Communicator* c) noexcept {
  for (auto it = communicators_.begin(); it != communicators_.end(); ++it) {
    if (it->get() != c) continue;
    retire(std::move(*it));
    communicators_.erase(it);
    return;
  }
}

void Process::retire(std::shared_ptr<Communicator> c) noexcept {
  if (c.use_count() > 1) return;
  try {
    retired_.push_back(std::move(c));
  } catch (...) {
    new (std::nothrow) std::shared_ptr<Communicator>(c);  // rather kept for good than freed in the wrong place
  }
}

void Process::bury() noexcept {
  std::vector<std::shared_ptr<Communicator>> dead;
  {
    Lock lock(*this);
    dead.swap(retired_);
  }
}

Status Process::wait_mpi(MPI_Request& request, const char* function) noexcept {
  for (int done = 0;;) {
    const int code = PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return mpi_status(code, function);
    if (done) return {};
    bool moved = false;
    if (progress_.busy()) {
      Lock lock(*this);
      moved = progress_.advance();
    }
    if (!moved) sched_yield();
  }
}

Status Process::meet(MPI_Comm comm) noexcept {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = PMPI_Ibarrier(comm, &request);
  if (code != MPI_SUCCESS) return {Code::mpi_error, "MPI_Ibarrier failed", code};
  return wait_mpi(request, "MPI_Ibarrier");
}

void Process::print_totals() const noexcept {
  const auto mega = [](std::uint64_t bytes) { return static_cast<double>(bytes) * 1e-6; };
  const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  const Counters& c = totals_.counters;
  const double saved = mega(c.raw_bytes) - mega(c.wire_bytes);
  const double wire = std::max(0.0, c.seconds - c.seconds_encode - c.seconds_decode);
  log_raw("wring: statistics of rank %d\n"
          "  starts         %14llu   passed on to MPI %llu\n"
          "  MB, raw        %14.3f   what codec none would have sent\n"
          "  MB, sent       %14.3f   headers included; ratio %.2f\n"
          "  MB, saved      %14.3f\n"
          "  frames         %14llu   escaped blocks %llu, overflows %llu\n"
          "  s, in all      %14.6f   in starts of 64 KiB and more\n"
          "  s, encoding    %14.6f\n"
          "  s, wire        %14.6f   sending, and waiting for frames\n"
          "  s, decoding    %14.6f   additions included\n",
          world_rank_, number(totals_.calls), number(totals_.passed_on), mega(c.raw_bytes), mega(c.wire_bytes),
          c.wire_bytes ? static_cast<double>(c.raw_bytes) / static_cast<double>(c.wire_bytes) : 1.0, saved,
          number(c.frames), number(c.escapes), number(c.overflows), c.seconds, c.seconds_encode, wire, c.seconds_decode);
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
