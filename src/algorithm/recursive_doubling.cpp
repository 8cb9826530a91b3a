// SPDX-License-Identifier: BSD-3-Clause
// recursive_doubling.cpp - every round doubles the ranks that a partial sum holds.
//
// One slice. Let Q be the largest power of two <= P. The first 2(P - Q) ranks pair up: the odd one
// gives its contribution to the even one beside it. The Q ranks left exchange partial sums with the
// one at distance 1, 2, 4, ... (counted among themselves) and add them, lower ranks first. Both
// partners use the *decoded* value of what each sent, so both hold the same sum afterwards; ranks that
// hold the same sum encode it with the same key, so their frames are equal too. At the end even ranks
// of the pairs hand the result back; then every rank takes it in its encoded form.
// Buffers: the partial sum, and the one before while that is still being sent.
// Cost: ceil(log2 P) latencies (+ 1 where P is no power of two), as many times the whole message.
#include <bit>

#include "algorithm/algorithm.hpp"
#include "algorithm/fold.hpp"

namespace wring::algorithm {
namespace {

std::uint32_t slices(const Layout&) noexcept { return 1; }

int lossy_hops(const Layout& layout) noexcept {
  const auto p = static_cast<unsigned>(layout.size());
  return std::has_single_bit(p) ? ceil_log2(p) : std::bit_width(p) - 1 + 2;
}

Program make(int rank, const Layout& layout) {
  const int size = layout.size();
  const Fold fold(size);
  constexpr std::uint32_t kFold = 0, kUnfold = 1, kRound = 2;
  Builder b(1);
  Operand sum = Builder::own(0);

  if (fold.gives(rank)) {
    b.send(b.encode(sum, 0, static_cast<std::uint32_t>(rank)), 0, rank - 1, kFold);
    b.store(b.recv(rank - 1, 0, kUnfold, Content::result, static_cast<std::uint32_t>(size)), 0);
    return b.finish(1);
  }
  if (fold.takes(rank)) {
    sum = b.combine(sum, b.recv(rank + 1, 0, kFold, Content::contribution, 1), 0);
  }
  const int me = fold.position_of(rank);
  for (int mask = 1; mask < fold.positions; mask <<= 1) {
    const int other = me ^ mask;
    const int group = me & ~(mask - 1);  // first position of those that hold my sum
    const int other_group = other & ~(mask - 1);
    const auto label =
        kRound + static_cast<std::uint32_t>(std::countr_zero(static_cast<unsigned>(mask)));
    const std::uint32_t ranks = fold.ranks_in(other_group, mask);
    Operand mine = b.encode(sum, 0, static_cast<std::uint32_t>(fold.rank_at(group)));
    b.send(mine, 0, fold.rank_at(other), label);
    Operand in = b.recv(fold.rank_at(other), 0, label,
                        ranks > 1 ? Content::partial : Content::contribution, ranks);
    sum = me < other ? b.combine(mine, in, 0) : b.combine(in, mine, 0);
  }
  if (fold.pairs == 0) {
    b.keep(sum, 0);
  } else {
    Operand frame = b.publish(sum, 0, 0);
    if (fold.takes(rank)) b.send(frame, 0, rank + 1, kUnfold);
  }
  return b.finish(2);
}

}  // namespace

extern const Algorithm recursive_doubling{
    .name = "recursive_doubling",
    .summary = "small messages: the fewest latencies",
    .wire_id = 1,
    .symmetry = Symmetry::exchange,
    .slices = slices,
    .lossy_hops = lossy_hops,
    .make = make,
};

}  // namespace wring::algorithm
