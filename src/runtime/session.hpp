// SPDX-License-Identifier: BSD-3-Clause
// session.hpp - one communicator's traffic: which call a frame belongs to, and what ends a call early.
//
// Calls on a communicator are numbered by the order in which its ranks make them. A frame names its
// call and what its sender believes the call to be (count, type, operator, codec ...). Frames of the
// running call go to its execution; of a later one they wait; of an earlier one they are dropped. A
// frame that disagrees ends the call with an error that names both values and both ranks, and the rank
// that found it tells all others, so that all fail together and the next call starts clean.
#pragma once

#include <cstddef>
#include <cstdint>
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
  /// Moves things on, without blocking; whether anything happened.
  bool progress() noexcept;
  /// Whether the running call is over and everything sent has left this process.
  bool done() noexcept;
  /// Ends the call after done(): its result.
  Status finish() noexcept;
  /// Ends the running call with an error, here and on all ranks.
  void fail_all(Status why) noexcept;
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
  /// Payload of an abort frame.
  struct Notice {
    std::uint32_t code;
    char text[kTextBytes];
  };
  struct FutureAbort {
    std::uint32_t start;
    Notice notice;
  };

  bool on_data(const codec::FrameHeader& header, const transport::Message& message) noexcept;
  void on_abort(const codec::FrameHeader& header, const transport::Message& message) noexcept;
  void answer_stale(const codec::FrameHeader& header) noexcept;
  Status compare(const codec::FrameHeader& theirs) const noexcept;
  void begin_notice(Status why, const codec::FrameHeader& call, int only_peer) noexcept;
  void push_notice() noexcept;
  Status status_of(const Notice& notice) noexcept;

  const int rank_, size_;
  const std::uint64_t context_;
  const bool checksum_;
  std::unique_ptr<transport::Channel> channel_;
  Execution* active_ = nullptr;
  std::uint32_t next_start_ = 0;   ///< number of the next call
  std::uint64_t empty_calls_ = 0;  ///< bit i: call next_start_ - 1 - i had no elements
  std::uint64_t arrivals_ = 0, dropped_ = 0;
  std::vector<EarlyFrame> future_;
  std::vector<FutureAbort> future_aborts_;

  // The notice being sent, one at a time.
  Notice notice_{};
  codec::FrameHeader notice_header_;
  int notice_next_ = 0, notice_end_ = 0;  ///< peers still to be told: [next, end)
  int notice_pending_ = 0;
  char text_[kTextBytes] = {};            ///< of a Status made from a notice
};

}  // namespace wring::runtime
