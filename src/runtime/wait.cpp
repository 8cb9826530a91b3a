// SPDX-License-Identifier: BSD-3-Clause
// wait.cpp - how a blocking call waits: spin a little where that pays, then sleep in the transport.
#include <sched.h>

#include "base/clock.hpp"
#include "base/config.hpp"
#include "base/log.hpp"
#include "runtime/communicator.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace wring::runtime {
namespace {

/// Polls without result before sleeping, one some 50 ns. A short message is answered sooner than a
/// sleeper wakes (some 5 us); a long one leaves the processor to whoever encodes or sends.
constexpr int kSpinsSmall = 20000;
constexpr int kSpinsLarge = 100;
/// Between hosts an answer takes longer than a sleeper needs to wake, and the processor may be wanted: by
/// the kernel that brings the frame, or by a rank of a neighbour that shares it.
constexpr int kSpinsNetwork = 300;
/// With more ranks than processors each poll first lets another rank run: to whoever is waited for, that
/// is the fastest way, as sleeping and waking cost two switches and system calls more.
constexpr int kYields = 500;
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
  const int spins = oversubscribed_ ? kYields : bytes > kSmallBytes ? kSpinsLarge : one_host_ ? kSpinsSmall : kSpinsNetwork;
  const double timeout = config().timeout;
  Progress& others = process_.progress();
  int idle = 0;
  Process::Lock lock(process_);
  const Process::Waiting waiting(process_);
  while (!over) {
    bool moved = session_->progress();
    if (others.busy()) moved = others.advance() || moved;
    if (moved) {
      idle = 0;
      lock.yield();
      continue;
    }
    if (over) break;
    if (++idle < spins) {
      lock.yield();
      if (oversubscribed_ || process_.waiting() > 1) {  // another thread may have what this one waits for
        sched_yield();
      } else {
        relax();
      }
      continue;
    }
    session_->check_time(timeout);
    const bool sending = session_->sending();
    transport::Channel& channel = session_->channel();
    const int limit = others.busy() ? kShortSleepMicroseconds : kSleepMicroseconds;
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
