// SPDX-License-Identifier: BSD-3-Clause
// session.cpp - routes frames to calls, finds calls that do not match, tells others of errors.
#include "runtime/session.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/log.hpp"

namespace wring::runtime {

namespace {

/// Token of a notice's sends: whoever is told may have no reason to listen. Tokens of executions have the
/// tile slot above bit 32.
constexpr std::uint64_t kNoticeToken = transport::kCourtesy;

/// Distance from call a to call b; call numbers wrap around.
std::int32_t ahead(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(b - a); }

const char* op_name(Op op) {
  switch (op) {
    case Op::sum: return "sum";
    case Op::avg: return "average";
    case Op::other: break;
  }
  return "other";
}

}  // namespace

Session::Session(int rank, int size, std::uint64_t context, bool checksum)
    : rank_(rank), size_(size), context_(context), checksum_(checksum) {
  future_.reserve(64);
}

Session::~Session() {
  if (channel_ == nullptr) return;
  if (notices_pending_ > 0) {
    // A peer that never connected: the transport may read this memory as long as the process lives.
    (void)new std::deque<OutgoingNotice>(std::move(notices_));
  }
  for (const EarlyFrame& e : future_) channel_->release(e.message.handle);
}

Status Session::start(Execution& execution, const void* send, void* recv, OpaqueReduce opaque) noexcept {
  announce_empty_calls();
  const std::uint32_t start = next_start_++;
  active_ = &execution;
  if (Status status = execution.begin(send, recv, start, opaque); status.is_error()) {
    execution.abandon(status);
    fail_all(status);
    return {};  // reported by finish, when all others know
  }
  for (std::size_t i = 0; i < future_aborts_.size();) {
    const Notice& notice = future_aborts_[i];
    if (ahead(start, notice.first) <= 0 && ahead(start, notice.last) >= 0) execution.abandon(status_of(notice));
    if (ahead(start, notice.last) <= 0) {
      future_aborts_[i] = future_aborts_.back();
      future_aborts_.pop_back();
    } else {
      ++i;
    }
  }
  for (std::size_t i = 0; i < future_.size();) {
    if (ahead(start, future_[i].header.start) > 0) {
      ++i;
      continue;
    }
    const EarlyFrame e = future_[i];
    future_[i] = future_.back();
    future_.pop_back();
    if (!on_data(e.header, e.message)) channel_->release(e.message.handle);
  }
  return {};
}

void Session::start_empty() noexcept {
  if (empty_count_++ == 0) empty_first_ = next_start_;
  const std::uint32_t start = next_start_++;
  bool wanted = false;  // somebody takes this call for one with elements
  for (std::size_t i = 0; i < future_.size();) {
    if (ahead(start, future_[i].header.start) > 0) {
      ++i;
      continue;
    }
    wanted = true;
    channel_->release(future_[i].message.handle);
    future_[i] = future_.back();
    future_.pop_back();
  }
  if (wanted) announce_empty_calls();
}

void Session::announce_empty_calls() noexcept {
  if (empty_count_ == 0) return;
  const Status why = fail(Code::mismatch, 0, "mismatched calls: count 0 on rank %d", rank_);
  tell_all(why, empty_first_, empty_first_ + empty_count_ - 1, true);
  empty_count_ = 0;
}

bool Session::progress() noexcept {
  const bool moved = channel_->progress();
  if (active_ != nullptr) active_->advance();
  push_notices();
  return moved;
}

bool Session::done() noexcept {
  if (active_ == nullptr || !active_->finished()) return false;
  if (!notices_.empty() && notices_.back().next < size_) return false;
  return !channel_->flush().again();
}

Status Session::finish() noexcept {
  const Status status = active_->end();
  active_ = nullptr;
  return status;
}

void Session::fail_all(Status why) noexcept {
  if (active_ == nullptr) return;
  active_->abandon(why);
  tell_all(why, active_->header().start, active_->header().start, false);
}

// --- frames in --------------------------------------------------------------------------------------

bool Session::on_message(const transport::Message& message) noexcept {
  ++arrivals_;
  codec::FrameHeader header;
  const Status status = codec::unpack({message.header, transport::kHeaderBytes}, checksum_,
                                      {message.payload, message.payload_bytes}, header);
  if (status.is_error() || header.source >= static_cast<std::uint32_t>(size_) || header.plan != 0) {
    ++dropped_;
    if (active_ != nullptr && !active_->failed()) {
      fail_all(status.is_error() ? status : Status{Code::corrupt_frame, "frame of an unknown sender or plan"});
    }
    return false;
  }
  if (header.kind == codec::FrameKind::abort) {
    on_abort(header, message);
    return false;
  }
  return on_data(header, message);
}

bool Session::on_data(const codec::FrameHeader& header, const transport::Message& message) noexcept {
  const std::int32_t distance = ahead(next_start_ - 1, header.start);
  if (distance > 0) {
    try {
      future_.push_back({header, message});
    } catch (...) {
      ++dropped_;
      return false;
    }
    return true;
  }
  if (distance < 0 || active_ == nullptr) {
    ++dropped_;
    if (empty_count_ > 0 && ahead(empty_first_, header.start) >= 0) announce_empty_calls();
    return false;
  }
  if (active_->failed()) {
    ++dropped_;
    return false;
  }
  if (Status status = compare(header); status.is_error()) {
    log(LogLevel::error, "%s", status.what());
    fail_all(status);
    return false;
  }
  const bool kept = active_->deliver(header, message);
  if (active_->failed()) {
    log(LogLevel::error, "%s", active_->why().what());
    tell_all(active_->why(), header.start, header.start, false);
  }
  return kept;
}

Status Session::compare(const codec::FrameHeader& theirs) const noexcept {
  const codec::FrameHeader& mine = active_->header();
  const unsigned me = mine.source, them = theirs.source;
  if (mine.count == theirs.count && mine.dtype == theirs.dtype && mine.op == theirs.op &&
      mine.codec == theirs.codec && mine.algorithm == theirs.algorithm && mine.detail == theirs.detail) {
    return {};
  }
  if (mine.count != theirs.count) {
    return fail(Code::mismatch, 0, "mismatched calls: count %" PRIu64 " on rank %u, %" PRIu64 " on rank %u", mine.count, me,
                theirs.count, them);
  }
  if (mine.dtype != theirs.dtype) {
    return fail(Code::mismatch, 0, "mismatched calls: datatype %s on rank %u, %s on rank %u", name_of(mine.dtype), me,
                name_of(theirs.dtype), them);
  }
  if (mine.op != theirs.op) {
    return fail(Code::mismatch, 0, "mismatched calls: operator %s on rank %u, %s on rank %u", op_name(mine.op), me,
                op_name(theirs.op), them);
  }
  const codec::Codec* a = codec::find(mine.codec);
  const codec::Codec* b = codec::find(theirs.codec);
  if (mine.codec != theirs.codec) {
    return fail(Code::mismatch, 0, "mismatched calls: codec %s on rank %u, %s on rank %u", a ? a->name : "?", me,
                b ? b->name : "?", them);
  }
  return fail(Code::mismatch, 0,
              "mismatched calls: the parameters of codec %s, or the datatypes or operators that it does not apply to, differ "
              "between rank %u (%08x) and rank %u (%08x)",
              a ? a->name : "?", me, mine.detail, them, theirs.detail);
}

void Session::on_sent(std::uint64_t token, Status status) noexcept {
  if (token == kNoticeToken) {
    --notices_pending_;
    push_notices();
  } else if (active_ != nullptr && token >> 63 == 0) {  // others are of decorators, for copies of theirs
    const bool failed = active_->failed();
    active_->sent(token, status);
    if (!failed && active_->failed()) fail_all(status);
  }
}

void Session::on_peer_failed(int peer, Status status) noexcept {
  log(LogLevel::debug, "rank %d cannot be reached: %s", peer, status.what());
  if (active_ == nullptr || active_->failed()) return;
  fail_all(fail(Code::peer_failed, peer, "rank %d cannot be reached: %s", peer, status.what()));
}

// --- notices ----------------------------------------------------------------------------------------

void Session::tell_all(Status why, std::uint32_t first, std::uint32_t last, bool empty) noexcept {
  try {
    OutgoingNotice& out = notices_.emplace_back();
    out.notice = {.code = static_cast<std::uint32_t>(why.code()), .first = first, .last = last, .empty = empty, .text = {}};
    std::strncpy(out.notice.text, why.what(), sizeof out.notice.text - 1);
    if (active_ != nullptr) out.header = active_->header();
    out.header.kind = codec::FrameKind::abort;
    out.header.context = context_;
    out.header.source = static_cast<std::uint32_t>(rank_);
    out.header.start = last;
    out.header.payload_bytes = sizeof out.notice;
  } catch (...) {  // no memory: the others will have to wait for their time-out
    return;
  }
  push_notices();
}

void Session::push_notices() noexcept {
  if (notices_.empty()) return;
  bool all = true;
  for (OutgoingNotice& out : notices_) {
    const auto* payload = reinterpret_cast<const std::byte*>(&out.notice);
    alignas(8) std::byte bytes[codec::kHeaderBytes];
    codec::pack(out.header, checksum_, {payload, sizeof out.notice}, bytes);
    bool again = false;
    for (; out.next < size_ && !again; out.next += again ? 0 : 1) {
      if (out.next == rank_) continue;
      switch (channel_->send(out.next, bytes, payload, sizeof out.notice, kNoticeToken)) {
        case transport::Sent::again: again = true; break;
        case transport::Sent::pending: ++notices_pending_; break;
        case transport::Sent::done:
        case transport::Sent::failed: break;  // whoever cannot be reached cannot be told
      }
    }
    all = all && out.next == size_;
  }
  if (all && notices_pending_ == 0) notices_.clear();
}

void Session::on_abort(const codec::FrameHeader&, const transport::Message& message) noexcept {
  Notice notice;
  if (message.payload_bytes != sizeof notice) return;
  std::memcpy(&notice, message.payload, sizeof notice);
  notice.text[sizeof notice.text - 1] = '\0';
  const std::uint32_t current = next_start_ - 1;
  const bool mine = ahead(notice.first, current) >= 0 && ahead(current, notice.last) >= 0;
  if (mine && active_ != nullptr && !active_->failed()) active_->abandon(status_of(notice));
  if (ahead(current, notice.last) <= 0) return;
  try {
    future_aborts_.push_back(notice);
  } catch (...) {
    ++dropped_;
  }
}

Status Session::status_of(const Notice& notice) noexcept {
  if (notice.empty != 0 && active_ != nullptr) {
    std::snprintf(text_, sizeof text_, "%s, %" PRIu64 " on rank %d", notice.text, active_->header().count, rank_);
    log(LogLevel::error, "%s", text_);
  } else {
    std::snprintf(text_, sizeof text_, "%s", notice.text);
  }
  const auto code = notice.code > static_cast<std::uint32_t>(Code::again) &&
                            notice.code <= static_cast<std::uint32_t>(Code::internal)
                        ? static_cast<Code>(notice.code)
                        : Code::internal;
  return {code, text_};
}

}  // namespace wring::runtime
