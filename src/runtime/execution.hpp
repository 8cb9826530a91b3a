// SPDX-License-Identifier: BSD-3-Clause
// execution.hpp - runs a plan: the steps of several tiles at a time, over one channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codec/frame.hpp"
#include "device/device.hpp"
#include "plan/plan.hpp"
#include "runtime/arithmetic.hpp"
#include "runtime/exchange.hpp"
#include "transport/transport.hpp"

namespace wring::runtime {

/// What one start of a plan did, on this rank.
struct Counters {
  std::uint64_t raw_bytes = 0;   ///< that `none` would have sent under the same algorithm
  std::uint64_t wire_bytes = 0;  ///< sent, headers included
  std::uint64_t frames = 0;      ///< sent
  std::uint64_t escapes = 0;     ///< blocks sent raw because the codec cannot represent them
  std::uint64_t overflows = 0;   ///< finite values that became infinities in a codec's range
  double seconds = 0;            ///< from begin to end; 0 for small messages, as reading the clock shows there
  double seconds_encode = 0, seconds_decode = 0;  ///< the parts of it that codecs and additions took

  Counters& operator+=(const Counters& other) noexcept {
    raw_bytes += other.raw_bytes;
    wire_bytes += other.wire_bytes;
    frames += other.frames;
    escapes += other.escapes;
    overflows += other.overflows;
    seconds += other.seconds;
    seconds_encode += other.seconds_encode;
    seconds_decode += other.seconds_decode;
    return *this;
  }
};

/// Which start an execution runs, as frames and tokens say it.
struct StartId {
  std::uint32_t lane = 0;
  std::uint32_t start = 0;
  std::uint64_t token = 0;  ///< upper bits of the tokens of its sends
};

/// A frame that came before the tile it belongs to was begun.
struct EarlyFrame {
  codec::FrameHeader header;
  transport::Message message;
};

/// The running or idle state of one plan. Everything that a start needs is allocated when the object is
/// made, or held by the pool between calls. Not thread-safe: used under the session's lock.
///
/// Steps run as soon as what they need is there: from begin(), deliver(), sent() and advance(). None
/// of them blocks. Tiles are begun in order and end in any order; when one ends, the next begins.
class Execution {
 public:
  Execution(const plan::Plan& plan, transport::Channel& channel, device::Pool& pool,
            std::uint64_t context);
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  /// Begins a start. send may be recv (in place). no_memory if staging cannot be had.
  Status begin(const void* send, void* recv, StartId id, OpaqueReduce opaque) noexcept;
  /// The same for a start that can be one exchange (exchange.hpp). False, and nothing has begun, if it cannot.
  bool begin_exchange(const void* send, void* recv, std::uint32_t lane, std::uint32_t start, OpaqueReduce opaque) noexcept;
  /// Whether an exchange is over now.
  bool poll_exchange() noexcept;
  /// Goes on without the exchange, as if after begin(): what has been sent and has come stays so.
  Status leave_exchange(std::uint64_t token) noexcept;
  bool exchanging() const noexcept { return exchanging_; }
  /// A frame of this start; the caller has compared the signature. Whether the message is kept.
  bool deliver(const codec::FrameHeader& header, const transport::Message& message) noexcept;
  /// A pending send has ended.
  void sent(std::uint64_t token, Status status) noexcept;
  /// Tries again what met back-pressure.
  void advance() noexcept;
  /// Gives up: no further step runs. Memory of pending sends stays in use until they end.
  void abandon(Status why) noexcept;

  /// Lets frames say that the call has `count` elements: for calls that only check that all ranks are
  /// about to do the same.
  void pose_as(std::uint64_t count) noexcept {
    header_.count = count;
    exchange_.reset();  // its frames are made
  }

  bool running() const noexcept { return running_; }
  /// All steps are done, or the execution has been given up, and no send is pending.
  bool finished() const noexcept { return running_ && pending_sends_ == 0 && (failed_ || tiles_left_ == 0); }
  bool failed() const noexcept { return failed_; }
  Status why() const noexcept { return why_; }
  /// Sends have not ended yet.
  bool sending() const noexcept { return pending_sends_ > 0 || !blocked_.empty(); }
  /// Ends the start: gives staging back; ok or what abandon was told.
  Status end() noexcept;

  /// Header that every frame of this start carries.
  const codec::FrameHeader& header() const noexcept { return header_; }
  const plan::Plan& plan() const noexcept { return plan_; }
  const Counters& counters() const noexcept { return exchanged_ ? exchange_counters_ : counters_; }
  /// "step 3 of tile 0: frame from rank 2" for the first receive that is waited for.
  std::string waiting_for() const;

 private:
  struct Frame {
    enum class Owner : std::uint8_t { none, buffer, message, value };
    View view;
    Owner owner = Owner::none;
    std::uint16_t uses = 0;
    std::uint32_t value = 0;
    std::byte* buffer = nullptr;
    void* message = nullptr;
  };
  struct Value {
    std::byte* buffer = nullptr;
    int scale = 0;
    std::uint16_t uses = 0;
    bool home = false;   ///< buffer is the caller's memory, with the result
  };
  struct Tile {
    std::uint32_t index = 0;
    bool active = false;
    std::uint32_t steps_left = 0;
    std::vector<std::uint16_t> needs;
    std::vector<Frame> frames;
    std::vector<Value> values;
  };
  struct Ref {
    std::uint32_t slot, step;
  };
  enum class Ran : std::uint8_t { done, pending, starved, blocked, failed };

  void set_out(const void* send, void* recv, StartId id, OpaqueReduce opaque) noexcept;
  Status begin_steps() noexcept;
  void begin_tiles() noexcept;
  void begin_tile(std::uint32_t slot) noexcept;
  bool receive(Tile& tile, std::uint32_t slot, std::uint32_t step, const codec::FrameHeader& header,
               const transport::Message& message) noexcept;
  void run_ready() noexcept;
  void complete(std::uint32_t slot, std::uint32_t step) noexcept;

  Ran run(std::uint32_t slot, std::uint32_t step) noexcept;
  Ran run_timed(std::uint32_t slot, std::uint32_t step) noexcept;
  Ran run_encode(Tile& tile, const algorithm::Step& step, Arithmetic::Place place) noexcept;
  Ran run_send(std::uint32_t slot, std::uint32_t step_index) noexcept;
  std::byte* final_place(const Tile& tile, const algorithm::Step& step, Arithmetic::Place place) const noexcept;
  Ran run_combine(Tile& tile, const algorithm::Step& step, Arithmetic::Place place) noexcept;
  Ran run_publish(Tile& tile, const algorithm::Step& step, Arithmetic::Place place) noexcept;
  Ran run_keep(Tile& tile, const algorithm::Step& step, Arithmetic::Place place) noexcept;
  Ran run_store(Tile& tile, const algorithm::Step& step, Arithmetic::Place place) noexcept;

  View view_of(const Tile& tile, const algorithm::Operand& o, Arithmetic::Place place) const noexcept;
  void settle(Tile& tile, Frame& frame) noexcept;  ///< releases a frame that nobody reads
  void drop(Tile& tile, const algorithm::Operand& o) noexcept;
  void drop_value(Tile& tile, std::uint32_t value) noexcept;
  std::byte* take_buffer(bool for_value) noexcept;
  void give_buffer(std::byte* buffer) noexcept;
  Ran give_up(Status why) noexcept;

  Arithmetic::Place place_of(std::uint32_t tile, std::uint32_t slice) const noexcept {
    const auto range = plan_.geometry.part(slice, tile);
    return {range.first, range.n};
  }
  std::byte* result_at(Arithmetic::Place place) const noexcept {
    return recv_ + place.first * plan_.problem.element_bytes;
  }

  const plan::Plan& plan_;
  transport::Channel& channel_;
  device::Pool& pool_;
  Arithmetic arithmetic_;
  codec::FrameHeader header_;
  codec::Env env_;
  Counters counters_;

  const std::byte* send_ = nullptr;
  std::byte* recv_ = nullptr;
  std::uint64_t token_ = 0;
  const bool timed_;
  double began_ = 0;
  std::vector<Tile> tiles_;  // slots; a tile lives in any free one
  std::uint32_t next_tile_ = 0, tiles_left_ = 0;
  std::vector<Ref> ready_;    // a stack: what has just become possible runs first
  std::vector<Ref> blocked_;  // sends that met back-pressure
  std::vector<Ref> starved_;  // encodes that found no buffer
  std::vector<EarlyFrame> early_;
  std::vector<std::byte*> free_buffers_;
  std::byte* scratch_ = nullptr;
  int values_held_ = 0, buffers_taken_ = 0;
  std::uint32_t pending_sends_ = 0;
  std::unique_ptr<Exchange> exchange_;  // null: never
  Counters exchange_counters_;          // of every exchange
  bool exchanging_ = false;             // and not yet over
  bool exchanged_ = false;              // no step of this start has run or will
  bool posted_ = false;                 // an exchange has sent what steps would send
  bool running_ = false, failed_ = false, in_run_ready_ = false;
  Status why_;
  std::string why_text_;  // keeps why_'s text
};

}  // namespace wring::runtime
