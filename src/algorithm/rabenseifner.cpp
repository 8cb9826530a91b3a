// SPDX-License-Identifier: BSD-3-Clause
// rabenseifner.cpp - recursive halving, then recursive doubling (Rabenseifner, 2004; Thakur,
// Rabenseifner and Gropp, 2005).
//
// Ranks beyond the largest power of two Q <= P are folded in first and out last (fold.hpp). Q
// slices, one for each position.
//   reduce-scatter, mask = 1, 2, 4 .. Q/2: exchange with the position at that distance; of the
//   slices
//     still held, those whose number has the partner's bit go there, the others are added to what
//     the partner sends. Sums hold neighbouring positions, so operands stay in rank order. Position
//     i ends with the sum of slice i, which it encodes once.
//   all-gather, mask = Q/2 .. 1: exchange all finished slices with the position at that distance.
// A round's slices travel as one frame each.
// Buffers: one accumulator for every second slice (for every slice where ranks are folded).
// Cost: 2 log2 Q latencies, 2(Q-1) messages, 2(Q-1)/Q of the message over each link; where P is no
// power of two, 2 latencies and twice the message over the links of pairs more.
// log2 Q + 1 roundings with a lossy codec (+ 1 where P is no power of two).
#include <vector>

#include "algorithm/algorithm.hpp"
#include "algorithm/fold.hpp"

namespace wring::algorithm {
namespace {

std::uint32_t slices(const Layout& layout) noexcept {
  return static_cast<std::uint32_t>(Fold(layout.size()).positions);
}

int lossy_hops(const Layout& layout) noexcept {
  const Fold fold(layout.size());
  return ceil_log2(static_cast<unsigned>(fold.positions)) + 1 + (fold.pairs > 0 ? 1 : 0);
}

/// Transfers of one purpose between two ranks differ by their slice; in exchanges that is counted
/// from the sender's own (bits that differ), so that all ranks do the same in the same order.
enum Purpose : std::uint32_t { kFold, kScatter, kGather, kUnfold };

Program make(int rank, const Layout& layout) {
  const int size = layout.size();
  const Fold fold(size);
  const auto n = static_cast<std::uint32_t>(fold.positions);
  const auto key = static_cast<std::uint32_t>(rank), everybody = static_cast<std::uint32_t>(size);
  auto label = [n](Purpose purpose, std::uint32_t slice) { return purpose * n + slice; };
  Builder b(n);

  if (fold.gives(rank)) {
    for (std::uint32_t s = 0; s < n; ++s) {
      b.send(b.encode(Builder::own(s), s, key), s, rank - 1, label(kFold, s));
    }
    for (std::uint32_t s = 0; s < n; ++s) {
      b.store(b.recv(rank - 1, s, label(kUnfold, s), Content::result, everybody), s);
    }
    return b.finish(1);
  }

  std::vector<Operand> sums(n);
  for (std::uint32_t s = 0; s < n; ++s) {
    sums[s] = Builder::own(s);
    if (!fold.takes(rank)) continue;
    sums[s] = b.combine(sums[s], b.recv(rank + 1, s, label(kFold, s), Content::contribution, 1), s);
  }
  const auto me = static_cast<std::uint32_t>(fold.position_of(rank));
  for (std::uint32_t mask = 1; mask < n; mask <<= 1) {
    const std::uint32_t other = me ^ mask;
    const int peer = fold.rank_at(static_cast<int>(other));
    const std::uint32_t ranks =
        fold.ranks_in(static_cast<int>(other & ~(mask - 1)), static_cast<int>(mask));
    const Content content = ranks > 1 ? Content::partial : Content::contribution;
    for (std::uint32_t d = mask; d < n; d += 2 * mask) {
      b.send(b.encode(sums[me ^ d], me ^ d, key), me ^ d, peer, label(kScatter, d));
    }
    for (std::uint32_t d = 0; d < n; d += 2 * mask) {
      const std::uint32_t s = me ^ d;
      Operand in = b.recv(peer, s, label(kScatter, d + mask), content, ranks);
      sums[s] = me < other ? b.combine(sums[s], in, s) : b.combine(in, sums[s], s);
    }
  }

  std::vector<Operand> results(n);
  auto finish = [&](std::uint32_t s, Operand frame) {
    results[s] = frame;
    if (fold.takes(rank)) b.send(frame, s, rank + 1, label(kUnfold, s));
  };
  finish(me, b.publish(sums[me], me, key));
  for (std::uint32_t mask = n / 2; mask > 0; mask >>= 1) {
    const std::uint32_t other = me ^ mask;
    const int peer = fold.rank_at(static_cast<int>(other));
    for (std::uint32_t d = 0; d < n; d += 2 * mask) {
      b.send(results[me ^ d], me ^ d, peer, label(kGather, d));
    }
    for (std::uint32_t d = 0; d < n; d += 2 * mask) {
      const std::uint32_t s = other ^ d;
      Operand in = b.recv(peer, s, label(kGather, d), Content::result, everybody);
      b.store(in, s);
      finish(s, in);
    }
  }
  return b.finish(fold.takes(rank) ? n : n / 2);
}

}  // namespace

extern const Algorithm rabenseifner{
    .name = "rabenseifner",
    .summary =
        "large messages on many ranks: every link carries the least bytes, logarithmic depth",
    .wire_id = 5,
    .symmetry = Symmetry::exchange,
    .slices = slices,
    .lossy_hops = lossy_hops,
    .make = make,
};

}  // namespace wring::algorithm
