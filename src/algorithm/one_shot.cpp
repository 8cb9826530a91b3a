// SPDX-License-Identifier: BSD-3-Clause
// one_shot.cpp - everybody sends its whole contribution to everybody, and adds all of them up.
//
// One slice. Every rank encodes its contribution once, sends the frame to all others, and adds the P
// contributions in rank order, its own as the others decode it, so that all ranks hold the same sum. With
// an exact codec that sum depends on nothing but the contributions, whatever order they come in.
// Buffers: one accumulator per tile; contributions that come early wait in the transport.
// Cost: one latency, P - 1 times the message over each link. One rounding with a lossy codec.
#include "algorithm/algorithm.hpp"

namespace wring::algorithm {
namespace {

std::uint32_t slices(const Layout&) noexcept { return 1; }

int lossy_hops(const Layout&) noexcept { return 1; }

/// Two ranks do the same in recursive doubling; of many, each would send too many frames.
bool worth_a_try(const Layout& layout) noexcept { return layout.size() > 2 && layout.size() <= 8; }

Program make(int rank, const Layout& layout) {
  const int size = layout.size();
  constexpr std::uint32_t kLabel = 0;
  Builder b(1);
  const Operand mine = b.encode(Builder::own(0), 0, static_cast<std::uint32_t>(rank));
  // Everybody starts with another receiver, so that no link is hit by all at once.
  for (int k = 1; k < size; ++k) b.send(mine, 0, (rank + k) % size, kLabel);
  Operand sum;
  for (int from = 0; from < size; ++from) {
    const Operand in = from == rank ? mine : b.recv(from, 0, kLabel, Content::contribution, 1);
    sum = from == 0 ? in : b.combine(sum, in, 0);
  }
  b.keep(sum, 0);
  return b.finish(1);
}

}  // namespace

extern const Algorithm one_shot{
    .name = "one_shot",
    .summary = "short messages on few ranks: one latency",
    .wire_id = 7,
    .symmetry = Symmetry::shift,
    .slices = slices,
    .lossy_hops = lossy_hops,
    .make = make,
    .worth_a_try = worth_a_try,
};

}  // namespace wring::algorithm
