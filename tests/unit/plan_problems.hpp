// SPDX-License-Identifier: BSD-3-Clause
// plan_problems.hpp - problems for tests of the plan room.
#pragma once

#include <gtest/gtest.h>

#include "plan/plan.hpp"

namespace wring::plan {

inline codec::Spec spec_of(const char* text) {
  codec::Spec spec;
  EXPECT_TRUE(codec::parse(text, spec).ok());
  return spec;
}

inline Problem problem_of(std::uint64_t count, Dtype dtype, int size, const char* codec,
                          Op op = Op::sum) {
  return {.count = count,
          .dtype = dtype,
          .element_bytes = static_cast<std::uint32_t>(size_of(dtype)),
          .op = op,
          .opaque_id = 0,
          .size = size,
          .codec = spec_of(codec)};
}

/// The same, with that many neighbouring ranks on each node.
inline Problem on_nodes(Problem problem, int ranks_per_node) {
  problem.nodes = algorithm::Nodes::blocks(problem.size, ranks_per_node);
  return problem;
}

/// A sum of that many bytes over `size` ranks.
inline Problem sum_of_bytes(int size, std::uint64_t bytes, const char* codec,
                            Dtype dtype = Dtype::f32) {
  return problem_of(bytes / size_of(dtype), dtype, size, codec);
}

}  // namespace wring::plan
