// SPDX-License-Identifier: BSD-3-Clause
// session.cpp - starts, and the way of a frame to the start that it belongs to.
#include "runtime/session.hpp"

#include <algorithm>
#include <new>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "runtime/sequence.hpp"

namespace wring::runtime {
namespace {

/// After so many exchanges the channel moves other things on.
constexpr unsigned kExchangesAtOnce = 16;

std::uint64_t token_of(std::size_t place) noexcept { return static_cast<std::uint64_t>(place) << kPlaceShift; }

}  // namespace

Session::Session(int rank, int size, std::uint64_t context, bool checksum)
    : rank_(rank), size_(size), context_(context), checksum_(checksum) {
  future_.reserve(64);
  running_.reserve(16);
}

Session::~Session() {
  if (channel_ == nullptr) return;
  if (notices_pending_ > 0) {
    // A peer that never connected: the transport may read this memory as long as the process lives.
    (void)new std::deque<OutgoingNotice>(std::move(notices_));
  }
  for (const EarlyFrame& e : future_) channel_->release(e.message.handle);
}

// --- lanes ------------------------------------------------------------------------------------------

Lane& Session::open_lane() {
  lanes_.push_back(std::make_unique<Lane>());
  lanes_.back()->id = ++last_lane_;
  return *lanes_.back();
}

void Session::close_lane(Lane& lane) noexcept {
  announce_empty_starts(lane);
  for (std::size_t i = 0; i < future_.size();) {
    if (future_[i].header.plan != lane.id) {
      ++i;
      continue;
    }
    channel_->release(future_[i].message.handle);
    future_[i] = future_.back();
    future_.pop_back();
  }
  const std::uint32_t id = lane.id;
  std::erase_if(future_notices_, [&](const EarlyNotice& e) { return e.lane == id; });
  std::erase_if(lanes_, [&](const auto& l) { return l->id == id; });
}

Lane* Session::find_lane(std::uint32_t id) noexcept {
  if (id == 0) return &calls_;
  const auto it = std::lower_bound(lanes_.begin(), lanes_.end(), id, [](const auto& lane, std::uint32_t wanted) { return lane->id < wanted; });
  return it != lanes_.end() && (*it)->id == id ? it->get() : nullptr;
}

Execution* Session::find_running(std::uint32_t lane, std::uint32_t start) noexcept {
  const auto fits = [&](const Running& r) {
    return r.execution != nullptr && r.execution->header().plan == lane && r.execution->header().start == start;
  };
  if (last_found_ < running_.size() && fits(running_[last_found_])) return running_[last_found_].execution;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    if (!fits(running_[i])) continue;
    last_found_ = i;
    return running_[i].execution;
  }
  return nullptr;
}

// --- starts -----------------------------------------------------------------------------------------

void Session::start(Lane& lane, Execution& execution, const void* send, void* recv, OpaqueReduce opaque,
                    Completion& completion) {
  const bool begun = execution.exchanging();  // by exchange()
  if (begun || try_exchange(lane, execution, send, recv, opaque)) {
    exchange_ = {&execution, &completion};
    exchange_polls_ = 0;
    return;
  }
  announce_empty_starts(lane);
  leave_exchange();
  const std::size_t place = enroll({&execution, &completion});
  const Status status = execution.begin(send, recv, {lane.id, lane.next_start++, token_of(place)}, opaque);
  if (status.is_error()) fail_all(execution, status);
  if (dead_peer_ >= 0) {
    fail_all(execution, fail(Code::peer_failed, dead_peer_, "rank %d cannot be reached", dead_peer_));
  }
  if (!future_notices_.empty()) apply_early_notices(lane, execution);
  if (!future_.empty()) deliver_early_frames(lane);
  reap();
}

/// A place among those that run.
std::size_t Session::enroll(Running start) {
  std::size_t place = 0;
  while (place < running_.size() && running_[place].execution != nullptr) ++place;
  if (place == running_.size()) {
    if (place == kMostPlaces) throw std::bad_alloc();
    running_.emplace_back();
  }
  running_[place] = start;
  last_found_ = place;
  if (++running_count_ == 1) deadline_ = 0;
  return place;
}

// --- exchanges --------------------------------------------------------------------------------------

/// Begins a start as an exchange, if it can be one, and nothing else is to be done.
bool Session::try_exchange(Lane& lane, Execution& execution, const void* send, void* recv, OpaqueReduce opaque) noexcept {
  if (running() > 0 || lane.empty_count > 0 || !quiet()) return false;
  if (!execution.begin_exchange(send, recv, lane.id, lane.next_start, opaque)) return false;
  ++lane.next_start;
  return true;
}

bool Session::exchange(Lane& lane, Execution& execution, const void* send, void* recv, OpaqueReduce opaque, unsigned polls,
                       Status& status) noexcept {
  if (!try_exchange(lane, execution, send, recv, opaque)) return false;
  for (; !execution.poll_exchange(); --polls) {
    if (polls == 0) return false;
  }
  if (execution.failed()) tell_failure(execution);
  status = execution.end();
  count_exchange();
  return true;
}

void Session::poll_exchange(unsigned polls) noexcept {
  while (polls-- > 0 && exchanging() && !end_exchange()) {
  }
}

/// Whether the exchange has ended now.
bool Session::end_exchange() noexcept {
  const Running start = exchange_;
  if (!start.execution->poll_exchange()) return false;
  exchange_ = {};
  if (start.execution->failed()) {
    (void)enroll(start);
    tell_failure(*start.execution);
    reap();
  } else {
    start.completion->completed(start.execution->end());
  }
  count_exchange();
  return true;
}

void Session::count_exchange() noexcept {
  if (++exchanges_ % kExchangesAtOnce == 0) (void)channel_->progress();
}

/// Whether nothing is known of other starts.
bool Session::quiet() const noexcept {
  return future_.empty() && future_notices_.empty() && notices_.empty() && dead_peer_ < 0;
}

/// Goes on with the exchange step by step, as with any other start.
void Session::leave_exchange() noexcept {
  if (!exchanging()) return;
  const Running start = exchange_;
  exchange_ = {};
  Execution& execution = *start.execution;
  const Status status = execution.leave_exchange(token_of(enroll(start)));  // the only start: there is a place
  if (execution.failed()) {
    tell_failure(execution);
  } else if (status.is_error()) {
    fail_all(execution, status);
  }
}

// --- other starts -----------------------------------------------------------------------------------

void Session::deliver_early_frames(const Lane& lane) noexcept {
  for (std::size_t i = 0; i < future_.size();) {
    if (future_[i].header.plan != lane.id || ahead(lane.next_start - 1, future_[i].header.start) > 0) {
      ++i;
      continue;
    }
    const EarlyFrame e = future_[i];
    future_[i] = future_.back();
    future_.pop_back();
    if (!on_data(e.header, e.message)) channel_->release(e.message.handle);
  }
}

void Session::start_empty(Lane& lane) noexcept {
  if (lane.empty_count++ == 0) lane.empty_first = lane.next_start;
  const std::uint32_t start = lane.next_start++;
  bool wanted = false;  // somebody takes this start for one with elements
  for (std::size_t i = 0; i < future_.size();) {
    if (future_[i].header.plan != lane.id || ahead(start, future_[i].header.start) > 0) {
      ++i;
      continue;
    }
    wanted = true;
    channel_->release(future_[i].message.handle);
    future_[i] = future_.back();
    future_.pop_back();
  }
  if (wanted) announce_empty_starts(lane);
}

bool Session::progress() noexcept {
  if (exchanging()) {
    if (end_exchange()) return true;
    if (++exchange_polls_ < kExchangePolls) return false;
    leave_exchange();
  }
  const bool moved = channel_->progress();
  if (running_count_ > 0) {
    for (const Running& r : running_) {
      if (r.execution != nullptr) r.execution->advance();
    }
  }
  push_notices();
  reap();
  return moved;
}

/// Ends what is over. Whoever failed has first begun to tell the others.
void Session::reap() noexcept {
  if (running_count_ == 0 || !all_told()) return;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    const Running r = running_[i];
    if (r.execution == nullptr || !r.execution->finished()) continue;
    running_[i] = {};
    --running_count_;
    r.completion->completed(r.execution->end());
  }
}

void Session::check_time(double seconds) noexcept {
  if (seconds <= 0 || running() == 0) return;
  leave_exchange();
  const double time = now();
  // Time in which nobody looked does not count: what has come meanwhile may have yet to be seen.
  const bool was_away = time - looked_ > seconds / 4;
  looked_ = time;
  if (deadline_ == 0 || arrivals_seen_ != arrivals_ || was_away) {
    arrivals_seen_ = arrivals_;
    deadline_ = time + seconds;
    return;
  }
  if (time <= deadline_) return;
  deadline_ = 0;
  for (const Running& r : running_) {
    if (r.execution == nullptr || r.execution->failed()) continue;
    const Status why = fail(Code::timeout, 0, "no frame for %g s (WRING_TIMEOUT): rank %d waits for %s", seconds, rank_, r.execution->waiting_for().c_str());
    log(LogLevel::error, "%s", why.what());
    fail_all(*r.execution, why);
  }
  reap();
}

bool Session::sending() const noexcept {
  return std::any_of(running_.begin(), running_.end(), [](const Running& r) { return r.execution != nullptr && r.execution->sending(); });
}

// --- frames in --------------------------------------------------------------------------------------

bool Session::on_message(const transport::Message& message) noexcept {
  ++arrivals_;
  leave_exchange();  // what it waits for may be this
  codec::FrameHeader header;
  Status status = codec::unpack({message.header, transport::kHeaderBytes}, checksum_,
                                {message.payload, message.payload_bytes}, header);
  if (status.ok() && header.source >= static_cast<std::uint32_t>(size_)) {
    status = {Code::corrupt_frame, "frame of an unknown sender"};
  }
  if (status.is_error()) {
    // Which start it belonged to is not known any more: none can count on its frames.
    ++dropped_;
    for (const Running& r : running_) {
      if (r.execution != nullptr) fail_all(*r.execution, status);
    }
    return false;
  }
  if (header.kind == codec::FrameKind::abort) {
    on_abort(header, message);
    return false;
  }
  return on_data(header, message);
}

bool Session::keep_for_later(const codec::FrameHeader& header, const transport::Message& message) noexcept {
  try {
    future_.push_back({header, message});
    return true;
  } catch (...) {
    ++dropped_;
    return false;
  }
}

bool Session::on_data(const codec::FrameHeader& header, const transport::Message& message) noexcept {
  Execution* execution = find_running(header.plan, header.start);
  if (execution == nullptr) {
    Lane* lane = find_lane(header.plan);
    const bool later = lane != nullptr ? ahead(lane->next_start - 1, header.start) > 0
                                       : ahead(last_lane_, header.plan) > 0;
    if (later) return keep_for_later(header, message);
    ++dropped_;
    if (lane != nullptr && lane->empty_count > 0 && ahead(lane->empty_first, header.start) >= 0) {
      announce_empty_starts(*lane);
    }
    return false;
  }
  if (execution->failed()) {
    ++dropped_;
    return false;
  }
  if (Status status = compare_signatures(execution->header(), header); status.is_error()) {
    log(LogLevel::error, "%s", status.what());
    fail_all(*execution, status);
    return false;
  }
  const bool kept = execution->deliver(header, message);
  if (execution->failed()) {
    log(LogLevel::error, "%s", execution->why().what());
    tell_failure(*execution);
  }
  return kept;
}

void Session::on_sent(std::uint64_t token, Status status) noexcept {
  if (token == kNoticeToken) {
    --notices_pending_;
    push_notices();
    return;
  }
  const std::size_t place = token >> kPlaceShift;
  if (place >= running_.size() || running_[place].execution == nullptr) return;  // a decorator's copy
  Execution& execution = *running_[place].execution;
  const bool failed = execution.failed();
  execution.sent(token, status);
  if (!failed && execution.failed()) tell_failure(execution);
}

void Session::on_peer_failed(int peer, Status status) noexcept {
  log(LogLevel::debug, "rank %d cannot be reached: %s", peer, status.what());
  dead_peer_ = peer;
  leave_exchange();
  for (const Running& r : running_) {
    if (r.execution == nullptr || r.execution->failed()) continue;
    fail_all(*r.execution, fail(Code::peer_failed, peer, "rank %d cannot be reached: %s", peer, status.what()));
  }
}

}  // namespace wring::runtime
