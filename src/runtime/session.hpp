// SPDX-License-Identifier: BSD-3-Clause
// session.hpp - one communicator's traffic: which call a frame belongs to, and what ends a call early.
//
// Calls on a communicator are numbered by the order in which its ranks make them. A frame names its
// call and what its sender believes the call to be (count, type, operator, codec ...). Frames of the
// running call go to its execution; of a later one they wait; of an earlier one they are dropped. A
// frame that disagrees ends the call with an error that names both values and both ranks, and the rank
// that found it tells all others, so that all fail together and the next call starts clean.
//
// A call without elements is over at once, without a word to anybody, as it costs nothing in MPI. A rank
// that made one says so to all when it next has something to say, or leaves: whoever took that call for
// one with elements then stops waiting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "runtime/execution.hpp"
#include "transport/transport.hpp"

namespace wring::runtime {

class Session final : public transport::Sink {
 public:
  Session(int rank, int size, std::uint64_t context, bool checksum);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Hands over the channel whose sink this session is. Before anything else.
  void attach(std::unique_ptr<transport::Channel> channel) noexcept { channel_ = std::move(channel); }
  transport::Channel& channel() noexcept { return *channel_; }

  /// Begins the next call with `execution`; nothing else may be running.
  Status start(Execution& execution, const void* send, void* recv, OpaqueReduce opaque) noexcept;
  /// The next call is one with zero elements, which is over at once.
  void start_empty() noexcept;
  /// Tells all ranks of calls without elements that they have not been told of.
  void announce_empty_calls() noexcept;
  /// Moves things on, without blocking; whether anything happened.
  bool progress() noexcept;
  /// Whether the running call is over and everything sent has left this process.
  bool done() noexcept;
  /// Ends the call after done(): its result.
  Status finish() noexcept;
  /// Ends the running call with an error, here and on all ranks.
  void fail_all(Status why) noexcept;
  /// Notices that are still on their way.
  bool telling() const noexcept { return notices_pending_ > 0; }
  bool failed() const noexcept { return active_ != nullptr && active_->failed(); }
  bool sending() const noexcept { return active_ != nullptr && active_->sending(); }
  /// Counts what has come in, to notice that nothing does.
  std::uint64_t arrivals() const noexcept { return arrivals_; }
  std::string waiting_for() const { return active_ ? active_->waiting_for() : std::string(); }
  std::uint64_t dropped_frames() const noexcept { return dropped_; }

  bool on_message(const transport::Message& message) noexcept override;
  void on_sent(std::uint64_t token, Status status) noexcept override;
  void on_peer_failed(int peer, Status status) noexcept override;

  /// For tests: pretends that so many calls have been made. On all ranks alike.
  void set_next_start(std::uint32_t start) noexcept { next_start_ = start; }

 private:
  static constexpr std::size_t kTextBytes = 480;
  /// Payload of an abort frame: calls first to last are over, with this error.
  struct Notice {
    std::uint32_t code;
    std::uint32_t first, last;
    std::uint32_t empty;  ///< 1: they had no elements on the sender; the receiver adds its own count
    char text[kTextBytes];
  };
  struct OutgoingNotice {
    Notice notice;
    codec::FrameHeader header;
    int next = 0;  ///< peer to be told next
  };

  bool on_data(const codec::FrameHeader& header, const transport::Message& message) noexcept;
  void on_abort(const codec::FrameHeader& header, const transport::Message& message) noexcept;
  Status compare(const codec::FrameHeader& theirs) const noexcept;
  void tell_all(Status why, std::uint32_t first, std::uint32_t last, bool empty) noexcept;
  void push_notices() noexcept;
  Status status_of(const Notice& notice) noexcept;

  const int rank_, size_;
  const std::uint64_t context_;
  const bool checksum_;
  std::unique_ptr<transport::Channel> channel_;
  Execution* active_ = nullptr;
  std::uint32_t next_start_ = 0;   ///< number of the next call
  std::uint32_t empty_first_ = 0, empty_count_ = 0;  ///< calls without elements, not announced yet
  std::uint64_t arrivals_ = 0, dropped_ = 0;
  std::vector<EarlyFrame> future_;
  std::vector<Notice> future_aborts_;

  std::deque<OutgoingNotice> notices_;  ///< not wholly sent; their memory is in use until then
  int notices_pending_ = 0;
  char text_[kTextBytes + 64] = {};  ///< of a Status made from a notice
};

}  // namespace wring::runtime
