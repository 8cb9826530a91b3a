// SPDX-License-Identifier: BSD-3-Clause
// test_schedule.cpp - programs of all algorithms, run symbolically for up to 65 ranks on all sorts of nodes.
//
// Values are lists of ranks here: what a correct all-reduce must add, in which order, and how often it was
// encoded on the way.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include "algorithm/algorithm.hpp"
#include "common/placements.hpp"

namespace wring::algorithm {
namespace {

struct Symbol {
  std::vector<int> ranks;  ///< contributions, in the order of addition
  int hops = 0;            ///< most encodings of any of them
};

struct RankState {
  Program program;
  std::vector<std::uint16_t> needs;
  std::vector<Symbol> values, frames;
  std::vector<bool> done;
  std::map<std::uint32_t, Symbol> results;  // by slice
};

using Wire = std::map<std::tuple<int, int, std::uint32_t>, std::deque<std::pair<const Step*, Symbol>>>;

class Schedule : public testing::TestWithParam<const Algorithm*> {};

Symbol read(const RankState& state, int rank, const Operand& o) {
  switch (o.kind) {
    case Operand::Kind::own: return {{rank}, 0};
    case Operand::Kind::value: return state.values[o.index];
    case Operand::Kind::frame: return state.frames[o.index];
    case Operand::Kind::none: break;
  }
  ADD_FAILURE() << "a step reads nothing";
  return {};
}

/// Runs step i of a rank if it can; whether it did.
bool try_step(RankState& state, int rank, std::uint32_t i, Wire& wire) {
  const Step& step = state.program.steps[i];
  if (state.done[i] || state.needs[i] != 0) return false;
  switch (step.kind) {
    case Step::Kind::recv: {
      auto& queue = wire[{step.peer, rank, step.label}];
      if (queue.empty()) return false;
      const auto [sent, symbol] = queue.front();
      queue.pop_front();
      EXPECT_EQ(sent->slice, step.slice);
      EXPECT_EQ(sent->content, step.content);
      EXPECT_EQ(sent->raw, step.raw);
      EXPECT_EQ(symbol.ranks.size(), step.out.ranks);
      state.frames[step.out.index] = symbol;
      break;
    }
    case Step::Kind::send: {
      auto& queue = wire[{rank, step.peer, step.label}];
      EXPECT_TRUE(queue.empty()) << "two frames with one label";
      queue.emplace_back(&step, read(state, rank, step.a));
      break;
    }
    case Step::Kind::encode:
    case Step::Kind::publish: {
      Symbol s = read(state, rank, step.a);
      if (!step.raw) ++s.hops;
      state.frames[step.out.index] = s;
      if (step.kind == Step::Kind::publish) state.results[step.slice] = s;
      break;
    }
    case Step::Kind::combine: {
      Symbol a = read(state, rank, step.a);
      const Symbol b = read(state, rank, step.b);
      a.ranks.insert(a.ranks.end(), b.ranks.begin(), b.ranks.end());
      a.hops = std::max(a.hops, b.hops);
      EXPECT_EQ(a.ranks.size(), step.out.ranks);
      state.values[step.out.index] = a;
      break;
    }
    case Step::Kind::keep:
    case Step::Kind::store: state.results[step.slice] = read(state, rank, step.a); break;
  }
  state.done[i] = true;
  for (std::uint32_t s = state.program.successor_from[i]; s < state.program.successor_from[i + 1]; ++s) {
    --state.needs[state.program.successors[s]];
  }
  return true;
}

/// Runs the programs of all ranks to their end.
void run(const Algorithm& algorithm, const Layout& layout, bool in_order) {
  const int size = layout.size();
  std::vector<RankState> ranks(static_cast<std::size_t>(size));
  for (int r = 0; r < size; ++r) {
    RankState& state = ranks[static_cast<std::size_t>(r)];
    state.program = algorithm.make(r, layout);
    state.needs = state.program.needs;
    state.values.resize(state.program.values);
    state.frames.resize(state.program.frames);
    state.done.resize(state.program.steps.size());
    EXPECT_EQ(state.program.slices, algorithm.slices(layout));
  }
  Wire wire;
  for (bool moved = true; moved;) {
    moved = false;
    for (int r = 0; r < size; ++r) {
      RankState& state = ranks[static_cast<std::size_t>(r)];
      for (std::uint32_t i = 0; i < state.program.steps.size(); ++i) moved = try_step(state, r, i, wire) || moved;
    }
  }
  for (const auto& [key, queue] : wire) EXPECT_TRUE(queue.empty()) << "a frame that nobody receives";
  std::map<std::uint32_t, std::vector<int>> order;
  for (RankState& state : ranks) {
    for (bool done : state.done) ASSERT_TRUE(done) << "a step that never runs";
    ASSERT_EQ(state.results.size(), state.program.slices);
    for (auto& [slice, symbol] : state.results) {
      EXPECT_LE(symbol.hops, algorithm.lossy_hops(layout));
      if (order.contains(slice)) {
        EXPECT_EQ(symbol.ranks, order[slice]) << "ranks add in different order";
      }
      order[slice] = symbol.ranks;
      std::sort(symbol.ranks.begin(), symbol.ranks.end());
      for (int r = 0; r < size; ++r) ASSERT_EQ(symbol.ranks.at(static_cast<std::size_t>(r)), r);
      ASSERT_EQ(symbol.ranks.size(), static_cast<std::size_t>(size));
    }
  }
  if (in_order) {
    for (const auto& [slice, ranks_added] : order) EXPECT_TRUE(std::is_sorted(ranks_added.begin(), ranks_added.end()));
  }
}

TEST_P(Schedule, AddsEveryRankOnceWithinThePromisedRoundings) {
  const Algorithm& algorithm = *GetParam();
  const bool by_nodes = algorithm.symmetry == Symmetry::grid;
  for (int size = 2; size <= 65; ++size) {
    if (size > 33 && size < 63 && size != 48) continue;
    for (const test::Placement& placement : test::kPlacements) {
      SCOPED_TRACE(testing::Message() << size << " ranks " << placement.name);
      const Layout layout(size, test::nodes_of(placement, size));
      const bool in_order = std::string_view(algorithm.name) != "ring" && (placement.neighbours || !by_nodes);
      run(algorithm, layout, in_order);
      if (HasFatalFailure()) return;
      if (!by_nodes) break;  // nothing depends on nodes
    }
  }
}

TEST_P(Schedule, FramesAreRawInsideNodesOnly) {
  for (int size : {2, 5, 8, 13}) {
    for (const test::Placement& placement : test::kPlacements) {
      const Layout layout(size, test::nodes_of(placement, size));
      for (int r = 0; r < size; ++r) {
        for (const Step& step : GetParam()->make(r, layout).steps) {
          if (step.kind == Step::Kind::send && step.raw) {
            EXPECT_TRUE(layout.share_a_node(r, step.peer)) << "rank " << r << " to " << step.peer << ", " << placement.name;
          }
        }
      }
    }
  }
}

TEST_P(Schedule, ResultsWaitForAllReadersOfTheContribution) {
  // In place, the result overwrites the contribution.
  for (int size : {2, 3, 8, 13}) {
    for (int r = 0; r < size; ++r) {
      const Program p = GetParam()->make(r, {size, Nodes::blocks(size, 3)});
      for (std::uint32_t i = 0; i < p.steps.size(); ++i) {
        const Step& reader = p.steps[i];
        if (reader.a.kind != Operand::Kind::own && reader.b.kind != Operand::Kind::own) continue;
        const std::uint32_t slice = reader.a.kind == Operand::Kind::own ? reader.a.index : reader.b.index;
        for (std::uint32_t j = 0; j < p.steps.size(); ++j) {
          const Step& writer = p.steps[j];
          const bool writes = writer.kind == Step::Kind::publish || writer.kind == Step::Kind::keep || writer.kind == Step::Kind::store;
          if (!writes || writer.slice != slice || i == j) continue;
          const auto begin = p.successors.begin() + p.successor_from[i], end = p.successors.begin() + p.successor_from[i + 1];
          EXPECT_NE(std::find(begin, end, j), end) << "rank " << r << " of " << size << ", steps " << i << " and " << j;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Schedule, testing::ValuesIn(all().begin(), all().end()),
                         [](const auto& param) { return std::string(param.param->name); });

TEST(AlgorithmRegistry, NamesAndWireIdsAreUnique) {
  for (const Algorithm* a : all()) {
    EXPECT_EQ(find(std::string_view(a->name)), a);
    EXPECT_EQ(find(a->wire_id), a);
    EXPECT_NE(a->wire_id, 0);
  }
  EXPECT_EQ(find("no such algorithm"), nullptr);
}

}  // namespace
}  // namespace wring::algorithm
