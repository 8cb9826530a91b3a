// SPDX-License-Identifier: BSD-3-Clause
// layout.cpp - tables of nodes and their ranks.
#include "algorithm/layout.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace wring::algorithm {

struct Nodes::Map {
  std::vector<int> node, index;  // by rank
  std::vector<int> ranks;        // of node 0, of node 1 ...
  std::vector<int> begin;        // of a node in `ranks`; one more at the end
  int largest = 0, smallest = 0;

  int count() const noexcept { return static_cast<int>(begin.size()) - 1; }
  int size_of(int n) const noexcept {
    const auto at = static_cast<std::size_t>(n);
    return begin[at + 1] - begin[at];
  }
};

Nodes::Nodes(std::span<const int> number_of_rank) {
  auto map = std::make_shared<Map>();
  std::map<int, int> node_of_number;
  std::vector<std::vector<int>> ranks_of_node;
  for (std::size_t r = 0; r < number_of_rank.size(); ++r) {
    const auto next = static_cast<int>(ranks_of_node.size());
    const int node = node_of_number.try_emplace(number_of_rank[r], next).first->second;
    if (node == next) ranks_of_node.emplace_back();
    auto& ranks = ranks_of_node[static_cast<std::size_t>(node)];
    map->node.push_back(node);
    map->index.push_back(static_cast<int>(ranks.size()));
    ranks.push_back(static_cast<int>(r));
  }
  if (ranks_of_node.size() == number_of_rank.size()) return;
  map->begin.push_back(0);
  for (const auto& ranks : ranks_of_node) {
    map->ranks.insert(map->ranks.end(), ranks.begin(), ranks.end());
    map->begin.push_back(static_cast<int>(map->ranks.size()));
  }
  for (int n = 0; n < map->count(); ++n) {
    if (map->size_of(n) > map->size_of(map->largest)) map->largest = n;
    if (map->size_of(n) < map->size_of(map->smallest)) map->smallest = n;
  }
  map_ = std::move(map);
}

Nodes Nodes::blocks(int size, int ranks) {
  std::vector<int> numbers;
  for (int r = 0; r < size; ++r) numbers.push_back(r / ranks);
  return Nodes(numbers);
}

bool Nodes::operator==(const Nodes& other) const noexcept {
  // The rest follows from the nodes of ranks.
  return map_ == other.map_ ||
         (map_ != nullptr && other.map_ != nullptr && map_->node == other.map_->node);
}

int Layout::nodes() const noexcept { return nodes_.map_ ? nodes_.map_->count() : size_; }

int Layout::node_of(int rank) const noexcept {
  return nodes_.map_ ? nodes_.map_->node[static_cast<std::size_t>(rank)] : rank;
}

int Layout::index_of(int rank) const noexcept {
  return nodes_.map_ ? nodes_.map_->index[static_cast<std::size_t>(rank)] : 0;
}

int Layout::ranks_on(int node) const noexcept {
  return nodes_.map_ ? nodes_.map_->size_of(node) : 1;
}

int Layout::rank_at(int node, int index) const noexcept {
  if (!nodes_.map_) return node;
  const Nodes::Map& map = *nodes_.map_;
  return map.ranks[static_cast<std::size_t>(map.begin[static_cast<std::size_t>(node)] + index)];
}

int Layout::largest() const noexcept { return nodes_.map_ ? nodes_.map_->largest : 0; }

int Layout::smallest() const noexcept { return nodes_.map_ ? nodes_.map_->smallest : 0; }

}  // namespace wring::algorithm
