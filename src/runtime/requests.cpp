// SPDX-License-Identifier: BSD-3-Clause
// requests.cpp - MPI requests for starts: generalised requests, and what MPI asks of them.
#include <sched.h>

#include "runtime/mpi_extensions.hpp"
#include "runtime/process.hpp"
#include "runtime/progress.hpp"

namespace wring::runtime {
namespace {

/// Tickets that can be used again. MPI gives them back from any thread, whoever makes one takes them all.
std::atomic<Ticket*> g_returned{nullptr};
std::mutex g_free_mutex;
Ticket* g_free = nullptr;

Ticket* take_ticket() noexcept {
  std::lock_guard lock(g_free_mutex);
  if (g_free == nullptr) g_free = g_returned.exchange(nullptr, std::memory_order_acquire);
  if (g_free == nullptr) return new (std::nothrow) Ticket;
  Ticket* ticket = g_free;
  g_free = ticket->next;
  return ticket;
}

void give_back(Ticket* ticket) noexcept {
  ticket->plan.reset();
  ticket->next = g_returned.load(std::memory_order_relaxed);
  while (!g_returned.compare_exchange_weak(ticket->next, ticket, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

}  // namespace

Ticket* Progress::make_ticket(const char* function, MakeCode make_code, Status& status) noexcept {
  status = start_for_requests();
  if (status.is_error()) return nullptr;
  Ticket* ticket = take_ticket();
  if (ticket == nullptr) {
    status = {Code::no_memory, "no memory for a request"};
    return nullptr;
  }
  ticket->function = function;
  ticket->make_code = make_code;
  ticket->code = Code::ok;
  ticket->mpi_code = MPI_SUCCESS;
  ticket->holders.store(2, std::memory_order_relaxed);
  ticket->delivered.store(false, std::memory_order_relaxed);
  const MpiExtensions& mpi = mpi_extensions();
  const int code = mpi.grequest_start != nullptr
                       ? mpi.grequest_start(query, free_ticket, cancel, poll_request, wait_requests, ticket, &ticket->request)
                       : MPI_Grequest_start(query, free_ticket, cancel, ticket, &ticket->request);
  if (code != MPI_SUCCESS) {
    give_back(ticket);
    status = {Code::mpi_error, "MPI_Grequest_start failed", code};
    return nullptr;
  }
  return ticket;
}

void Progress::put_down(Ticket* ticket) noexcept {
  if (ticket->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) give_back(ticket);
}

void Progress::finish(Ticket* ticket, Status status) noexcept {
  ticket->code = status.code();
  ticket->detail = status.detail();
  if (status.is_error()) {
    try {
      ticket->text = status.what();
    } catch (...) {
      ticket->text.clear();
    }
  }
  ticket->next = over_;
  over_ = ticket;
  any_over_.store(true, std::memory_order_release);
}

Ticket* Progress::take_over() noexcept {
  if (over_ == nullptr || !may_call_mpi()) return nullptr;
  Ticket* list = over_;
  over_ = nullptr;
  any_over_.store(false, std::memory_order_relaxed);
  return list;
}

void Progress::deliver() noexcept {
  if (!any_over_.load(std::memory_order_acquire) || Process::in_engine()) return;
  Ticket* list = nullptr;
  {
    Process::Lock lock(process_);
    list = take_over();
  }
  complete(list);
}

void Progress::complete(Ticket* list) noexcept {
  while (list != nullptr) {
    Ticket* ticket = list;
    list = list->next;
    if (ticket->code != Code::ok) {
      ticket->mpi_code = ticket->make_code(ticket->function, {ticket->code, ticket->text.c_str(), ticket->detail});
    }
    MPI_Grequest_complete(ticket->request);
    ticket->delivered.store(true, std::memory_order_release);
    put_down(ticket);
  }
}

// --- what MPI calls ---------------------------------------------------------------------------------

int Progress::query(void* state, MPI_Status* status) noexcept {
  auto* ticket = static_cast<Ticket*>(state);
  if (ticket->plan != nullptr) ticket->plan->see(ticket->start);
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  // Open MPI looks at one, MPICH at the other.
  status->MPI_ERROR = ticket->mpi_code;
  return ticket->mpi_code;
}

int Progress::free_ticket(void* state) noexcept {
  put_down(static_cast<Ticket*>(state));  // MPI_Request_free too comes here: nobody has seen an end
  return MPI_SUCCESS;
}

int Progress::cancel(void*, int) noexcept { return MPI_SUCCESS; }  // collectives cannot be

int Progress::poll_request(void*, MPI_Status*) noexcept {
  Status status;
  if (Process* process = Process::get(status)) process->progress().poll();
  return MPI_SUCCESS;
}

int Progress::wait_requests(int count, void** states, double, MPI_Status*) noexcept {
  Status status;
  Process* process = Process::get(status);
  for (int i = 0; process != nullptr && i < count; ++i) {
    const auto* ticket = static_cast<const Ticket*>(states[i]);
    while (!ticket->delivered.load(std::memory_order_acquire)) {
      if (process->progress().poll() > 0) continue;
      // MPI must go on as well: what a peer waits for may be a message of the program's own. (A probe of
      // MPI_COMM_SELF does not reach MPICH's network.)
      int flag = 0;
      PMPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      sched_yield();
    }
  }
  return MPI_SUCCESS;
}

}  // namespace wring::runtime
