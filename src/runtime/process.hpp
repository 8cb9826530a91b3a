// SPDX-License-Identifier: BSD-3-Clause
// process.hpp - what Wring holds once per process: the lock, handles, totals, the end.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <mutex>
#include <vector>

#include "base/status.hpp"
#include "runtime/execution.hpp"

namespace wring::runtime {

class Communicator;

/// Totals of one process, printed at MPI_Finalize with WRING_STATS.
struct Totals {
  std::uint64_t calls = 0;         ///< run by the engine
  std::uint64_t passed_on = 0;     ///< run by MPI_Allreduce
  Counters counters;
  double seconds = 0;              ///< inside the engine, in calls of 64 KiB and more
};

/// Made at the first use between MPI_Init and MPI_Finalize, torn down by the delete callback of an
/// attribute of MPI_COMM_SELF, which MPI calls first thing in MPI_Finalize.
class Process {
 public:
  /// Null (with the reason in status) before MPI_Init and after MPI_Finalize.
  static Process* get(Status& status) noexcept;

  /// Holds the library's lock where the program may call from several threads at once.
  class Lock {
   public:
    explicit Lock(Process& p) noexcept : process_(p) { lock(); }
    ~Lock() { unlock(); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    void lock() noexcept { if (process_.threaded_) process_.mutex_.lock(); }
    void unlock() noexcept { if (process_.threaded_) process_.mutex_.unlock(); }
    /// Lets another thread in, if there may be one.
    void yield() noexcept { if (process_.threaded_) { unlock(); lock(); } }

   private:
    Process& process_;
  };

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

  void add(Communicator* c) { communicators_.push_back(c); }
  void remove(Communicator* c) noexcept;

 private:
  Process() = default;
  Status start() noexcept;
  void stop() noexcept;
  void print_totals() const noexcept;
  static int on_finalize(MPI_Comm, int, void* value, void*) noexcept;

  int keyval_ = MPI_KEYVAL_INVALID, finalize_keyval_ = MPI_KEYVAL_INVALID;
  MPI_Datatype float16_ = MPI_DATATYPE_NULL, bfloat16_ = MPI_DATATYPE_NULL;
  MPI_Op avg_ = MPI_OP_NULL;
  bool threaded_ = false;
  int world_rank_ = 0;
  std::mutex mutex_;
  std::vector<Communicator*> communicators_;
  Totals totals_;
};

}  // namespace wring::runtime
