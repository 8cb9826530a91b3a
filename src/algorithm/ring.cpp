// SPDX-License-Identifier: BSD-3-Clause
// ring.cpp - reduce-scatter, then all-gather, each around a ring (Patarasuk and Yuan, 2009).
//
// P slices, one for each rank. Rank r sends to r+1 and receives from r-1 only.
//   reduce-scatter, hop k = 0 .. P-2: send the partial sum of slice r-1-k, receive that of slice
//     r-2-k and add the own contribution. The sum of slice s starts at rank s+1 and ends, complete,
//     at its owner, rank s.
//   all-gather, hop k = 0 .. P-2: the owner's finished slice is encoded once and passed on as it is.
// Buffers: one partial sum per tile, besides the one that is still being sent.
// Cost: 2(P-1) latencies, 2(P-1)/P of the message over each link. P roundings with a lossy codec.
#include "algorithm/algorithm.hpp"

namespace wring::algorithm {
namespace {

std::uint32_t slices(const Layout& layout) noexcept { return static_cast<std::uint32_t>(layout.size()); }

int lossy_hops(const Layout& layout) noexcept { return layout.size(); }

Program make(int rank, const Layout& layout) {
  const int size = layout.size();
  const int right = (rank + 1) % size;
  const int left = (rank + size - 1) % size;
  auto slice = [&](int back) { return static_cast<std::uint32_t>((rank + 2 * size - back) % size); };
  const auto me = static_cast<std::uint32_t>(rank);

  Builder b(static_cast<std::uint32_t>(size));
  std::uint32_t label = 0;
  Operand frame = b.encode(Builder::own(slice(1)), slice(1), me);
  b.send(frame, slice(1), right, label);
  Operand sum;
  for (int k = 0; k <= size - 2; ++k, ++label) {
    const std::uint32_t s = slice(k + 2);
    const auto ranks = static_cast<std::uint32_t>(k + 1);
    Operand in = b.recv(left, s, label, ranks > 1 ? Content::partial : Content::contribution, ranks);
    // The partial sum holds ranks s+1 .. r-1 around the ring: all above rank 0, none purely so else.
    sum = rank == 0 ? b.combine(Builder::own(s), in, s) : b.combine(in, Builder::own(s), s);
    if (k < size - 2) {
      frame = b.encode(sum, s, me);
      b.send(frame, s, right, label + 1);
    }
  }
  frame = b.publish(sum, slice(0), me);
  b.send(frame, slice(0), right, label);
  for (int k = 0; k <= size - 2; ++k, ++label) {
    const std::uint32_t s = slice(k + 1);
    Operand in = b.recv(left, s, label, Content::result, static_cast<std::uint32_t>(size));
    b.store(in, s);
    if (k < size - 2) b.send(in, s, right, label + 1);
  }
  return b.finish(2);
}

}  // namespace

extern const Algorithm ring{
    .name = "ring",
    .summary = "large messages, exact codecs: every link carries the least bytes",
    .wire_id = 3,
    .symmetry = Symmetry::shift,
    .slices = slices,
    .lossy_hops = lossy_hops,
    .make = make,
};

}  // namespace wring::algorithm
