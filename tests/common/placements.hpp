// SPDX-License-Identifier: BSD-3-Clause
// placements.hpp - ways to put ranks on nodes, for tests.
#pragma once

#include <vector>

#include "algorithm/layout.hpp"

namespace wring::test {

struct Placement {
  const char* name;
  int (*node)(int rank);
  bool neighbours;  ///< the ranks of a node follow each other
};

inline constexpr Placement kPlacements[] = {
    {"alone", [](int rank) { return rank; }, true},
    {"together", [](int) { return 0; }, true},
    {"pairs", [](int rank) { return rank / 2; }, true},
    {"fours", [](int rank) { return rank / 4; }, true},
    // 1, 2, 3, 4 ... ranks.
    {"growing",
     [](int rank) {
       int node = 0;
       for (int first = 0; first + node < rank; ++node) first += node + 1;
       return node;
     },
     true},
    {"round_robin", [](int rank) { return rank % 3; }, false},
    {"scattered", [](int rank) { return (7 * rank + rank * rank) % 5; }, false},
    // One node has nearly all.
    {"outsider", [](int rank) { return rank == 1 ? 1 : 0; }, false},
};

inline algorithm::Nodes nodes_of(const Placement& placement, int size) {
  std::vector<int> numbers;
  for (int r = 0; r < size; ++r) numbers.push_back(placement.node(r));
  return algorithm::Nodes(numbers);
}

}  // namespace wring::test
