// SPDX-License-Identifier: BSD-3-Clause
// layout.hpp - how many ranks there are, and which of them share a node.
//
// A node is a set of ranks between which frames are cheap: memory that they share. Its ranks share
// one link to the other nodes. Nodes may be of different sizes, and their ranks need not be
// neighbours.
#pragma once

#include <memory>
#include <span>

namespace wring::algorithm {

/// Which ranks share a node. Immutable; cheap to copy, and to compare with a copy.
class Nodes {
 public:
  /// Every rank is on a node of its own, however many ranks there are.
  Nodes() = default;
  /// Ranks with equal numbers share a node; the numbers mean nothing else. Throws std::bad_alloc.
  explicit Nodes(std::span<const int> number_of_rank);
  /// Nodes of `ranks` >= 1 neighbouring ranks each; the last may have fewer.
  static Nodes blocks(int size, int ranks);

  bool operator==(const Nodes& other) const noexcept;

 private:
  friend class Layout;
  struct Map;
  std::shared_ptr<const Map> map_;  // null: every rank on a node of its own
};

/// The ranks of a communicator, and their nodes, which are numbered in the order of their lowest
/// ranks.
class Layout {
 public:
  /// Implicit: `size` ranks, each on a node of its own. nodes, if not empty, is for as many ranks.
  Layout(int size, Nodes nodes = {}) : size_(size), nodes_(std::move(nodes)) {}

  int size() const noexcept { return size_; }
  int nodes() const noexcept;
  int node_of(int rank) const noexcept;
  /// Place of a rank among those of its node, which are in ascending order.
  int index_of(int rank) const noexcept;
  int ranks_on(int node) const noexcept;
  int rank_at(int node, int index) const noexcept;
  /// The lowest rank of a node.
  int leader(int node) const noexcept { return rank_at(node, 0); }
  bool share_a_node(int a, int b) const noexcept { return node_of(a) == node_of(b); }

  /// Node with the most ranks, and with the fewest: the first such.
  int largest() const noexcept;
  int smallest() const noexcept;
  /// Whether all nodes have as many ranks.
  bool even() const noexcept { return ranks_on(largest()) == ranks_on(smallest()); }
  /// Whether there are several nodes and several ranks on one of them: only then do nodes matter to
  /// who should send what to whom.
  bool mixed() const noexcept { return nodes() > 1 && nodes() < size_; }

 private:
  int size_;
  Nodes nodes_;
};

}  // namespace wring::algorithm
