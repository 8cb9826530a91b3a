// SPDX-License-Identifier: BSD-3-Clause
// steps.cpp - what each kind of step does, and who holds which buffer meanwhile.
//
// A frame is a view of bytes that belong to somebody: the caller's memory (raw contributions and
// results), an accumulator (raw partial sums), a staging buffer (encoded), or the transport (received).
// The last reader of a frame or value gives its memory back.
#include "base/log.hpp"
#include "base/trace.hpp"
#include "base/clock.hpp"
#include "runtime/execution.hpp"
#include "runtime/sequence.hpp"

namespace wring::runtime {

using algorithm::Operand;
using algorithm::Step;

Execution::Ran Execution::run_timed(std::uint32_t slot, std::uint32_t step_index) noexcept {
  const std::uint32_t tile = tiles_[slot].index;
  const Step& step = plan_.program.steps[step_index];
  const double begin = now();
  const Ran ran = run(slot, step_index);
  const double end = now(), seconds = end - begin;
  if (trace::enabled() && ran != Ran::starved && ran != Ran::blocked) {
    const Arithmetic::Place place = place_of(tile, step.slice);
    trace::record({.name = name_of(step.kind), .begin = begin, .end = end, .lane = header_.plan, .start = header_.start,
                   .tile = tile, .peer = step.peer, .bytes = place.n * plan_.problem.element_bytes, .row = trace::Span::Row::steps});
  }
  switch (step.kind) {
    case Step::Kind::encode:
    case Step::Kind::publish: counters_.seconds_encode += seconds; break;
    case Step::Kind::combine:
    case Step::Kind::keep:
    case Step::Kind::store: counters_.seconds_decode += seconds; break;
    case Step::Kind::send:
    case Step::Kind::recv: break;
  }
  return ran;
}

Execution::Ran Execution::run(std::uint32_t slot, std::uint32_t step_index) noexcept {
  Tile& tile = tiles_[slot];
  const Step& step = plan_.program.steps[step_index];
  const Arithmetic::Place place = place_of(tile.index, step.slice);
  if (place.n == 0) return Ran::done;  // on all ranks alike
  switch (step.kind) {
    case Step::Kind::encode: return run_encode(tile, step, place);
    case Step::Kind::send: return run_send(slot, step_index);
    case Step::Kind::combine: return run_combine(tile, step, place);
    case Step::Kind::publish: return run_publish(tile, step, place);
    case Step::Kind::keep: return run_keep(tile, step, place);
    case Step::Kind::store: return run_store(tile, step, place);
    case Step::Kind::recv: break;
  }
  return give_up({Code::internal, "a receive was run as a step"});
}

View Execution::view_of(const Tile& tile, const Operand& o, Arithmetic::Place place) const noexcept {
  switch (o.kind) {
    case Operand::Kind::own: {
      const std::size_t each = plan_.problem.element_bytes;
      return {send_ + place.first * each, place.n * each, arithmetic_.wide() ? Form::real : Form::typed, 0};
    }
    case Operand::Kind::value:
      return {tile.values[o.index].buffer, arithmetic_.real_bytes(place.n), Form::real, tile.values[o.index].scale};
    case Operand::Kind::frame: return tile.frames[o.index].view;
    case Operand::Kind::none: break;
  }
  return {};
}

// --- steps ------------------------------------------------------------------------------------------

Execution::Ran Execution::run_encode(Tile& tile, const Step& step, Arithmetic::Place place) noexcept {
  Frame& frame = tile.frames[step.out.index];
  if (arithmetic_.wire_form(step.content, step.raw) != Form::encoded) {
    // Raw: the frame is what is there already. A value stays until the frame is gone.
    frame.view = view_of(tile, step.a, place);
    if (step.a.kind == Operand::Kind::value) {
      frame.owner = Frame::Owner::value;
      frame.value = step.a.index;
    }
    return Ran::done;
  }
  frame.buffer = take_buffer(false);
  if (frame.buffer == nullptr) return Ran::starved;
  frame.owner = Frame::Owner::buffer;
  env_.rank = step.key;
  env_.step = step.out.ranks;
  int scale = 0;
  const std::size_t bytes = arithmetic_.encode(env_, view_of(tile, step.a, place), step.a.ranks, place, scratch_,
                                               frame.buffer, scale);
  frame.view = {frame.buffer, bytes, Form::encoded, scale};
  drop(tile, step.a);
  settle(tile, frame);
  return Ran::done;
}

Execution::Ran Execution::run_send(std::uint32_t slot, std::uint32_t step_index) noexcept {
  Tile& tile = tiles_[slot];
  const Step& step = plan_.program.steps[step_index];
  const View view = tile.frames[step.a.index].view;
  const auto count = [&] {
    counters_.wire_bytes += codec::kHeaderBytes + view.bytes;
    ++counters_.frames;
  };
  if (posted_) {
    count();
    drop(tile, step.a);
    return Ran::done;
  }
  codec::FrameHeader header = header_;
  header.tile = tile.index;
  header.label = step.label;
  header.content = step.content;
  header.scale = static_cast<std::uint8_t>(view.scale);
  header.elements = static_cast<std::uint32_t>(place_of(tile.index, step.slice).n);
  header.payload_bytes = static_cast<std::uint32_t>(view.bytes);
  alignas(8) std::byte bytes[codec::kHeaderBytes];
  codec::pack(header, plan_.checksum, {view.data, view.bytes}, bytes);
  const auto token = token_ | static_cast<std::uint64_t>(slot) << kSlotShift | step_index;
  const auto result = channel_.send(step.peer, bytes, view.data, view.bytes, token);
  if (result == transport::Sent::again) return Ran::blocked;
  if (result == transport::Sent::failed) {
    return give_up(fail(Code::transport_error, 0, "cannot send to rank %d", step.peer));
  }
  count();
  if (result == transport::Sent::pending) {
    ++pending_sends_;
    return Ran::pending;
  }
  drop(tile, step.a);
  return Ran::done;
}

/// The caller's memory, if all that is left to do with the sum is to put it there, unchanged, and nobody will read
/// what is there now: a copy less, and a staging buffer less in the cache.
std::byte* Execution::final_place(const Tile& tile, const Step& step, Arithmetic::Place place) const noexcept {
  if (!arithmetic_.wide() || !plan_.problem.encodable() || plan_.problem.op == Op::avg) return nullptr;
  const auto& program = plan_.program;
  const auto at = static_cast<std::size_t>(&step - program.steps.data());
  if (program.successor_from[at + 1] - program.successor_from[at] != 1) return nullptr;
  const std::uint32_t next = program.successors[program.successor_from[at]];
  const Step& last = program.steps[next];
  const bool stores = last.kind == Step::Kind::keep || last.kind == Step::Kind::publish;
  if (!stores || arithmetic_.wire_form(last.content, last.raw) == Form::encoded || tile.needs[next] != 1) return nullptr;
  return result_at(place);
}

Execution::Ran Execution::run_combine(Tile& tile, const Step& step, Arithmetic::Place place) noexcept {
  std::byte* home = final_place(tile, step, place);
  // A partial sum that nobody else reads is added to in place. Opaque reduction works on b's memory; an
  // average may have to be added once more, with another scale.
  std::byte* out = nullptr;
  for (const Operand& o : {step.a, step.b}) {
    if (o.kind == Operand::Kind::value && tile.values[o.index].uses == 1 &&
        plan_.problem.op != Op::avg && (o == step.b || plan_.problem.encodable())) {
      out = tile.values[o.index].buffer;
    }
  }
  const bool in_place = out != nullptr && home == nullptr;
  if (!in_place) out = home != nullptr ? home : take_buffer(true);
  if (out == nullptr) return give_up({Code::no_memory, "no memory for a staging buffer"});
  int scale = 0;
  const Status status = arithmetic_.combine(view_of(tile, step.a, place), view_of(tile, step.b, place),
                                            step.out.ranks, place, out, scale);
  if (in_place) {
    for (const Operand& o : {step.a, step.b}) {
      if (o.kind == Operand::Kind::value && tile.values[o.index].buffer == out) {
        tile.values[o.index] = {};
      } else {
        drop(tile, o);
      }
    }
  } else {
    drop(tile, step.a);
    drop(tile, step.b);
  }
  tile.values[step.out.index].buffer = out;
  tile.values[step.out.index].home = home != nullptr;
  tile.values[step.out.index].scale = scale;
  if (status.is_error()) return give_up(status);
  return Ran::done;
}

Execution::Ran Execution::run_publish(Tile& tile, const Step& step, Arithmetic::Place place) noexcept {
  Frame& frame = tile.frames[step.out.index];
  const bool encoded = arithmetic_.wire_form(step.content, step.raw) == Form::encoded;
  if (encoded) {
    frame.buffer = take_buffer(false);
    if (frame.buffer == nullptr) return Ran::starved;
    frame.owner = Frame::Owner::buffer;
  }
  const Value& sum = tile.values[step.a.index];
  std::byte* values = sum.buffer;
  std::byte* result = result_at(place);
  arithmetic_.finish(values, sum.scale, place);
  Status status;
  if (encoded) {
    env_.rank = step.key;
    env_.step = step.a.ranks;
    const View finished{values, arithmetic_.real_bytes(place.n), Form::real, 0, true};
    int scale = 0;
    const std::size_t bytes = arithmetic_.encode(env_, finished, step.a.ranks, place, scratch_, frame.buffer, scale);
    frame.view = {frame.buffer, bytes, Form::encoded, 0};
    status = arithmetic_.store(frame.view, place, scratch_, result);
  } else {
    if (!sum.home) arithmetic_.narrow(values, place, result);
    frame.view = {result, place.n * plan_.problem.element_bytes, arithmetic_.wire_form(step.content, step.raw), 0};
  }
  drop(tile, step.a);
  settle(tile, frame);
  if (status.is_error()) return give_up(status);
  return Ran::done;
}

Execution::Ran Execution::run_keep(Tile& tile, const Step& step, Arithmetic::Place place) noexcept {
  const Value& sum = tile.values[step.a.index];
  arithmetic_.finish(sum.buffer, sum.scale, place);
  if (!sum.home) arithmetic_.narrow(sum.buffer, place, result_at(place));
  drop(tile, step.a);
  return Ran::done;
}

Execution::Ran Execution::run_store(Tile& tile, const Step& step, Arithmetic::Place place) noexcept {
  const Status status =
      arithmetic_.store(tile.frames[step.a.index].view, place, scratch_, result_at(place));
  drop(tile, step.a);
  if (status.is_error()) return give_up(status);
  return Ran::done;
}

// --- who holds what ---------------------------------------------------------------------------------

void Execution::drop(Tile& tile, const Operand& o) noexcept {
  if (o.kind == Operand::Kind::value) {
    drop_value(tile, o.index);
  } else if (o.kind == Operand::Kind::frame) {
    Frame& frame = tile.frames[o.index];
    --frame.uses;
    settle(tile, frame);
  }
}

void Execution::settle(Tile& tile, Frame& frame) noexcept {
  if (frame.uses > 0) return;
  switch (frame.owner) {
    case Frame::Owner::buffer: give_buffer(frame.buffer); break;
    case Frame::Owner::message: channel_.release(frame.message); break;
    case Frame::Owner::value: drop_value(tile, frame.value); break;
    case Frame::Owner::none: break;
  }
  frame.owner = Frame::Owner::none;
}

void Execution::drop_value(Tile& tile, std::uint32_t index) noexcept {
  Value& value = tile.values[index];
  if (--value.uses > 0) return;
  std::byte* buffer = value.buffer;
  value.buffer = nullptr;
  if (value.home) return;
  --values_held_;
  give_buffer(buffer);
}

std::byte* Execution::take_buffer(bool for_value) noexcept {
  // Frames leave enough for all accumulators: those end only with frames from others, frames by
  // themselves.
  const int accumulators = plan_.depth * static_cast<int>(plan_.program.live_values);
  const int available = plan_.buffers - 1 - buffers_taken_ + static_cast<int>(free_buffers_.size());
  if (!for_value && available <= accumulators - values_held_) return nullptr;
  std::byte* buffer = nullptr;
  if (!free_buffers_.empty()) {
    buffer = free_buffers_.back();
    free_buffers_.pop_back();
  } else {
    buffer = pool_.acquire(plan_.buffer_bytes);
    if (buffer == nullptr) return nullptr;
    ++buffers_taken_;
  }
  if (for_value) ++values_held_;
  return buffer;
}

void Execution::give_buffer(std::byte* buffer) noexcept {
  free_buffers_.push_back(buffer);
  if (starved_.empty() || failed_) return;
  ready_.push_back(starved_.back());
  starved_.pop_back();
}

}  // namespace wring::runtime
