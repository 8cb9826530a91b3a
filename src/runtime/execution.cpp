// SPDX-License-Identifier: BSD-3-Clause
// execution.cpp - the life of tiles: begin, frames in, steps in order of readiness, end.
#include "runtime/execution.hpp"

#include <algorithm>
#include <limits>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/trace.hpp"
#include "runtime/sequence.hpp"

namespace wring::runtime {

using algorithm::Operand;
using algorithm::Step;

namespace {

/// In a tile's `needs`: the step is done.
constexpr std::uint16_t kDone = std::numeric_limits<std::uint16_t>::max();

/// Staging of plans up to this size stays with the plan between calls: it saves the pool's lock in the
/// latency path and is too little to matter.
constexpr std::size_t kKeepBytes = 16 * 1024;
/// Messages from this size on are timed: reading the clock shows in smaller ones.
constexpr std::uint64_t kTimedBytes = 64 * 1024;

}  // namespace

Execution::Execution(const plan::Plan& plan, transport::Channel& channel, device::Pool& pool,
                     std::uint64_t context)
    : plan_(plan),
      channel_(channel),
      pool_(pool),
      arithmetic_(plan.problem, plan.choice.codec, kernels::best()),
      timed_(plan.problem.bytes() >= kTimedBytes || trace::enabled()) {
  header_.context = context;
  header_.count = plan.problem.count;
  header_.dtype = plan.problem.dtype;
  header_.op = plan.problem.op;
  header_.codec = plan.problem.codec.codec->wire_id;
  header_.algorithm = plan.choice.algorithm->wire_id;
  header_.detail = plan.detail;
  header_.source = static_cast<std::uint32_t>(plan.rank);

  const auto& program = plan.program;
  tiles_.resize(static_cast<std::size_t>(plan.depth));
  for (Tile& tile : tiles_) {
    tile.needs.resize(program.steps.size());
    tile.frames.resize(program.frames);
    tile.values.resize(program.values);
  }
  const std::size_t all = tiles_.size() * program.steps.size();
  ready_.reserve(all);
  blocked_.reserve(all);
  starved_.reserve(all);
  early_.reserve(2 * tiles_.size() * program.receives.size());
  // Accumulators may outnumber plan.buffers for a moment: giving one back must not allocate.
  free_buffers_.reserve(static_cast<std::size_t>(plan.buffers) + tiles_.size() * program.values);
  if (!timed_) exchange_ = Exchange::make(plan, channel, arithmetic_, header_);
  exchange_counters_.raw_bytes = plan.raw_bytes;
  exchange_counters_.frames = static_cast<std::uint64_t>(plan.problem.size - 1);
  exchange_counters_.wire_bytes = exchange_counters_.frames * (codec::kHeaderBytes + plan.problem.bytes());
}

Execution::~Execution() {
  for (std::byte* buffer : free_buffers_) pool_.release(buffer, plan_.buffer_bytes);
  if (scratch_ != nullptr) pool_.release(scratch_, plan_.buffer_bytes);
}

void Execution::set_out(const void* send, void* recv, StartId id, OpaqueReduce opaque) noexcept {
  send_ = static_cast<const std::byte*>(send);
  recv_ = static_cast<std::byte*>(recv);
  header_.plan = id.lane;
  header_.start = id.start;
  token_ = id.token;
  arithmetic_.set_opaque(opaque);
  running_ = true;
  failed_ = false;
  why_ = {};
}

Status Execution::begin(const void* send, void* recv, StartId id, OpaqueReduce opaque) noexcept {
  set_out(send, recv, id, opaque);
  posted_ = exchanged_ = false;
  return begin_steps();
}

Status Execution::begin_steps() noexcept {
  env_ = {.kernels = nullptr, .rank = 0, .step = 0, .start = header_.start, .escapes = 0, .overflows = 0};
  counters_ = {};
  counters_.raw_bytes = plan_.raw_bytes;
  if (timed_) began_ = now();
  next_tile_ = 0;
  tiles_left_ = plan_.geometry.tiles;
  const bool rescales = plan_.problem.op == Op::avg && plan_.choice.codec.lossy();
  if ((!arithmetic_.wide() || rescales) && scratch_ == nullptr) {
    scratch_ = pool_.acquire(plan_.buffer_bytes);
    if (scratch_ == nullptr) return {Code::no_memory, "no memory for a staging buffer"};
  }
  run_ready();
  return {};
}

// --- as an exchange ---------------------------------------------------------------------------------

bool Execution::begin_exchange(const void* send, void* recv, std::uint32_t lane, std::uint32_t start, OpaqueReduce opaque) noexcept {
  if (exchange_ == nullptr || opaque.calls_mpi) return false;
  if (!exchange_->post(static_cast<const std::byte*>(send), static_cast<std::byte*>(recv), lane, start)) return false;
  set_out(send, recv, {lane, start, 0}, opaque);
  exchanging_ = exchanged_ = true;
  tiles_left_ = 1;
  return true;
}

bool Execution::poll_exchange() noexcept {
  Status status;
  if (!exchange_->poll(status)) return false;
  exchanging_ = false;
  tiles_left_ = 0;
  if (status.is_error()) abandon(status);
  return true;
}

Status Execution::leave_exchange(std::uint64_t token) noexcept {
  token_ = token;
  exchanging_ = exchanged_ = false;
  posted_ = true;
  const Status status = begin_steps();
  exchange_->hand_over([this](const codec::FrameHeader& header, const transport::Message& message) {
    if (!deliver(header, message)) channel_.release(message.handle);
  });
  return status;
}

Status Execution::end() noexcept {
  running_ = false;
  if (exchanged_) return why_;
  // What an abandoned start still holds: frames of the transport, buffers in the middle of steps.
  for (const EarlyFrame& e : early_) channel_.release(e.message.handle);
  early_.clear();
  for (Tile& tile : tiles_) {
    if (!tile.active) continue;
    for (Frame& f : tile.frames) {
      if (f.uses == 0) continue;
      if (f.owner == Frame::Owner::message) channel_.release(f.message);
      if (f.owner == Frame::Owner::buffer) give_buffer(f.buffer);
      f.uses = 0;
    }
    for (Value& v : tile.values) {
      if (v.buffer != nullptr && !v.home) give_buffer(v.buffer);
      v.buffer = nullptr;
    }
    tile.active = false;
  }
  values_held_ = 0;
  ready_.clear();
  blocked_.clear();
  starved_.clear();
  if (plan_.buffer_bytes > kKeepBytes) {
    for (std::byte* buffer : free_buffers_) pool_.release(buffer, plan_.buffer_bytes);
    free_buffers_.clear();
    buffers_taken_ = 0;
    if (scratch_ != nullptr) pool_.release(scratch_, plan_.buffer_bytes);
    scratch_ = nullptr;
  }
  counters_.escapes = env_.escapes;
  counters_.overflows = env_.overflows;
  if (timed_) {
    const double end = now();
    counters_.seconds = end - began_;
    if (trace::enabled()) {
      trace::record({.name = failed_ ? "failed start" : plan_.choice.algorithm->name, .begin = began_, .end = end, .lane = header_.plan,
                     .start = header_.start, .tile = 0, .peer = -1, .bytes = plan_.problem.bytes(), .row = trace::Span::Row::starts});
    }
  }
  return why_;
}

void Execution::abandon(Status why) noexcept {
  if (failed_) return;
  failed_ = true;
  if (exchanging_) exchange_->drop();
  exchanging_ = false;
  try {
    why_text_ = why.what();
    why_ = {why.code(), why_text_.c_str(), why.detail()};
  } catch (...) {
    why_ = {why.code(), "no memory for the error text", why.detail()};
  }
  ready_.clear();
  blocked_.clear();
  starved_.clear();
}

Execution::Ran Execution::give_up(Status why) noexcept {
  abandon(why);
  return Ran::failed;
}

// --- tiles ------------------------------------------------------------------------------------------

void Execution::begin_tiles() noexcept {
  for (std::uint32_t slot = 0; slot < tiles_.size() && !failed_; ++slot) {
    if (next_tile_ == plan_.geometry.tiles) return;
    if (!tiles_[slot].active) begin_tile(slot);
  }
}

void Execution::begin_tile(std::uint32_t slot) noexcept {
  const auto& program = plan_.program;
  Tile& tile = tiles_[slot];
  tile.index = next_tile_++;
  tile.active = true;
  tile.steps_left = static_cast<std::uint32_t>(program.steps.size());
  std::copy(program.needs.begin(), program.needs.end(), tile.needs.begin());
  for (std::uint32_t i = 0; i < program.frames; ++i) {
    tile.frames[i] = {};
    tile.frames[i].uses = program.frame_uses[i];
  }
  for (std::uint32_t i = 0; i < program.values; ++i) tile.values[i] = {nullptr, 0, program.value_uses[i], false};
  for (auto it = program.roots.rbegin(); it != program.roots.rend(); ++it) ready_.push_back({slot, *it});

  // Nobody sends the empty parts of the last tiles.
  if (place_of(tile.index, program.slices - 1).n == 0) {
    for (const auto& r : program.receives) {
      if (place_of(tile.index, program.steps[r.step].slice).n == 0) complete(slot, r.step);
    }
  }
  for (std::size_t i = 0; i < early_.size() && !failed_;) {
    if (early_[i].header.tile != tile.index) {
      ++i;
      continue;
    }
    const EarlyFrame e = early_[i];
    early_[i] = early_.back();
    early_.pop_back();
    const auto step = program.find_receive(static_cast<std::int32_t>(e.header.source), e.header.label);
    if (step < 0 || !receive(tile, slot, static_cast<std::uint32_t>(step), e.header, e.message)) {
      channel_.release(e.message.handle);
      if (!failed_) (void)give_up({Code::corrupt_frame, "a frame that no step waits for"});
      return;
    }
    Frame& frame = tile.frames[program.steps[static_cast<std::size_t>(step)].out.index];
    frame.owner = Frame::Owner::message;
    frame.message = e.message.handle;
  }
}

bool Execution::deliver(const codec::FrameHeader& header, const transport::Message& message) noexcept {
  if (failed_) return false;
  const auto& program = plan_.program;
  const auto step = program.find_receive(static_cast<std::int32_t>(header.source), header.label);
  if (step < 0 || header.tile >= plan_.geometry.tiles) {
    (void)give_up(fail(Code::corrupt_frame, 0, "frame from rank %u for tile %u, transfer %u, that no step waits for",
                       header.source, header.tile, header.label));
    return false;
  }
  for (std::uint32_t slot = 0; slot < tiles_.size(); ++slot) {
    Tile& tile = tiles_[slot];
    if (!tile.active || tile.index != header.tile) continue;
    const auto index = static_cast<std::uint32_t>(step);
    if (!receive(tile, slot, index, header, message)) return false;
    run_ready();
    // Most frames have been consumed by now. One that waits for others, or is being sent on, is kept;
    // its tile cannot have ended.
    Frame& frame = tile.frames[program.steps[index].out.index];
    if (!tile.active || tile.index != header.tile || frame.uses == 0) return false;
    frame.owner = Frame::Owner::message;
    frame.message = message.handle;
    return true;
  }
  if (header.tile < next_tile_) {
    (void)give_up(fail(Code::corrupt_frame, 0, "frame from rank %u for tile %u came twice", header.source, header.tile));
    return false;
  }
  try {
    early_.push_back({header, message});
  } catch (...) {
    (void)give_up({Code::no_memory, "no memory for a frame that came early"});
    return false;
  }
  return true;
}

bool Execution::receive(Tile& tile, std::uint32_t slot, std::uint32_t step_index,
                        const codec::FrameHeader& header, const transport::Message& message) noexcept {
  const Step& step = plan_.program.steps[step_index];
  const Arithmetic::Place place = place_of(tile.index, step.slice);
  const std::size_t expected = arithmetic_.wire_bytes(step.content, step.raw, place.n);
  if (tile.needs[step_index] == kDone || header.content != step.content || header.elements != place.n ||
      place.n == 0 || (expected != 0 && message.payload_bytes != expected)) {
    (void)give_up(fail(Code::corrupt_frame, 0,
                       "frame from rank %u, tile %u: %u elements in %zu bytes, where %zu elements were expected",
                       header.source, header.tile, header.elements, message.payload_bytes, place.n));
    return false;
  }
  tile.frames[step.out.index].view = {message.payload, message.payload_bytes, arithmetic_.wire_form(step.content, step.raw),
                                      header.scale};
  complete(slot, step_index);
  return true;
}

// --- readiness --------------------------------------------------------------------------------------

void Execution::run_ready() noexcept {
  if (in_run_ready_) return;
  in_run_ready_ = true;
  while (!failed_) {
    if (ready_.empty()) {
      if (next_tile_ == plan_.geometry.tiles) break;
      begin_tiles();
      if (ready_.empty()) break;
    }
    const Ref ref = ready_.back();
    ready_.pop_back();
    switch (timed_ ? run_timed(ref.slot, ref.step) : run(ref.slot, ref.step)) {
      case Ran::done: complete(ref.slot, ref.step); break;
      case Ran::starved: starved_.push_back(ref); break;
      case Ran::blocked: blocked_.push_back(ref); break;
      case Ran::pending:
      case Ran::failed: break;
    }
  }
  in_run_ready_ = false;
}

void Execution::complete(std::uint32_t slot, std::uint32_t step) noexcept {
  const auto& program = plan_.program;
  Tile& tile = tiles_[slot];
  tile.needs[step] = kDone;
  for (std::uint32_t i = program.successor_from[step + 1]; i-- > program.successor_from[step];) {
    const std::uint32_t next = program.successors[i];
    if (--tile.needs[next] == 0) ready_.push_back({slot, next});
  }
  if (--tile.steps_left == 0) {
    tile.active = false;
    --tiles_left_;
  }
}

void Execution::sent(std::uint64_t token, Status status) noexcept {
  --pending_sends_;
  if (failed_) return;
  if (status.is_error()) {
    (void)give_up(status);
    return;
  }
  const auto slot = static_cast<std::uint32_t>((token - token_) >> kSlotShift), step = static_cast<std::uint32_t>(token);
  drop(tiles_[slot], plan_.program.steps[step].a);
  complete(slot, step);
  run_ready();
}

void Execution::advance() noexcept {
  if (failed_ || blocked_.empty()) return;
  while (!blocked_.empty()) {
    ready_.push_back(blocked_.back());
    blocked_.pop_back();
  }
  run_ready();
}

std::string Execution::waiting_for() const {
  for (const Tile& tile : tiles_) {
    if (!tile.active) continue;
    for (const auto& r : plan_.program.receives) {
      if (tile.needs[r.step] == kDone) continue;
      return "a frame of tile " + std::to_string(tile.index) + " from rank " + std::to_string(r.peer);
    }
  }
  return "own sends to end";
}

}  // namespace wring::runtime
