// SPDX-License-Identifier: BSD-3-Clause
// registry.cpp - the list of algorithms, from algorithms.def.
#include "algorithm/algorithm.hpp"

namespace wring::algorithm {

#define WRING_ALGORITHM_UNIT(unit) extern const Algorithm unit;
#include "algorithm/algorithms.def"
#undef WRING_ALGORITHM_UNIT

std::span<const Algorithm* const> all() noexcept {
  static constexpr const Algorithm* kAll[] = {
#define WRING_ALGORITHM_UNIT(unit) &unit,
#include "algorithm/algorithms.def"
#undef WRING_ALGORITHM_UNIT
  };
  return kAll;
}

const Algorithm* find(std::string_view name) noexcept {
  for (const Algorithm* a : all()) {
    if (name == a->name) return a;
  }
  return nullptr;
}

const Algorithm* find(std::uint8_t wire_id) noexcept {
  for (const Algorithm* a : all()) {
    if (wire_id == a->wire_id) return a;
  }
  return nullptr;
}

}  // namespace wring::algorithm
