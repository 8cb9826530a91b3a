// SPDX-License-Identifier: BSD-3-Clause
// simulate.cpp - a discrete event simulation of programs.
//
// A rank's processor runs everything that is possible in one go, its clock ahead of the others':
// nothing that others do changes the order of what it does, as frames are looked at only when it
// has nothing else to do. What reaches others are events at the times at which they happen:
//   head  the first byte of a frame is at the receiver, whose side of the link takes frames one
//         after another;
//   frame all of it is there;
//   gone  all of it has left the sender;
//   wake  the processor is free again, and something came meanwhile.
#include "plan/simulate.hpp"

#include <algorithm>
#include <queue>

#include "codec/frame.hpp"

namespace wring::plan {

using algorithm::Content;
using algorithm::Operand;
using algorithm::Program;
using algorithm::Step;

namespace {

class Simulation {
 public:
  Simulation(const Cast& cast, const Load& load, std::uint32_t tiles)
      : cast_(cast),
        load_(load),
        tiles_(tiles),
        ranks_(cast.programs().size()),
        uniform_(cast.stands_for_others()) {
    const codec::CostModel model =
        load.codec.codec->cost_model(load.codec.params, real_of(load.problem.dtype));
    const double slow = load.processor.sharing;
    const Problem& p = load.problem;
    real_bytes_ =
        static_cast<double>(p.dtype == Dtype::opaque ? p.element_bytes : size_of(real_of(p.dtype)));
    typed_bytes_ = p.element_bytes;
    encoded_ = model.encode_rate > 0;
    encoded_bytes_ = real_bytes_ / model.ratio;
    encode_ = encoded_ ? slow * real_bytes_ / model.encode_rate : 0;
    decode_ = encoded_ ? slow * real_bytes_ / model.decode_rate : 0;
    copy_ = slow * real_bytes_ / load.processor.copy_rate;
    add_ = slow * real_bytes_ / load.processor.add_rate;
    std::uint32_t links = 0;
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      links = std::max(links, cast.link(r) + 1);
      ranks_[r].program = &cast.programs()[r];
      ranks_[r].slots.resize(std::min(load.depth, tiles));
    }
    between_.resize(links);
  }

  /// Seconds until all ranks are done.
  double run() {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) go_on(r, 0);
    while (!events_.empty()) {
      const Event e = events_.top();
      events_.pop();
      Rank& rank = ranks_[e.rank];
      switch (e.kind) {
        case Event::Kind::head: {
          const double seconds = wire_seconds(e.rank, e.tile, e.step);
          const double end = sides(e.rank, e.step).receiving.take(e.time, seconds);
          push(Event::Kind::frame, end, e.rank, e.tile, e.step);
          break;
        }
        case Event::Kind::frame:
          rank.inbox.push({e.tile, e.step});
          go_on(e.rank, e.time);
          break;
        case Event::Kind::gone:
          complete(rank, slot_of(rank, e.tile), e.step);
          end_ = std::max(end_, e.time);
          go_on(e.rank, e.time);
          break;
        case Event::Kind::wake:
          rank.wakes = false;
          go_on(e.rank, e.time);
          break;
      }
    }
    return end_;
  }

  /// Seconds that the busiest processor, and the busiest of everything, was busy.
  double work() const {
    double most = 0;
    for (const Rank& r : ranks_) most = std::max(most, r.work);
    return most;
  }
  double busiest() const {
    double most = work();
    for (const Rank& r : ranks_) most = std::max(most, r.inside.busiest());
    for (const Sides& link : between_) most = std::max(most, link.busiest());
    return most;
  }

 private:
  struct Event {
    enum class Kind : std::uint8_t { head, frame, gone, wake };
    double time;
    std::uint64_t order;  ///< of events at the same time
    std::uint32_t rank, tile, step;
    Kind kind;
    bool operator<(const Event& other) const {  // the first comes out first
      return time != other.time ? time > other.time : order > other.order;
    }
  };
  struct Slot {
    std::uint32_t tile = 0, steps_left = 0;
    std::vector<std::uint16_t> needs;
  };
  struct Ref {
    std::uint32_t slot, step;
  };
  struct Frame {
    std::uint32_t tile, step;
  };
  /// What carries one frame at a time.
  struct Side {
    double until = 0, busy = 0;
    /// Returns when what begins at `time`, or when the side is free, and takes `seconds` is over.
    double take(double time, double seconds) {
      until = std::max(time, until) + seconds;
      busy += seconds;
      return until;
    }
  };
  struct Sides {
    Side sending, receiving;
    double busiest() const { return std::max(sending.busy, receiving.busy); }
  };
  struct Rank {
    const Program* program = nullptr;
    std::vector<Slot> slots;
    std::vector<Ref> ready;
    std::vector<Frame> early;
    std::queue<Frame> inbox;
    std::uint32_t next_tile = 0;
    Sides inside;  ///< of its node
    double computing_until = 0, work = 0;
    bool wakes = false;
  };

  void push(Event::Kind kind, double time, std::uint32_t rank, std::uint32_t tile,
            std::uint32_t step) {
    events_.push({time, order_++, rank, tile, step, kind});
  }

  /// Where one rank stands for all, it sends what it gets: slices are as long as the longest then.
  double elements(const Step& step, std::uint32_t tile) const {
    return static_cast<double>(load_.geometry.part(uniform_ ? 0 : step.slice, tile).n);
  }
  double bytes_of(std::uint32_t rank, std::uint32_t tile, std::uint32_t step_index) const {
    const Step& step = ranks_[rank].program->steps[step_index];
    const double each = encoded_ && !step.raw              ? encoded_bytes_
                        : step.content == Content::partial ? real_bytes_
                                                           : typed_bytes_;
    return each * elements(step, tile) + static_cast<double>(codec::kHeaderBytes);
  }
  /// Seconds that a frame keeps a side of a link busy.
  double wire_seconds(std::uint32_t rank, std::uint32_t tile, std::uint32_t step) const {
    const std::uint32_t crossings = cast_.crossings(rank, step);
    return std::max(1u, crossings) * bytes_of(rank, tile, step) / link_of(rank, step).bandwidth;
  }
  /// Where only some of those whom an actor stands for cross, who waits for whom goes around: what
  /// a frame costs beside its bytes is what it costs on average.
  Link link_of(std::uint32_t rank, std::uint32_t step) const {
    const Link& in = load_.at_once ? load_.network.short_way.link : load_.network.inside_node;
    const Link& out = load_.network.between_nodes;
    const std::uint32_t crossings = cast_.crossings(rank, step);
    if (crossings == 0) return in;
    const double part = crossings / static_cast<double>(cast_.ranks());
    return {.latency = part * out.latency + (1 - part) * in.latency,
            .bandwidth = out.bandwidth,
            .overhead = part * out.overhead + (1 - part) * in.overhead};
  }
  Sides& sides(std::uint32_t rank, std::uint32_t step) {
    return cast_.crossings(rank, step) > 0 ? between_[cast_.link(rank)] : ranks_[rank].inside;
  }
  double overhead(std::uint32_t rank, std::uint32_t step) const {
    return load_.processor.sharing * link_of(rank, step).overhead;
  }
  double seconds_of(const Step& step, std::uint32_t tile) const {
    const bool encoded = encoded_ && !step.raw;
    double each = 0;
    switch (step.kind) {
      case Step::Kind::encode:
        each = encoded ? encode_ : 0;
        break;
      case Step::Kind::publish:
        each = encoded ? encode_ + decode_ : copy_;
        break;
      case Step::Kind::keep:
        each = load_.at_once ? 0 : copy_;
        break;
      case Step::Kind::store:
        each = encoded ? decode_ : copy_;
        break;
      case Step::Kind::combine: {
        // The first frame is decoded, the second decoded and added; without frames it is a mere
        // sum.
        const int frames =
            (step.a.kind == Operand::Kind::frame) + (step.b.kind == Operand::Kind::frame);
        each = frames > 0 && encoded ? frames * decode_ : add_;
        break;
      }
      case Step::Kind::send:
      case Step::Kind::recv:
        break;
    }
    return each * elements(step, tile);
  }

  std::uint32_t slot_of(const Rank& rank, std::uint32_t tile) const {
    std::uint32_t slot = 0;
    while (rank.slots[slot].steps_left == 0 || rank.slots[slot].tile != tile) ++slot;
    return slot;
  }

  void complete(Rank& rank, std::uint32_t slot_index, std::uint32_t step) {
    const Program& p = *rank.program;
    Slot& slot = rank.slots[slot_index];
    for (std::uint32_t i = p.successor_from[step + 1]; i-- > p.successor_from[step];) {
      const std::uint32_t next = p.successors[i];
      if (--slot.needs[next] == 0) rank.ready.push_back({slot_index, next});
    }
    --slot.steps_left;
  }

  void begin_tiles(Rank& rank) {
    const Program& p = *rank.program;
    for (std::uint32_t s = 0; s < rank.slots.size() && rank.next_tile < tiles_; ++s) {
      Slot& slot = rank.slots[s];
      if (slot.steps_left > 0) continue;
      slot.tile = rank.next_tile++;
      slot.steps_left = static_cast<std::uint32_t>(p.steps.size());
      slot.needs = p.needs;
      for (auto it = p.roots.rbegin(); it != p.roots.rend(); ++it) rank.ready.push_back({s, *it});
      if (!uniform_ && load_.geometry.part(p.slices - 1, slot.tile).n == 0) {
        for (const auto& r : p.receives) {
          if (elements(p.steps[r.step], slot.tile) == 0) complete(rank, s, r.step);
        }
      }
      for (std::size_t i = 0; i < rank.early.size();) {
        if (rank.early[i].tile != slot.tile) {
          ++i;
          continue;
        }
        complete(rank, s, rank.early[i].step);
        rank.early[i] = rank.early.back();
        rank.early.pop_back();
      }
    }
  }

  /// Lets a rank's processor do all it can from `now` on.
  void go_on(std::uint32_t index, double now) {
    Rank& rank = ranks_[index];
    if (rank.computing_until > now) {
      if (!rank.wakes) push(Event::Kind::wake, rank.computing_until, index, 0, 0);
      rank.wakes = true;
      return;
    }
    double clock = now;
    for (;;) {
      if (rank.ready.empty()) begin_tiles(rank);
      if (!rank.ready.empty()) {
        const Ref ref = rank.ready.back();
        rank.ready.pop_back();
        clock = run_step(index, ref, clock);
      } else if (!rank.inbox.empty()) {
        const double seconds = overhead(index, rank.inbox.front().step);
        clock += seconds;
        rank.work += seconds;
        take(rank, rank.inbox.front());
        rank.inbox.pop();
      } else {
        break;
      }
    }
    rank.computing_until = clock;
    end_ = std::max(end_, clock);
  }

  void take(Rank& rank, Frame frame) {
    if (frame.tile >= rank.next_tile) {
      rank.early.push_back(frame);
    } else {
      complete(rank, slot_of(rank, frame.tile), frame.step);
    }
  }

  /// Returns when it is done.
  double run_step(std::uint32_t index, Ref ref, double clock) {
    Rank& rank = ranks_[index];
    const Step& step = rank.program->steps[ref.step];
    const std::uint32_t tile = rank.slots[ref.slot].tile;
    if (step.kind != Step::Kind::send || elements(step, tile) == 0) {
      const double seconds = seconds_of(step, tile);
      complete(rank, ref.slot, ref.step);
      rank.work += seconds;
      return clock + seconds;
    }
    const double spent = overhead(index, ref.step), seconds = wire_seconds(index, tile, ref.step);
    clock += spent;
    rank.work += spent;
    const double end = sides(index, ref.step).sending.take(clock, seconds);
    const double latency = link_of(index, ref.step).latency;
    const Cast::Target target = cast_.target(index, ref.step);
    push(Event::Kind::head, end - seconds + latency, target.actor, tile, target.step);
    push(Event::Kind::gone, end, index, tile, ref.step);
    return clock;
  }

  const Cast& cast_;
  const Load& load_;
  const std::uint32_t tiles_;
  std::vector<Rank> ranks_;
  std::vector<Sides> between_;  // links of the nodes
  const bool uniform_;
  std::priority_queue<Event> events_;
  std::uint64_t order_ = 0;
  double end_ = 0;
  // Seconds, or bytes, for each element.
  double real_bytes_, typed_bytes_, encoded_bytes_;
  double encode_, decode_, copy_, add_;
  bool encoded_;
};

}  // namespace

Prediction simulate(const Cast& cast, const Load& load, std::uint32_t tiles) {
  const Geometry& g = load.geometry;
  tiles = std::min(tiles, g.tiles);
  Simulation some(cast, load, tiles);
  Prediction out{.seconds = some.run(), .work = some.work()};
  if (tiles == g.tiles) return out;
  // The rest keeps the busiest part busy, or, where every part waits for frames to come around,
  // ends as many tiles as are in flight in the time that one takes. The last tile may be shorter.
  Simulation one(cast, load, 1);
  const double each = std::max(some.busiest() / tiles, one.run() / load.depth);
  const double more = static_cast<double>(g.slice(0).n) / static_cast<double>(g.segment) - tiles;
  out.seconds += more * each;
  out.work *= 1 + more / tiles;
  return out;
}

}  // namespace wring::plan
