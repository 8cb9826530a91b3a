// SPDX-License-Identifier: BSD-3-Clause
// cast.cpp - finds the actors of a simulation, and whom their frames go to.
#include "plan/cast.hpp"

#include <algorithm>

namespace wring::plan {
namespace {

using algorithm::Algorithm;
using algorithm::Layout;
using algorithm::Nodes;
using algorithm::Step;
using algorithm::Symmetry;

/// Ranks 0 .. count - 1, which stand for all others as the symmetry says.
class Actors {
 public:
  Actors(Symmetry symmetry, const Layout& layout, int count)
      : symmetry_(symmetry), layout_(layout), count_(count), node_(layout.largest()) {}

  int count() const noexcept { return count_; }
  bool all() const noexcept { return count_ == layout_.size(); }

  /// Who gets what `actor` sends to `peer`, or stands for who gets it, and whom it comes from
  /// there.
  struct Way {
    int to, from;
  };
  Way way(int actor, int peer) const noexcept {
    if (peer < count_) return {peer, actor};
    switch (symmetry_) {
      case Symmetry::shift:
        return {actor, (layout_.size() - peer) % layout_.size()};
      case Symmetry::grid: {
        const int node = layout_.node_of(peer), index = layout_.index_of(peer);
        const int from = (layout_.nodes() - node) % layout_.nodes();
        return {actor,
                layout_.rank_at(from, (layout_.ranks_on(from) - index) % layout_.ranks_on(from))};
      }
      case Symmetry::exchange:
      case Symmetry::none:
        break;
    }
    return {actor, peer};
  }

  /// Frames that leave the node when `actor`, and those that it stands for, send to `peer`, and
  /// theirs. Of the node with the most ranks, as all wait for the slowest.
  std::uint32_t crossings(int actor, int peer) const noexcept {
    if (all()) return layout_.share_a_node(actor, peer) ? 0 : 1;
    const int size = layout_.size(), ranks = layout_.ranks_on(node_);
    std::uint32_t out = 0;
    for (int i = 0; i < ranks; ++i) {
      const int rank = layout_.rank_at(node_, i);
      int to = peer;
      if (symmetry_ == Symmetry::shift) to = (rank + peer - actor) % size;
      if (symmetry_ == Symmetry::exchange) to = std::min(rank ^ actor ^ peer, size - 1);
      if (symmetry_ == Symmetry::grid ? !layout_.share_a_node(actor, peer)
                                      : !layout_.share_a_node(rank, to)) {
        ++out;
      }
    }
    return out;
  }

 private:
  const Symmetry symmetry_;
  const Layout& layout_;
  const int count_, node_;
};

int count_actors(const Algorithm& algorithm, const Layout& layout) {
  switch (algorithm.symmetry) {
    case Symmetry::shift:
    case Symmetry::grid:
      return 1;
    case Symmetry::exchange:
      return (layout.size() & (layout.size() - 1)) == 0 ? 1 : 2;
    case Symmetry::none:
      break;
  }
  return layout.size();
}

}  // namespace

Cast::Cast(const Algorithm& algorithm, const Layout& layout, bool all) {
  // One rank stands for all of a grid only if nodes are equally large: all are taken to be like the
  // largest, which cuts the vector into as many slices.
  const int most = layout.ranks_on(layout.largest());
  const bool fill = !all && algorithm.symmetry == Symmetry::grid && !layout.even();
  const Layout stage =
      fill ? Layout(layout.nodes() * most, Nodes::blocks(layout.nodes() * most, most)) : layout;

  const Actors actors(algorithm.symmetry, stage,
                      all ? stage.size() : count_actors(algorithm, stage));
  stands_for_others_ = !actors.all();
  if (stands_for_others_) ranks_ = static_cast<std::uint32_t>(most);
  for (int r = 0; r < actors.count(); ++r) {
    programs_.push_back(algorithm.make(r, stage));
    links_.push_back(static_cast<std::uint32_t>(stands_for_others_ ? r : stage.node_of(r)));
    targets_.emplace_back(programs_.back().steps.size());
    crossings_.emplace_back(programs_.back().steps.size());
    steps_ += programs_.back().steps.size();
  }
  for (int r = 0; r < actors.count(); ++r) {
    const auto actor = static_cast<std::size_t>(r);
    const algorithm::Program& program = programs_[actor];
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const Step& step = program.steps[i];
      if (step.kind != Step::Kind::send) continue;
      const Actors::Way way = actors.way(r, step.peer);
      const auto to = static_cast<std::size_t>(way.to);
      const auto receive =
          static_cast<std::size_t>(programs_[to].find_receive(way.from, step.label));
      targets_[actor][i] = {static_cast<std::uint32_t>(to), static_cast<std::uint32_t>(receive)};
      crossings_[actor][i] = crossings_[to][receive] = actors.crossings(r, step.peer);
    }
  }
}

}  // namespace wring::plan
