// SPDX-License-Identifier: BSD-3-Clause
// notices.cpp - the part of a session that tells other ranks how starts ended, and is told.
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/log.hpp"
#include "runtime/sequence.hpp"
#include "runtime/session.hpp"

namespace wring::runtime {

void Session::announce_empty_starts() noexcept {
  announce_empty_starts(calls_);
  for (const auto& lane : lanes_) announce_empty_starts(*lane);
}

void Session::announce_empty_starts(Lane& lane) noexcept {
  if (lane.empty_count == 0) return;
  const Status why = fail(Code::mismatch, 0, "mismatched calls: count 0 on rank %d", rank_);
  codec::FrameHeader header;
  header.plan = lane.id;
  tell_all(why, header, lane.empty_first, lane.empty_first + lane.empty_count - 1, true);
  lane.empty_count = 0;
}

void Session::fail_all(Execution& execution, Status why) noexcept {
  if (execution.failed()) return;
  execution.abandon(why);
  tell_failure(execution);
}

void Session::tell_failure(const Execution& execution) noexcept {
  const codec::FrameHeader& header = execution.header();
  tell_all(execution.why(), header, header.start, header.start, false);
}

void Session::tell_all(Status why, const codec::FrameHeader& header, std::uint32_t first, std::uint32_t last,
                       bool empty) noexcept {
  try {
    OutgoingNotice& out = notices_.emplace_back();
    out.notice = {.code = static_cast<std::uint32_t>(why.code()), .first = first, .last = last, .empty = empty, .text = {}};
    std::strncpy(out.notice.text, why.what(), sizeof out.notice.text - 1);
    out.header = header;
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

void Session::on_abort(const codec::FrameHeader& header, const transport::Message& message) noexcept {
  Notice notice;
  if (message.payload_bytes != sizeof notice) return;
  std::memcpy(&notice, message.payload, sizeof notice);
  notice.text[sizeof notice.text - 1] = '\0';
  const Lane* lane = find_lane(header.plan);
  if (lane == nullptr && ahead(last_lane_, header.plan) <= 0) return;  // of a plan that was freed
  if (lane != nullptr) {
    for (const Running& r : running_) {
      if (r.execution == nullptr || r.execution->failed() || r.execution->header().plan != lane->id) continue;
      const std::uint32_t start = r.execution->header().start;
      if (ahead(notice.first, start) >= 0 && ahead(start, notice.last) >= 0) {
        r.execution->abandon(status_of(notice, *r.execution));
      }
    }
    if (ahead(lane->next_start - 1, notice.last) <= 0) return;
  }
  try {
    future_notices_.push_back({header.plan, notice});
  } catch (...) {
    ++dropped_;
  }
}

void Session::apply_early_notices(const Lane& lane, Execution& execution) noexcept {
  const std::uint32_t start = execution.header().start;
  for (std::size_t i = 0; i < future_notices_.size();) {
    const EarlyNotice& early = future_notices_[i];
    if (early.lane != lane.id) {
      ++i;
      continue;
    }
    const Notice& notice = early.notice;
    if (ahead(start, notice.first) <= 0 && ahead(start, notice.last) >= 0) {
      execution.abandon(status_of(notice, execution));
    }
    if (ahead(start, notice.last) <= 0) {
      future_notices_[i] = future_notices_.back();
      future_notices_.pop_back();
    } else {
      ++i;
    }
  }
}

Status Session::status_of(const Notice& notice, const Execution& execution) noexcept {
  if (notice.empty != 0) {
    std::snprintf(text_, sizeof text_, "%s, %" PRIu64 " on rank %d", notice.text, execution.header().count, rank_);
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
