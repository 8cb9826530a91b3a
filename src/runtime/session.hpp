// SPDX-License-Identifier: BSD-3-Clause
// session.hpp - one communicator's traffic: which start a frame belongs to, and what ends a start early.
//
// Starts are numbered in lanes: one lane for blocking and nonblocking calls, which all ranks make in the
// same order, and one for each plan, whose starts may come in any order beside others. A frame names its
// lane and start and what its sender believes the call to be (count, type, operator, codec ...). Frames
// of a running start go to its execution; of a later one they wait; of an earlier one they are dropped. A
// frame that disagrees ends the start with an error that names both values and both ranks, and the rank
// that found it tells all others, so that all fail together and the next start begins clean.
//
// A start without elements is over at once, without a word to anybody, as it costs nothing in MPI. A rank
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

/// A sequence of starts that all ranks number alike.
struct Lane {
  std::uint32_t id = 0;  ///< in frames; 0: calls, others: plans in the order of their creation
  std::uint32_t next_start = 0;
  /// Starts without elements that others have not been told of.
  std::uint32_t empty_first = 0, empty_count = 0;
};

/// So often an exchange is looked at before it goes on step by step. Until then nothing else is: not what
/// came another way, nor what is wrong.
inline constexpr unsigned kExchangePolls = 200;

/// Is told when a start is over.
class Completion {
 public:
  /// Called once for each start, from inside start(), progress() or fail_all(), under the lock; must not
  /// call back into the session. The status's text lives until the execution is started again.
  virtual void completed(Status status) noexcept = 0;

 protected:
  ~Completion() = default;
};

class Session final : public transport::Sink {
 public:
  Session(int rank, int size, std::uint64_t context, bool checksum);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Hands over the channel whose sink this session is. Before anything else.
  void attach(std::unique_ptr<transport::Channel> channel) noexcept { channel_ = std::move(channel); }
  transport::Channel& channel() noexcept { return *channel_; }

  /// The lane of blocking and nonblocking calls.
  Lane& calls() noexcept { return calls_; }
  /// A lane for a new plan; the same number on all ranks that open theirs in the same order.
  Lane& open_lane();
  /// No start of the lane may be running.
  void close_lane(Lane& lane) noexcept;

  /// Begins the next start of a lane. Errors come to `completion`, as the others must know of them.
  void start(Lane& lane, Execution& execution, const void* send, void* recv, OpaqueReduce opaque,
             Completion& completion);
  /// Runs the next start of a lane to its end where it can be an exchange (exchange.hpp), is all that there is
  /// to do, and at most `polls` looks find what the others send. False: start() shall go on with it.
  bool exchange(Lane& lane, Execution& execution, const void* send, void* recv, OpaqueReduce opaque, unsigned polls,
                Status& status) noexcept;
  /// The next start of a lane is one with zero elements, which is over at once.
  void start_empty(Lane& lane) noexcept;
  /// Tells all ranks of starts without elements that they have not been told of.
  void announce_empty_starts() noexcept;
  /// Moves things on, without blocking; whether anything happened.
  bool progress() noexcept;
  /// The same for an exchange alone, looking up to `polls` times. Nothing where none runs.
  void poll_exchange(unsigned polls) noexcept;
  /// Ends a running start with an error, here and on all ranks.
  void fail_all(Execution& execution, Status why) noexcept;

  /// Ends what runs with an error if nothing has come in for so many seconds; 0: never. To be called often
  /// while somebody waits.
  void check_time(double seconds) noexcept;

  /// Notices that are still on their way.
  bool telling() const noexcept { return notices_pending_ > 0; }
  std::size_t running() const noexcept { return running_count_ + (exchanging() ? 1 : 0); }
  bool sending() const noexcept;
  std::uint64_t dropped_frames() const noexcept { return dropped_; }

  bool on_message(const transport::Message& message) noexcept override;
  void on_sent(std::uint64_t token, Status status) noexcept override;
  void on_peer_failed(int peer, Status status) noexcept override;

 private:
  static constexpr std::size_t kTextBytes = 480;
  /// Payload of an abort frame: starts first to last of the header's lane are over, with this error.
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
  struct EarlyNotice {
    std::uint32_t lane;
    Notice notice;
  };
  struct Running {
    Execution* execution = nullptr;  ///< null: the place is free
    Completion* completion = nullptr;
  };

  std::size_t enroll(Running start);
  bool quiet() const noexcept;
  bool exchanging() const noexcept { return exchange_.execution != nullptr; }
  bool try_exchange(Lane& lane, Execution& execution, const void* send, void* recv, OpaqueReduce opaque) noexcept;
  bool end_exchange() noexcept;
  void count_exchange() noexcept;
  void leave_exchange() noexcept;
  Lane* find_lane(std::uint32_t id) noexcept;
  Execution* find_running(std::uint32_t lane, std::uint32_t start) noexcept;
  void reap() noexcept;
  void apply_early_notices(const Lane& lane, Execution& execution) noexcept;
  void deliver_early_frames(const Lane& lane) noexcept;
  void announce_empty_starts(Lane& lane) noexcept;

  bool on_data(const codec::FrameHeader& header, const transport::Message& message) noexcept;
  void on_abort(const codec::FrameHeader& header, const transport::Message& message) noexcept;
  bool keep_for_later(const codec::FrameHeader& header, const transport::Message& message) noexcept;

  /// Tells all how a start ended that has been given up.
  void tell_failure(const Execution& execution) noexcept;
  void tell_all(Status why, const codec::FrameHeader& header, std::uint32_t first, std::uint32_t last,
                bool empty) noexcept;
  void push_notices() noexcept;
  bool all_told() const noexcept { return notices_.empty() || notices_.back().next >= size_; }
  Status status_of(const Notice& notice, const Execution& execution) noexcept;

  const int rank_, size_;
  const std::uint64_t context_;
  const bool checksum_;
  std::unique_ptr<transport::Channel> channel_;
  Lane calls_;
  std::vector<std::unique_ptr<Lane>> lanes_;  ///< of plans, by id
  std::uint32_t last_lane_ = 0;               ///< highest id given so far
  std::vector<Running> running_;              ///< a send's token names the place
  std::size_t running_count_ = 0, last_found_ = 0;
  Running exchange_;               ///< the only one there is, not among them; null: there is none
  unsigned exchange_polls_ = 0;    ///< of it so far
  unsigned exchanges_ = 0;         ///< that are over
  int dead_peer_ = -1;  ///< some rank that cannot be reached any more
  std::uint64_t arrivals_ = 0, dropped_ = 0;
  std::uint64_t arrivals_seen_ = 0;  ///< when deadline_ was set
  double deadline_ = 0;              ///< 0: not set
  double looked_ = 0;                ///< at the clock, for deadline_
  std::vector<EarlyFrame> future_;
  std::vector<EarlyNotice> future_notices_;

  std::deque<OutgoingNotice> notices_;  ///< not wholly sent; their memory is in use until then
  int notices_pending_ = 0;
  char text_[kTextBytes + 64] = {};  ///< of a Status made from a notice
};

/// Whether two headers belong to the same call; a mismatch names both values and both ranks.
Status compare_signatures(const codec::FrameHeader& mine, const codec::FrameHeader& theirs) noexcept;

}  // namespace wring::runtime
