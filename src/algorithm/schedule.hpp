// SPDX-License-Identifier: BSD-3-Clause
// schedule.hpp - what an algorithm is: a program of steps over slices of the vector.
//
// The vector is cut into `slices` (as many as the algorithm wants, say one for each rank or one in all),
// and every slice into segments. Segment t of all slices together is *tile* t. A rank's Program says
// what it does with one tile; the engine runs several tiles at once, each step of a tile as soon as
// the steps it depends on are done. So encoding, wire and reduction of neighbouring tiles overlap
// without the algorithm knowing, and bits do not depend on the segment size.
//
// A step reads operands and produces at most one new one, never changing an old one (single
// assignment), so that dependencies follow from the data flow. Programs know no codec, transport or
// device; the same object is run by the engine over real transports, by the tests with N ranks in one
// process, and can be walked by a cost simulator.
#pragma once

#include <cstdint>
#include <vector>

#include "codec/frame.hpp"

namespace wring::algorithm {

using codec::Content;

/// Something that a step reads.
struct Operand {
  enum class Kind : std::uint8_t {
    none,
    own,    ///< this rank's contribution to slice `index`
    value,  ///< accumulator values made by combine
    frame,  ///< encoded values, made by encode or publish, or received
  };
  Kind kind = Kind::none;
  std::uint32_t index = 0;
  std::uint32_t ranks = 0;  ///< how many ranks' contributions it holds
  bool operator==(const Operand&) const = default;
};

struct Step {
  enum class Kind : std::uint8_t {
    encode,   ///< out (frame) = encode(a)
    send,     ///< a (frame) to peer
    recv,     ///< out (frame) from peer
    combine,  ///< out (value) = a + b, a from the lower ranks; frames are decoded
    publish,  ///< result[slice] = decode(out), out (frame) = encode(finished a)
    keep,     ///< result[slice] = finished a, exact: every rank computes it for itself
    store,    ///< result[slice] = decode(a), a (frame) from publish of another rank
  };
  Kind kind;
  Content content = Content::contribution;  ///< of the frame made, sent or received
  std::uint32_t slice = 0;
  Operand a, b, out;
  std::int32_t peer = -1;
  std::uint32_t label = 0;  ///< send, recv: tells the transfers between two ranks apart
  /// encode, publish: stands for "rank" in stochastic rounding. Ranks that encode the same value for
  /// the same purpose give the same key, so that they produce the same bytes.
  std::uint32_t key = 0;
  /// The frames that the step makes, moves or reads are raw, whatever the codec.
  bool raw = false;
};

/// "encode", "send" ...
const char* name_of(Step::Kind kind) noexcept;

/// One rank's steps for a tile, and how they depend on each other. Immutable once built.
struct Program {
  std::uint32_t slices = 1;
  std::uint32_t values = 0;  ///< value operands made in one tile
  std::uint32_t frames = 0;  ///< frame operands made in one tile
  /// Most accumulator buffers that a tile holds at a time: those that cannot be given back before
  /// another rank's frame has come.
  std::uint32_t live_values = 1;
  std::vector<Step> steps;
  std::vector<std::uint16_t> needs;           ///< per step: how many steps must be done before
  std::vector<std::uint32_t> successors;      ///< lists of steps that need a step ...
  std::vector<std::uint32_t> successor_from;  ///< ... of step i: [successor_from[i], [i + 1])
  std::vector<std::uint16_t> value_uses;      ///< per value: how many steps read it
  std::vector<std::uint16_t> frame_uses;      ///< per frame: how many steps read it
  std::vector<std::uint32_t> roots;           ///< steps that need nothing, in order
  /// Receives in order of (peer, label), to find the step that a frame belongs to.
  struct Receive {
    std::int32_t peer;
    std::uint32_t label;
    std::uint32_t step;
  };
  std::vector<Receive> receives;

  /// Step that receives (peer, label), or -1.
  std::int64_t find_receive(std::int32_t peer, std::uint32_t label) const noexcept;
};

/// Makes a Program step by step. Order of calls is the order in which ready steps are preferred.
class Builder {
 public:
  explicit Builder(std::uint32_t slices) { program_.slices = slices; }

  static Operand own(std::uint32_t slice) { return {Operand::Kind::own, slice, 1}; }

  // raw: the frame is raw whatever the codec, as between ranks that share memory. Those who receive it
  // say the same.
  Operand encode(Operand a, std::uint32_t slice, std::uint32_t key, bool raw = false);
  void send(Operand frame, std::uint32_t slice, int peer, std::uint32_t label);
  Operand recv(int peer, std::uint32_t slice, std::uint32_t label, Content content, std::uint32_t ranks,
               bool raw = false);
  Operand combine(Operand lower, Operand upper, std::uint32_t slice);
  Operand publish(Operand a, std::uint32_t slice, std::uint32_t key, bool raw = false);
  void keep(Operand a, std::uint32_t slice);
  void store(Operand frame, std::uint32_t slice);

  /// Works out dependencies and uses. live_values: see Program.
  Program finish(std::uint32_t live_values);

 private:
  struct Made {
    Content content;
    bool raw;
  };
  Operand new_frame(std::uint32_t ranks, Made made) {
    made_.push_back(made);
    return {Operand::Kind::frame, program_.frames++, ranks};
  }
  bool is_raw(Operand o) const { return o.kind == Operand::Kind::frame && made_[o.index].raw; }
  std::vector<Made> made_;  // by frame index
  Program program_;
};

}  // namespace wring::algorithm
