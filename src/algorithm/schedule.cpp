// SPDX-License-Identifier: BSD-3-Clause
// schedule.cpp - builds programs and works out which step waits for which.
#include "algorithm/schedule.hpp"

#include <algorithm>
#include <tuple>

namespace wring::algorithm {

const char* name_of(Step::Kind kind) noexcept {
  switch (kind) {
    case Step::Kind::encode: return "encode";
    case Step::Kind::send: return "send";
    case Step::Kind::recv: return "recv";
    case Step::Kind::combine: return "combine";
    case Step::Kind::publish: return "publish";
    case Step::Kind::keep: return "keep";
    case Step::Kind::store: break;
  }
  return "store";
}

std::int64_t Program::find_receive(std::int32_t peer, std::uint32_t label) const noexcept {
  auto less = [](const Receive& r, const std::pair<std::int32_t, std::uint32_t>& key) {
    return std::tie(r.peer, r.label) < std::tie(key.first, key.second);
  };
  auto it = std::lower_bound(receives.begin(), receives.end(), std::pair{peer, label}, less);
  if (it == receives.end() || it->peer != peer || it->label != label) return -1;
  return it->step;
}

Operand Builder::encode(Operand a, std::uint32_t slice, std::uint32_t key, bool raw) {
  const Content content = a.ranks > 1 ? Content::partial : Content::contribution;
  Operand out = new_frame(a.ranks, {content, raw});
  program_.steps.push_back({.kind = Step::Kind::encode, .content = content, .slice = slice, .a = a, .b = {},
                            .out = out, .peer = -1, .label = 0, .key = key, .raw = raw});
  return out;
}

void Builder::send(Operand frame, std::uint32_t slice, int peer, std::uint32_t label) {
  const Made made = made_[frame.index];
  program_.steps.push_back({.kind = Step::Kind::send, .content = made.content, .slice = slice, .a = frame,
                            .b = {}, .out = {}, .peer = peer, .label = label, .key = 0, .raw = made.raw});
}

Operand Builder::recv(int peer, std::uint32_t slice, std::uint32_t label, Content content,
                      std::uint32_t ranks, bool raw) {
  Operand out = new_frame(ranks, {content, raw});
  program_.steps.push_back({.kind = Step::Kind::recv, .content = content, .slice = slice, .a = {}, .b = {},
                            .out = out, .peer = peer, .label = label, .key = 0, .raw = raw});
  return out;
}

Operand Builder::combine(Operand lower, Operand upper, std::uint32_t slice) {
  Operand out{Operand::Kind::value, program_.values++, lower.ranks + upper.ranks};
  program_.steps.push_back({.kind = Step::Kind::combine, .content = Content::partial, .slice = slice,
                            .a = lower, .b = upper, .out = out, .peer = -1, .label = 0, .key = 0,
                            .raw = is_raw(lower) || is_raw(upper)});
  return out;
}

Operand Builder::publish(Operand a, std::uint32_t slice, std::uint32_t key, bool raw) {
  Operand out = new_frame(a.ranks, {Content::result, raw});
  program_.steps.push_back({.kind = Step::Kind::publish, .content = Content::result, .slice = slice, .a = a,
                            .b = {}, .out = out, .peer = -1, .label = 0, .key = key, .raw = raw});
  return out;
}

void Builder::keep(Operand a, std::uint32_t slice) {
  program_.steps.push_back({.kind = Step::Kind::keep, .content = Content::result, .slice = slice, .a = a,
                            .b = {}, .out = {}, .peer = -1, .label = 0, .key = 0, .raw = false});
}

void Builder::store(Operand frame, std::uint32_t slice) {
  program_.steps.push_back({.kind = Step::Kind::store, .content = Content::result, .slice = slice, .a = frame,
                            .b = {}, .out = {}, .peer = -1, .label = 0, .key = 0, .raw = is_raw(frame)});
}

Program Builder::finish(std::uint32_t live_values) {
  Program& p = program_;
  p.live_values = live_values;
  p.value_uses.assign(p.values, 0);
  p.frame_uses.assign(p.frames, 0);

  std::vector<std::uint32_t> value_maker(p.values), frame_maker(p.frames);
  // Slice of which a frame may be a mere view of this rank's own contribution; none: ~0.
  std::vector<std::uint32_t> frame_of_own(p.frames, ~0u);
  // Steps that read this rank's contribution to a slice, directly or through such a frame.
  std::vector<std::vector<std::uint32_t>> own_readers(p.slices);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;  // (before, after)

  const auto count = static_cast<std::uint32_t>(p.steps.size());
  auto reads = [&](std::uint32_t step, const Operand& o) {
    switch (o.kind) {
      case Operand::Kind::none: break;
      case Operand::Kind::own: own_readers[o.index].push_back(step); break;
      case Operand::Kind::value:
        ++p.value_uses[o.index];
        edges.emplace_back(value_maker[o.index], step);
        break;
      case Operand::Kind::frame:
        ++p.frame_uses[o.index];
        edges.emplace_back(frame_maker[o.index], step);
        if (frame_of_own[o.index] != ~0u) own_readers[frame_of_own[o.index]].push_back(step);
        break;
    }
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    const Step& s = p.steps[i];
    reads(i, s.a);
    reads(i, s.b);
    if (s.out.kind == Operand::Kind::value) value_maker[s.out.index] = i;
    if (s.out.kind == Operand::Kind::frame) {
      frame_maker[s.out.index] = i;
      if (s.kind == Step::Kind::encode && s.a.kind == Operand::Kind::own) {
        frame_of_own[s.out.index] = s.a.index;
      }
    }
    if (s.kind == Step::Kind::recv) p.receives.push_back({s.peer, s.label, i});
  }
  // With MPI_IN_PLACE the result overwrites the contribution: everything that reads it goes first.
  for (std::uint32_t i = 0; i < count; ++i) {
    const Step& s = p.steps[i];
    if (s.kind != Step::Kind::publish && s.kind != Step::Kind::keep && s.kind != Step::Kind::store) continue;
    for (std::uint32_t reader : own_readers[s.slice]) {
      if (reader != i) edges.emplace_back(reader, i);
    }
  }

  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  p.needs.assign(count, 0);
  p.successor_from.assign(count + 1, 0);
  for (auto [before, after] : edges) {
    ++p.needs[after];
    ++p.successor_from[before + 1];
    p.successors.push_back(after);
  }
  for (std::uint32_t i = 0; i < count; ++i) p.successor_from[i + 1] += p.successor_from[i];
  for (std::uint32_t i = 0; i < count; ++i) {
    if (p.needs[i] == 0 && p.steps[i].kind != Step::Kind::recv) p.roots.push_back(i);
  }
  std::sort(p.receives.begin(), p.receives.end(), [](const auto& x, const auto& y) {
    return std::tie(x.peer, x.label) < std::tie(y.peer, y.label);
  });
  return std::move(program_);
}

}  // namespace wring::algorithm
