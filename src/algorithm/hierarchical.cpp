// SPDX-License-Identifier: BSD-3-Clause
// hierarchical.cpp - raw inside the nodes, two shots of the codec between them.
//
// Let N be the number of nodes and L the ranks of the largest. N x L slices: slice (o, x) is
// *owned* by node o, and on every node one rank *carries* it, the one with index x modulo the ranks
// of the node.
//   gather  every rank gives its contribution to each slice, raw, to the carrier on its node, which
//           adds them in the order of ranks;
//   reduce  carriers send the sum of their node, encoded, to the carrier on the owning node, which
//           adds the N sums in the order of nodes and encodes the result once;
//   result  that frame goes to the carriers on the other nodes,
//   spread  and from all carriers, unchanged, to the other ranks of their nodes.
// A frame that crosses between nodes does so for a whole node, and all ranks of a node have their
// share of its frames, so that several processors encode. Results are spread encoded: as they are
// shorter, that is less to copy than values are, and all ranks decode the same bytes. Where there
// is one node only, results are raw as well. Where every rank is on a node of its own, this is
// `direct`.
// Buffers: one accumulator for each slice carried (where the node has several ranks) and owned.
// Cost, with m ranks on each node: 2 latencies between nodes and 2(N-1)/N of the message over the
// link of each node; inside, 2 latencies and 2(m-1)/m of the message in and out of every rank. Two
// roundings with a lossy codec, whatever P.
#include "algorithm/algorithm.hpp"

namespace wring::algorithm {
namespace {

constexpr bool kRaw = true;

/// Labels: one range for each purpose. In every range, those of a rank are relative to its place,
/// so that ranks of equally large nodes all do the same (Symmetry::grid).
enum Purpose : std::uint32_t { kGather, kReduce, kResult, kSpread };

std::uint32_t slices(const Layout& layout) noexcept {
  return static_cast<std::uint32_t>(layout.nodes() * layout.ranks_on(layout.largest()));
}

int lossy_hops(const Layout& layout) noexcept { return layout.nodes() == 1 ? 0 : 2; }

/// Which slices there are, and who carries them.
class Slices {
 public:
  explicit Slices(const Layout& layout)
      : layout_(layout), nodes_(layout.nodes()), each_(layout.ranks_on(layout.largest())) {}

  int of_each_node() const noexcept { return each_; }
  std::uint32_t number(int owner, int x) const noexcept {
    return static_cast<std::uint32_t>(owner * each_ + x);
  }
  int carrier(int node, int x) const noexcept {
    return layout_.rank_at(node, x % layout_.ranks_on(node));
  }
  /// The node `distance` after that one.
  int after(int node, int distance) const noexcept { return (node + distance) % nodes_; }

  /// Of a transfer of slice (owner, x) inside a node.
  std::uint32_t label_inside(Purpose purpose, int node, int owner, int x) const noexcept {
    const int turn = x / layout_.ranks_on(node);  // 0 where nodes are equally large
    return label(purpose, number((owner + nodes_ - node) % nodes_, turn));
  }
  /// Of a transfer of slice (owner, x) between the owner and another node.
  std::uint32_t label_between(Purpose purpose, int x) const noexcept {
    return label(purpose, static_cast<std::uint32_t>(x));
  }

 private:
  std::uint32_t label(Purpose purpose, std::uint32_t which) const noexcept {
    return purpose * static_cast<std::uint32_t>(nodes_ * each_) + which;
  }
  const Layout& layout_;
  int nodes_, each_;
};

/// Writes the program of one rank, whose place is (node, index).
class Writer {
 public:
  Writer(int rank, const Layout& layout)
      : layout_(layout),
        slices_(layout),
        rank_(rank),
        node_(layout.node_of(rank)),
        index_(layout.index_of(rank)),
        ranks_(layout.ranks_on(node_)),
        nodes_(layout.nodes()),
        builder_(algorithm::slices(layout)) {}

  Program write() {
    // Slices of other nodes first: they have the longer way. Everybody starts with another
    // receiver.
    for (int d = 1; d <= nodes_; ++d) give(slices_.after(node_, d));
    for (int d = 1; d < nodes_; ++d) reduce(slices_.after(node_, d));
    own();
    for (int d = 1; d < nodes_; ++d) pass_on(slices_.after(node_, nodes_ - d));
    for (int d = 0; d < nodes_; ++d) take(slices_.after(node_, nodes_ - d));
    // Sums of the nodes, and those of all nodes for the slices owned.
    const auto sums = static_cast<std::uint32_t>(ranks_ > 1 ? nodes_ + 1 : 1);
    return builder_.finish(sums * carried());
  }

 private:
  std::uint32_t carried() const noexcept {  // of each owner
    return static_cast<std::uint32_t>((slices_.of_each_node() - index_ + ranks_ - 1) / ranks_);
  }
  std::uint32_t key() const noexcept { return static_cast<std::uint32_t>(rank_); }
  std::uint32_t everybody() const noexcept { return static_cast<std::uint32_t>(layout_.size()); }

  /// Calls each(x, index of the carrier) for every slice of an owner that another rank of this node
  /// carries, the next rank's first.
  template <class Each>
  void for_others(Each&& each) const {
    for (int k = 1; k < ranks_; ++k) {
      const int carrier = (index_ + k) % ranks_;
      for (int x = carrier; x < slices_.of_each_node(); x += ranks_)
        each(x, layout_.rank_at(node_, carrier));
    }
  }

  void give(int owner) {
    for_others([&](int x, int carrier) {
      const std::uint32_t s = slices_.number(owner, x);
      builder_.send(builder_.encode(Builder::own(s), s, key(), kRaw), s, carrier,
                    slices_.label_inside(kGather, node_, owner, x));
    });
  }

  /// The sum over this node's ranks.
  Operand gather(int owner, int x) {
    const std::uint32_t s = slices_.number(owner, x);
    Operand sum;
    for (int i = 0; i < ranks_; ++i) {
      Operand in = i == index_ ? Builder::own(s)
                               : builder_.recv(layout_.rank_at(node_, i), s,
                                               slices_.label_inside(kGather, node_, owner, x),
                                               Content::contribution, 1, kRaw);
      sum = i == 0 ? in : builder_.combine(sum, in, s);
    }
    return sum;
  }

  void reduce(int owner) {
    for (int x = index_; x < slices_.of_each_node(); x += ranks_) {
      const std::uint32_t s = slices_.number(owner, x);
      builder_.send(builder_.encode(gather(owner, x), s, key()), s, slices_.carrier(owner, x),
                    slices_.label_between(kReduce, x));
    }
  }

  void own() {
    for (int x = index_; x < slices_.of_each_node(); x += ranks_) {
      const std::uint32_t s = slices_.number(node_, x);
      const Operand mine = gather(node_, x);
      Operand sum;
      for (int n = 0; n < nodes_; ++n) {
        const auto ranks = static_cast<std::uint32_t>(layout_.ranks_on(n));
        Operand in =
            n == node_ ? mine
                       : builder_.recv(slices_.carrier(n, x), s, slices_.label_between(kReduce, x),
                                       ranks > 1 ? Content::partial : Content::contribution, ranks);
        sum = n == 0 ? in : builder_.combine(sum, in, s);
      }
      Operand result = builder_.publish(sum, s, key(), nodes_ == 1);
      for (int d = 1; d < nodes_; ++d) {
        builder_.send(result, s, slices_.carrier(slices_.after(node_, d), x),
                      slices_.label_between(kResult, x));
      }
      spread(result, node_, x);
    }
  }

  void spread(Operand result, int owner, int x) {
    for (int k = 1; k < ranks_; ++k) {
      builder_.send(result, slices_.number(owner, x), layout_.rank_at(node_, (index_ + k) % ranks_),
                    slices_.label_inside(kSpread, node_, owner, x));
    }
  }

  void pass_on(int owner) {
    for (int x = index_; x < slices_.of_each_node(); x += ranks_) {
      const std::uint32_t s = slices_.number(owner, x);
      Operand in = builder_.recv(slices_.carrier(owner, x), s, slices_.label_between(kResult, x),
                                 Content::result, everybody());
      spread(in, owner, x);  // before the result is decoded here: others wait for it
      builder_.store(in, s);
    }
  }

  void take(int owner) {
    for_others([&](int x, int carrier) {
      const std::uint32_t s = slices_.number(owner, x);
      builder_.store(builder_.recv(carrier, s, slices_.label_inside(kSpread, node_, owner, x),
                                   Content::result, everybody(), nodes_ == 1),
                     s);
    });
  }

  const Layout& layout_;
  const Slices slices_;
  const int rank_, node_, index_, ranks_, nodes_;
  Builder builder_;
};

Program make(int rank, const Layout& layout) { return Writer(rank, layout).write(); }

bool worth_a_try(const Layout& layout) noexcept { return layout.mixed(); }

}  // namespace

extern const Algorithm hierarchical{
    .name = "hierarchical",
    .summary =
        "large messages where several ranks share a node: raw inside, and one rank's share for all "
        "of them between nodes, encoded twice",
    .wire_id = 6,
    .symmetry = Symmetry::grid,
    .slices = slices,
    .lossy_hops = lossy_hops,
    .make = make,
    .worth_a_try = worth_a_try,
};

}  // namespace wring::algorithm
