// SPDX-License-Identifier: BSD-3-Clause
// wait.cpp - how a blocking call waits: spin a little where that pays, then sleep in the transport.
#include <sched.h>

#include "base/clock.hpp"
#include "base/config.hpp"
#include "base/trace.hpp"
#include "runtime/communicator.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace wring::runtime {
namespace {

/// What a wait does before it sleeps: so many polls in a row, then so many with the processor given to
/// whoever wants it in between, which is next to nothing where nobody does.
struct Patience {
  int polls, yields;
};
/// Neighbours answer sooner than a sleeper wakes (some 5 us). If one does not it may have been put on this very
/// processor, by other work on the host: then only yielding helps.
constexpr Patience kNeighbours{1000, 1000};
/// Between hosts an answer takes longer than a sleeper needs to wake, and the processor may be wanted: by
/// the kernel that brings the frame, or by a rank of a neighbour that shares it.
constexpr Patience kNetwork{300, 0};
/// A long message leaves the processor to whoever encodes or sends.
constexpr Patience kNetworkLarge{100, 0};
/// With more ranks than processors each poll first lets another rank run: to whoever is waited for, that
/// is the fastest way, as sleeping and waking cost two switches and system calls more.
constexpr Patience kOversubscribed{0, 500};
/// Polls before the first pause, which takes longer than a poll and is only worth it in a long wait.
constexpr int kPollsAtOnce = 100;
constexpr std::uint64_t kSmallBytes = 64 * 1024;

/// Longest sleep: only to look at the clock for WRING_TIMEOUT, and in case a wake-up is lost.
constexpr int kSleepMicroseconds = 1000;
/// While other communicators have something to do, which cannot be slept for.
constexpr int kShortSleepMicroseconds = 50;

/// How long a call that failed tries to tell others.
constexpr double kTellSeconds = 0.5;

void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#endif
}

}  // namespace

void Communicator::wait(const bool& over, std::uint64_t bytes) noexcept {
  Process::Lock lock(process_);
  if (!over) session_->poll_exchange(exchange_polls());
  if (!over || session_->telling()) wait_on(lock, over, bytes);
}

void Communicator::wait_on(Process::Lock& lock, const bool& over, std::uint64_t bytes) noexcept {
  const Patience& patience = oversubscribed_ ? kOversubscribed : one_host_ ? kNeighbours : bytes > kSmallBytes ? kNetworkLarge : kNetwork;
  const double timeout = config().timeout;
  Progress& others = process_.progress();
  int idle = 0;
  double idle_since = 0;  // only while a trace is kept
  const Process::Waiting waiting(process_);
  while (!over) {
    bool moved = session_->progress();
    const bool elsewhere = others.busy_beside(*this);
    if (elsewhere) moved = others.advance() || moved;
    if (idle_since > 0 && (moved || over)) {
      trace::record({.name = "wait", .begin = idle_since, .end = now(), .lane = 0, .start = 0, .tile = 0, .peer = -1, .bytes = 0, .row = trace::Span::Row::waits});
      idle_since = 0;
    }
    if (moved) {
      idle = 0;
      lock.yield();
      continue;
    }
    if (over) break;
    if (trace::enabled() && idle_since == 0) idle_since = now();
    if (idle++ < patience.polls + patience.yields) {
      lock.yield();
      if (idle > patience.polls || process_.waiting() > 1) {  // another thread may have what this one waits for
        sched_yield();
      } else if (idle > kPollsAtOnce) {
        relax();
      }
      continue;
    }
    session_->check_time(timeout);
    const bool sending = session_->sending();
    transport::Channel& channel = session_->channel();
    const int limit = elsewhere ? kShortSleepMicroseconds : kSleepMicroseconds;
    lock.unlock();
    channel.wait(limit, sending);
    lock.lock();
  }
  // Whoever must be told of an error should not have to wait for the next call; but nobody need listen.
  if (session_->telling()) {
    for (const double limit = now() + kTellSeconds; session_->telling() && now() < limit;) {
      if (!session_->progress()) sched_yield();
      lock.yield();
    }
  }
}

}  // namespace wring::runtime
