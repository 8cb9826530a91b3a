// SPDX-License-Identifier: BSD-3-Clause
// progress.cpp - the hook in Open MPI's progress loop, and the progress thread.
#include "runtime/progress.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "base/config.hpp"
#include "runtime/communicator.hpp"
#include "runtime/mpi_extensions.hpp"
#include "runtime/passed_on.hpp"
#include "runtime/process.hpp"

namespace wring::runtime {
namespace {

/// Polls without result before the thread sleeps in a transport.
constexpr int kThreadSpins = 200;
constexpr int kSleepMicroseconds = 1000;
/// With more than one communicator only one can be slept in.
constexpr int kShortSleepMicroseconds = 50;

thread_local bool t_progress_thread = false;

/// Open MPI's loop gives no argument to those it calls.
std::atomic<Progress*> g_hooked{nullptr};

int on_opal_progress() noexcept {
  Progress* p = g_hooked.load(std::memory_order_acquire);
  return p != nullptr ? p->poll() : 0;
}

}  // namespace

// --- means ------------------------------------------------------------------------------------------

bool Progress::hook() noexcept {
  if (hooked_.load(std::memory_order_acquire)) return true;
  if (mpi_extensions().opal_progress_register == nullptr) return false;
  std::lock_guard lock(start_mutex_);
  if (hooked_) return true;
  g_hooked.store(this, std::memory_order_release);
  if (mpi_extensions().opal_progress_register(on_opal_progress) == 0) {
    hooked_.store(true, std::memory_order_release);
  } else {
    g_hooked.store(nullptr, std::memory_order_release);
  }
  return hooked_;
}

Status Progress::start_for_requests() noexcept {
  if (mpi_extensions().grequest_start != nullptr || hook()) return {};
  if (process_.multiple()) return start_thread();
  return {Code::unsupported, "this MPI needs MPI_THREAD_MULTIPLE for requests of Wring's calls"};
}

Status Progress::start_thread() noexcept {
  if (has_thread_.load(std::memory_order_acquire)) return {};
  std::lock_guard lock(start_mutex_);
  if (has_thread_) return {};
  process_.set_threaded();
  stopping_.store(false);
  try {
    thread_ = std::thread([this] { run_thread(); });
  } catch (...) {
    return {Code::no_memory, "the progress thread cannot be started"};
  }
  has_thread_.store(true, std::memory_order_release);
  return {};
}

void Progress::stop() noexcept {
  if (has_thread_) {
    {
      std::lock_guard lock(sleep_mutex_);
      stopping_.store(true);
    }
    wake_.notify_all();
    thread_.join();
    has_thread_ = false;
  }
  if (hooked_) {
    mpi_extensions().opal_progress_unregister(on_opal_progress);
    g_hooked.store(nullptr, std::memory_order_release);
    hooked_ = false;
  }
}

bool Progress::may_call_mpi() const noexcept { return !t_progress_thread || process_.multiple(); }

// --- what is busy -----------------------------------------------------------------------------------

void Progress::add(const std::shared_ptr<Communicator>& c) {
  const auto it = std::find_if(busy_.begin(), busy_.end(), [&](const Busy& b) { return b.communicator == c; });
  if (it != busy_.end()) {
    ++it->starts;
    return;
  }
  busy_.push_back({c, 1});
  busy_count_.store(static_cast<int>(busy_.size()), std::memory_order_release);
  if (!has_thread_.load(std::memory_order_acquire)) return;
  { std::lock_guard lock(sleep_mutex_); }
  wake_.notify_one();
}

void Progress::remove(Communicator& c) noexcept {
  const auto it = std::find_if(busy_.begin(), busy_.end(), [&](const Busy& b) { return b.communicator.get() == &c; });
  if (it == busy_.end() || --it->starts > 0) return;
  process_.retire(std::move(it->communicator));
  busy_.erase(it);
  busy_count_.store(static_cast<int>(busy_.size()), std::memory_order_release);
}

bool Progress::advance() noexcept {
  bool moved = false;
  const bool mpi = may_call_mpi();
  const double timeout = config().timeout;
  for (std::size_t i = 0; i < busy_.size();) {
    Communicator* const c = busy_[i].communicator.get();
    if (mpi || !c->calls_mpi()) {
      if (c->session().progress()) {
        moved = true;
      } else if (!t_progress_thread) {  // somebody looks after it, who may be waiting
        c->session().check_time(timeout);
      }
    }
    if (i < busy_.size() && busy_[i].communicator.get() == c) ++i;  // else it is not busy any more
  }
  if (!mpi) return moved;
  for (std::size_t i = 0; i < passed_on_.size();) {
    if (!passed_on_[i]->advance()) {
      ++i;
      continue;
    }
    passed_on_.erase(passed_on_.begin() + static_cast<std::ptrdiff_t>(i));
    passed_on_count_.store(static_cast<int>(passed_on_.size()), std::memory_order_release);
    moved = true;
  }
  return moved;
}

int Progress::poll() noexcept {
  if (!busy() && !any_over_.load(std::memory_order_acquire)) return 0;
  Ticket* over = nullptr;
  bool moved = false;
  {
    Process::TryLock lock(process_);
    if (!lock) return 0;
    moved = advance();
    over = take_over();
  }
  complete(over);
  return moved || over != nullptr ? 1 : 0;
}

// --- the thread -------------------------------------------------------------------------------------

void Progress::run_thread() noexcept {
  t_progress_thread = true;
  int idle = 0;
  while (!stopping_.load(std::memory_order_acquire)) {
    if (busy_count_.load(std::memory_order_acquire) == 0) {
      std::unique_lock lock(sleep_mutex_);
      wake_.wait(lock, [this] { return stopping_.load() || busy_count_.load() > 0; });
      idle = 0;
      continue;
    }
    std::shared_ptr<Communicator> sleep_in;
    int limit = kSleepMicroseconds;
    bool sending = false;
    {
      Process::Lock lock(process_);
      idle = advance() ? 0 : idle + 1;
      if (idle > kThreadSpins) {
        for (const Busy& b : busy_) {
          if (!b.communicator->calls_mpi()) sleep_in = b.communicator;
        }
        if (sleep_in != nullptr) sending = sleep_in->session().sending();
        if (busy_.size() > 1) limit = kShortSleepMicroseconds;
      }
    }
    deliver();
    if (sleep_in != nullptr) {
      sleep_in->session().channel().wait(limit, sending);
      Process::Lock lock(process_);
      process_.retire(std::move(sleep_in));
    } else if (idle > kThreadSpins) {
      usleep(kShortSleepMicroseconds);  // all of it needs MPI
    } else if (idle > 0) {
      sched_yield();
    }
  }
}

}  // namespace wring::runtime
