// SPDX-License-Identifier: BSD-3-Clause
// progress.hpp - moves on what no caller waits for, and completes MPI requests.
//
// Nonblocking calls and plans that were started must go on while the program is somewhere else:
//   - inside Wring's own calls, always;
//   - inside MPI's: Open MPI calls us from its progress loop (opal_progress_register); MPICH asks the very
//     request that is waited for or tested (MPIX_Grequest_start);
//   - by itself, in a thread, with WRING_PROGRESS=thread.
// None of these may block, and the first two come again from inside MPI calls that the engine itself makes:
// whoever finds the engine entered goes away.
#pragma once

#include <mpi.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/status.hpp"
#include "runtime/runtime.hpp"

namespace wring::runtime {

class Communicator;
class PassedOnCall;
class PersistentPlan;
class Process;

/// How far a plan is: starts are numbered from 1.
struct PlanProgress {
  std::atomic<std::uint64_t> started{0};  ///< the last one begun
  std::atomic<std::uint64_t> seen{0};     ///< the last one whose end the caller has seen

  bool active() const noexcept { return started.load() != seen.load(); }
  void see(std::uint64_t start) noexcept {
    std::uint64_t before = seen.load();
    while (before < start && !seen.compare_exchange_weak(before, start)) {
    }
  }
};

/// What stands behind an MPI request that Wring gave to the caller. Of two holders, the engine until it has
/// completed the request, and MPI until it has freed it, the last gives it back.
struct Ticket {
  MPI_Request request = MPI_REQUEST_NULL;
  /// Of a plan's start: whose end has been seen once MPI looks at this. Null for calls.
  std::shared_ptr<PlanProgress> plan;
  std::uint64_t start = 0;
  const char* function = "";
  MakeCode make_code = nullptr;
  Code code = Code::ok;  ///< how the start ended, with the text below
  int detail = 0;
  std::string text;
  int mpi_code = MPI_SUCCESS;
  std::atomic<int> holders{0};
  std::atomic<bool> delivered{false};
  Ticket* next = nullptr;
};

class Progress {
 public:
  explicit Progress(Process& process) noexcept : process_(process) {}
  ~Progress() { stop(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Not under the lock; any of these again does nothing more.
  /// Has an Open MPI call us from its progress loop; whether it does.
  bool hook() noexcept;
  /// Finds out how this MPI can be helped. unsupported if requests cannot be completed.
  Status start_for_requests() noexcept;
  /// Starts the thread.
  Status start_thread() noexcept;
  bool has_thread() const noexcept { return has_thread_.load(std::memory_order_relaxed); }
  /// Ends thread and hook. Not under the lock.
  void stop() noexcept;

  // Under the lock.
  /// From now on the communicator has a start that nobody waits for; as often as remove.
  void add(const std::shared_ptr<Communicator>& c);
  void remove(Communicator& c) noexcept;
  void add(PassedOnCall& call) {
    passed_on_.push_back(&call);
    passed_on_count_.store(static_cast<int>(passed_on_.size()), std::memory_order_release);
  }
  bool busy() const noexcept { return busy_count_.load(std::memory_order_acquire) + passed_on_count_.load(std::memory_order_acquire) > 0; }
  /// Whether anything but that communicator's session is to be moved on.
  bool busy_beside(const Communicator& c) const noexcept {
    return !passed_on_.empty() || busy_.size() > 1 || (busy_.size() == 1 && busy_.front().communicator.get() != &c);
  }
  /// Moves all of them on; whether anything happened.
  bool advance() noexcept;
  /// The request of a start that is over; completed by the next deliver().
  void finish(Ticket* ticket, Status status) noexcept;

  // Not under the lock.
  /// Completes the requests of what is over, if this thread may call MPI and is not in the engine.
  void deliver() noexcept;
  /// advance() and deliver(), if nobody is in the engine. From inside MPI.
  int poll() noexcept;

  /// A new request. Null if there is no memory. The caller holds it for the engine.
  Ticket* make_ticket(const char* function, MakeCode make_code, Status& status) noexcept;

 private:
  static void put_down(Ticket* ticket) noexcept;
  void complete(Ticket* list) noexcept;
  void run_thread() noexcept;
  Ticket* take_over() noexcept;
  bool may_call_mpi() const noexcept;
  static int query(void* state, MPI_Status* status) noexcept;
  static int free_ticket(void* state) noexcept;
  static int cancel(void* state, int complete) noexcept;
  static int poll_request(void* state, MPI_Status* status) noexcept;
  static int wait_requests(int count, void** states, double timeout, MPI_Status* status) noexcept;

  Process& process_;
  struct Busy {
    std::shared_ptr<Communicator> communicator;
    int starts;
  };
  std::vector<Busy> busy_;
  std::atomic<int> busy_count_{0};
  std::vector<PassedOnCall*> passed_on_;
  std::atomic<int> passed_on_count_{0};
  Ticket* over_ = nullptr;  ///< to be delivered
  std::atomic<bool> any_over_{false};

  std::mutex start_mutex_;  ///< of the three below, while they are made
  std::atomic<bool> hooked_{false}, has_thread_{false};
  std::thread thread_;
  std::mutex sleep_mutex_;
  std::condition_variable wake_;
  std::atomic<bool> stopping_{false};
};

}  // namespace wring::runtime
