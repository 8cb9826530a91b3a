// SPDX-License-Identifier: BSD-3-Clause
// process.hpp - what Wring holds once per process: the lock, handles, totals, the end.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/handle_table.hpp"
#include "base/status.hpp"
#include "runtime/execution.hpp"
#include "runtime/progress.hpp"

namespace wring::runtime {

class Communicator;

/// Totals of one process, printed at MPI_Finalize with WRING_STATS.
struct Totals {
  std::uint64_t calls = 0;         ///< starts run by the engine, that have ended
  std::uint64_t passed_on = 0;     ///< run by MPI's all-reduce
  Counters counters;
};

/// Made at the first use between MPI_Init and MPI_Finalize, torn down by the delete callback of an
/// attribute of MPI_COMM_SELF, which MPI calls first thing in MPI_Finalize.
class Process {
 public:
  /// Null (with the reason in status) before MPI_Init and after MPI_Finalize.
  static Process* get(Status& status) noexcept;

  /// Holds the library's lock where several threads may call at once; always marks the thread as being in
  /// the engine, for whoever comes again from inside MPI.
  class Lock {
   public:
    explicit Lock(Process& p) noexcept : process_(p) { lock(); }
    ~Lock() { unlock(); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    void lock() noexcept {
      if (process_.threaded_) process_.mutex_.lock();
      t_in_engine = true;
    }
    void unlock() noexcept {
      t_in_engine = false;
      if (process_.threaded_) process_.mutex_.unlock();
    }
    /// Lets another thread in, if there may be one.
    void yield() noexcept { if (process_.threaded_) { unlock(); lock(); } }

   private:
    Process& process_;
  };

  /// Takes the lock unless somebody, perhaps this thread, has it.
  class TryLock {
   public:
    explicit TryLock(Process& p) noexcept : process_(p) {
      if (t_in_engine || (p.threaded_ && !p.mutex_.try_lock())) return;
      t_in_engine = held_ = true;
    }
    ~TryLock() {
      if (!held_) return;
      t_in_engine = false;
      if (process_.threaded_) process_.mutex_.unlock();
    }
    TryLock(const TryLock&) = delete;
    TryLock& operator=(const TryLock&) = delete;
    explicit operator bool() const noexcept { return held_; }

   private:
    Process& process_;
    bool held_ = false;
  };

  /// Whether this thread holds the lock.
  static bool in_engine() noexcept { return t_in_engine; }
  /// Whether any thread may call MPI.
  bool multiple() const noexcept { return multiple_; }
  /// Whether another thread may be in the library.
  bool threaded() const noexcept { return threaded_; }
  /// WRING_PROGRESS=thread.
  bool wants_thread() const noexcept { return wants_thread_; }
  /// From now on there is a thread of Wring's own. Not under the lock.
  void set_threaded() noexcept {
    if (!threaded_) threaded_ = true;  // only while there is one thread
  }

  /// Counts the threads that wait. Made and ended under the lock.
  class Waiting {
   public:
    explicit Waiting(Process& p) noexcept : process_(p) { ++p.waiting_; }
    ~Waiting() { --process_.waiting_; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    Process& process_;
  };
  int waiting() const noexcept { return waiting_; }

  /// Attribute key of communicators; its delete callback destroys the Communicator.
  int keyval() const noexcept { return keyval_; }
  MPI_Datatype float16() const noexcept { return float16_; }
  MPI_Datatype bfloat16() const noexcept { return bfloat16_; }
  MPI_Op avg() const noexcept { return avg_; }
  /// Under the lock.
  Totals& totals() noexcept { return totals_; }
  void count_passed_on() noexcept {
    Lock lock(*this);
    ++totals_.passed_on;
  }

  Progress& progress() noexcept { return progress_; }

  // Under the lock.
  HandleTable<std::shared_ptr<PersistentPlan>>& plans() noexcept { return plans_; }
  void add(std::shared_ptr<Communicator> c) { communicators_.push_back(std::move(c)); }
  std::shared_ptr<Communicator> share(const Communicator* c) const noexcept;
  /// Gives a communicator up. The last to do so may be in no place to free an MPI communicator: see bury().
  void remove(const Communicator* c) noexcept;
  void retire(std::shared_ptr<Communicator> c) noexcept;

  // Not under the lock; everything that is on its way goes on meanwhile.
  /// Waits for a request of MPI's.
  Status wait_mpi(MPI_Request& request, const char* function) noexcept;
  /// Waits until all ranks of comm are here.
  Status meet(MPI_Comm comm) noexcept;

  /// Ends communicators that nobody uses any more. In calls of the program, not under the lock.
  void bury() noexcept;

 private:
  Process() noexcept : progress_(*this) {}
  Status start() noexcept;
  void stop() noexcept;
  void print_totals() const noexcept;
  static int on_finalize(MPI_Comm, int, void* value, void*) noexcept;

  int keyval_ = MPI_KEYVAL_INVALID, finalize_keyval_ = MPI_KEYVAL_INVALID;
  MPI_Datatype float16_ = MPI_DATATYPE_NULL, bfloat16_ = MPI_DATATYPE_NULL;
  MPI_Op avg_ = MPI_OP_NULL;
  static constinit inline thread_local bool t_in_engine [[gnu::tls_model("initial-exec")]] = false;
  bool threaded_ = false, multiple_ = false, wants_thread_ = false;
  int world_rank_ = 0, waiting_ = 0;
  std::mutex mutex_;
  Progress progress_;
  std::vector<std::shared_ptr<Communicator>> communicators_;
  std::vector<std::shared_ptr<Communicator>> retired_;
  HandleTable<std::shared_ptr<PersistentPlan>> plans_{0x97a7};
  Totals totals_;
};

}  // namespace wring::runtime
