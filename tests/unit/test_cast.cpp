// SPDX-License-Identifier: BSD-3-Clause
// test_cast.cpp - who stands for whom in a simulation, and which frames leave a node.
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "common/placements.hpp"
#include "plan/cast.hpp"

namespace wring::plan {
namespace {

using algorithm::Layout;
using algorithm::Step;

TEST(Cast, SendsMeetReceivesInAllLayouts) {
  for (const algorithm::Algorithm* a : algorithm::all()) {
    for (const test::Placement& placement : test::kPlacements) {
      for (int size : {2, 3, 4, 5, 7, 8, 12, 16, 17, 32}) {
        const Layout layout(size, test::nodes_of(placement, size));
        for (const bool all : {false, true}) {
          SCOPED_TRACE(testing::Message() << a->name << ", " << size << " ranks " << placement.name
                                          << (all ? ", all" : ""));
          const Cast cast(*a, layout, all);
          if (all) {
            ASSERT_EQ(cast.programs().size(), static_cast<std::size_t>(size));
          }
          std::set<std::pair<std::uint32_t, std::uint32_t>> met;
          std::size_t receives = 0;
          for (std::uint32_t r = 0; r < cast.programs().size(); ++r) {
            const auto& steps = cast.programs()[r].steps;
            receives += cast.programs()[r].receives.size();
            for (std::uint32_t i = 0; i < steps.size(); ++i) {
              if (steps[i].kind != Step::Kind::send) continue;
              const Cast::Target to = cast.target(r, i);
              ASSERT_LT(to.actor, cast.programs().size());
              ASSERT_LT(to.step, cast.programs()[to.actor].steps.size());
              const Step& receive = cast.programs()[to.actor].steps[to.step];
              ASSERT_EQ(receive.kind, Step::Kind::recv);
              EXPECT_EQ(receive.label, steps[i].label);
              EXPECT_EQ(receive.raw, steps[i].raw);
              if (all) {
                EXPECT_EQ(receive.content, steps[i].content);
              }
              EXPECT_EQ(cast.crossings(r, i), cast.crossings(to.actor, to.step));
              EXPECT_TRUE(met.emplace(to.actor, to.step).second) << "two frames for one receive";
            }
          }
          EXPECT_EQ(met.size(), receives) << "a receive without a send";
        }
      }
    }
  }
}

/// Frames that the busiest node sends to others.
std::uint64_t crossings(const Cast& cast) {
  std::vector<std::uint64_t> of_link;
  for (std::uint32_t r = 0; r < cast.programs().size(); ++r) {
    of_link.resize(std::max<std::size_t>(of_link.size(), cast.link(r) + 1));
    const auto& steps = cast.programs()[r].steps;
    for (std::uint32_t i = 0; i < steps.size(); ++i) {
      if (steps[i].kind == Step::Kind::send) of_link[cast.link(r)] += cast.crossings(r, i);
    }
  }
  return *std::max_element(of_link.begin(), of_link.end());
}

TEST(Cast, ARankPutsTheFramesOfItsNodeOnTheLink) {
  for (const algorithm::Algorithm* a : algorithm::all()) {
    for (int size : {4, 8, 16, 32}) {
      for (int ranks = 1; ranks <= size; ranks *= 2) {
        SCOPED_TRACE(testing::Message()
                     << a->name << ", " << size << " ranks, " << ranks << " on a node");
        const Layout layout(size, algorithm::Nodes::blocks(size, ranks));
        const Cast one(*a, layout), all(*a, layout, true);
        EXPECT_EQ(crossings(one), crossings(all));
        if (ranks == size) {
          EXPECT_EQ(crossings(one), 0u);
        }
      }
    }
  }
}

TEST(Cast, HierarchicalSendsOneRanksShare) {
  // What crosses is what `direct` sends among as many nodes.
  const algorithm::Algorithm &hierarchical = *algorithm::find("hierarchical"),
                             &direct = *algorithm::find("direct");
  for (int ranks : {2, 4, 8}) {
    const Layout layout(16, algorithm::Nodes::blocks(16, ranks));
    const double part =
        static_cast<double>(crossings({hierarchical, layout})) / hierarchical.slices(layout);
    const Layout nodes(16 / ranks);
    const double expected = static_cast<double>(crossings({direct, nodes})) / direct.slices(nodes);
    EXPECT_DOUBLE_EQ(part, expected) << ranks;
  }
}

}  // namespace
}  // namespace wring::plan
