// SPDX-License-Identifier: BSD-3-Clause
// test_layout.cpp - which ranks share a node.
#include <gtest/gtest.h>

#include <algorithm>

#include "common/placements.hpp"

namespace wring::algorithm {
namespace {

TEST(Layout, PlacesNameEveryRankOnce) {
  for (const test::Placement& placement : test::kPlacements) {
    for (int size : {1, 2, 3, 4, 7, 16, 33}) {
      SCOPED_TRACE(testing::Message() << placement.name << ", " << size << " ranks");
      const Layout layout(size, test::nodes_of(placement, size));
      ASSERT_EQ(layout.size(), size);
      int ranks = 0, last_leader = -1;
      for (int n = 0; n < layout.nodes(); ++n) {
        ASSERT_GE(layout.ranks_on(n), 1);
        EXPECT_GT(layout.leader(n), last_leader)
            << "nodes are not in the order of their lowest ranks";
        last_leader = layout.leader(n);
        EXPECT_LE(layout.ranks_on(n), layout.ranks_on(layout.largest()));
        EXPECT_GE(layout.ranks_on(n), layout.ranks_on(layout.smallest()));
        for (int i = 0; i < layout.ranks_on(n); ++i, ++ranks) {
          const int rank = layout.rank_at(n, i);
          EXPECT_EQ(layout.node_of(rank), n);
          EXPECT_EQ(layout.index_of(rank), i);
          EXPECT_TRUE(i == 0 || rank > layout.rank_at(n, i - 1));
        }
      }
      EXPECT_EQ(ranks, size);
      for (int a = 0; a < size; ++a) {
        for (int b = 0; b < size; ++b) {
          EXPECT_EQ(layout.share_a_node(a, b), placement.node(a) == placement.node(b));
        }
      }
    }
  }
}

TEST(Layout, TellsWhetherNodesMatter) {
  EXPECT_FALSE(Layout(4).mixed()) << "every rank on a node of its own";
  EXPECT_TRUE(Layout(4).even());
  EXPECT_FALSE(Layout(4, Nodes::blocks(4, 8)).mixed()) << "one node";
  EXPECT_EQ(Layout(4, Nodes::blocks(4, 8)).nodes(), 1);
  EXPECT_TRUE(Layout(8, Nodes::blocks(8, 4)).mixed());
  EXPECT_TRUE(Layout(8, Nodes::blocks(8, 4)).even());
  EXPECT_FALSE(Layout(7, Nodes::blocks(7, 4)).even());
  EXPECT_EQ(Layout(7, Nodes::blocks(7, 4)).ranks_on(1), 3);
}

TEST(Nodes, AreEqualWhereTheSameRanksShareThem) {
  const int a[] = {5, 5, 9, 5}, b[] = {0, 0, 1, 0}, c[] = {0, 1, 1, 0}, apart[] = {7, 3, 2, 9};
  EXPECT_EQ(Nodes(a), Nodes(b)) << "numbers mean nothing else";
  EXPECT_FALSE(Nodes(a) == Nodes(c));
  EXPECT_FALSE(Nodes(a) == Nodes());
  EXPECT_EQ(Nodes(apart), Nodes());
  EXPECT_EQ(Nodes::blocks(4, 1), Nodes());
  const Nodes copy = Nodes(c);
  EXPECT_EQ(copy, Nodes(c));
}

}  // namespace
}  // namespace wring::algorithm
