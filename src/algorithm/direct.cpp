// SPDX-License-Identifier: BSD-3-Clause
// direct.cpp - two-shot: pairwise reduce-scatter, then all-gather, without intermediate stops.
//
// P slices, one for each rank. Every rank sends its contribution to slice s straight to rank s, which
// adds the P contributions in rank order, whatever order they come in, encodes the result once and
// sends it to all. With an exact codec the sum of an element therefore depends on nothing but the
// contributions; with a lossy one also on who owns it, whose own contribution is not rounded.
// Buffers: one accumulator per tile; contributions that come early wait in the transport.
// Cost: 2 latencies and 2(P-1) messages, 2(P-1)/P of the message over each link. Two roundings with a
// lossy codec, whatever P.
#include "algorithm/algorithm.hpp"

namespace wring::algorithm {
namespace {

std::uint32_t slices(const Layout& layout) noexcept { return static_cast<std::uint32_t>(layout.size()); }

int lossy_hops(const Layout&) noexcept { return 2; }

Program make(int rank, const Layout& layout) {
  const int size = layout.size();
  constexpr std::uint32_t kScatter = 0, kGather = 1;
  const auto me = static_cast<std::uint32_t>(rank);
  Builder b(static_cast<std::uint32_t>(size));
  // Everybody starts with another receiver, so that no link is hit by all at once.
  for (int k = 1; k < size; ++k) {
    const int to = (rank + k) % size;
    const auto s = static_cast<std::uint32_t>(to);
    b.send(b.encode(Builder::own(s), s, me), s, to, kScatter);
  }
  Operand sum;
  for (int from = 0; from < size; ++from) {
    Operand in = from == rank ? Builder::own(me)
                              : b.recv(from, me, kScatter, Content::contribution, 1);
    sum = from == 0 ? in : b.combine(sum, in, me);
  }
  Operand frame = b.publish(sum, me, me);
  for (int k = 1; k < size; ++k) b.send(frame, me, (rank + k) % size, kGather);
  for (int k = 1; k < size; ++k) {
    const int from = (rank + size - k) % size;
    const auto s = static_cast<std::uint32_t>(from);
    b.store(b.recv(from, s, kGather, Content::result, static_cast<std::uint32_t>(size)), s);
  }
  return b.finish(1);
}

}  // namespace

extern const Algorithm direct{
    .name = "direct",
    .summary = "large messages, lossy codecs, and 16-bit data: two roundings whatever the number of ranks",
    .wire_id = 4,
    .symmetry = Symmetry::shift,
    .slices = slices,
    .lossy_hops = lossy_hops,
    .make = make,
};

}  // namespace wring::algorithm
