// SPDX-License-Identifier: BSD-3-Clause
// tree.cpp - reduce along a binomial tree to rank 0, then broadcast along the same tree.
//
// One slice. With mask = 1, 2, 4, ...: a rank with that bit set sends its partial sum to rank - mask
// and is done reducing; otherwise it adds what rank + mask sends, which holds exactly the ranks
// [rank + mask, rank + 2 mask), so operands stay in rank order. Rank 0 encodes the result once; the
// frame is passed down unchanged, to the furthest child first.
// Buffers: one partial sum per tile, besides the one that is still being sent.
// Cost: 2 ceil(log2 P) latencies, twice the message over the busiest link times up to ceil(log2 P).
// ceil(log2 P) + 1 roundings with a lossy codec.
#include <algorithm>

#include "algorithm/algorithm.hpp"

namespace wring::algorithm {
namespace {

std::uint32_t slices(const Layout&) noexcept { return 1; }

int lossy_hops(const Layout& layout) noexcept {
  return ceil_log2(static_cast<unsigned>(layout.size())) + 1;
}

Program make(int rank, const Layout& layout) {
  const int size = layout.size();
  constexpr std::uint32_t kUp = 0, kDown = 1;
  const auto me = static_cast<std::uint32_t>(rank);
  Builder b(1);
  Operand sum = Builder::own(0);
  int mask = 1;
  for (; mask < size && (rank & mask) == 0; mask <<= 1) {
    const int child = rank + mask;
    if (child >= size) continue;
    const auto ranks = static_cast<std::uint32_t>(std::min(mask, size - child));
    Operand in = b.recv(child, 0, kUp, ranks > 1 ? Content::partial : Content::contribution, ranks);
    sum = b.combine(sum, in, 0);
  }
  Operand result;
  if (rank == 0) {
    result = b.publish(sum, 0, me);
  } else {
    Operand frame = b.encode(sum, 0, me);
    b.send(frame, 0, rank - mask, kUp);
    result = b.recv(rank - mask, 0, kDown, Content::result, static_cast<std::uint32_t>(size));
    b.store(result, 0);
  }
  for (mask >>= 1; mask > 0; mask >>= 1) {
    if (rank + mask < size) b.send(result, 0, rank + mask, kDown);
  }
  return b.finish(2);
}

}  // namespace

extern const Algorithm tree{
    .name = "tree",
    .summary = "small messages on many ranks: logarithmic depth, few messages",
    .wire_id = 2,
    .symmetry = Symmetry::none,
    .slices = slices,
    .lossy_hops = lossy_hops,
    .make = make,
};

}  // namespace wring::algorithm
