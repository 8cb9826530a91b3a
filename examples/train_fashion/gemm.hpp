// SPDX-License-Identifier: BSD-3-Clause
// gemm.hpp - the one matrix product that the network needs, in single precision.
#pragma once

#include <cstddef>

namespace fashion {

/// A matrix in somebody else's memory: element (i, j) is data[i * row_step + j * column_step].
struct MatrixView {
  const float* data;
  std::size_t row_step;
  std::size_t column_step;
};

/// Row-major rows x columns.
inline MatrixView plain(const float* data, std::size_t columns) { return {data, columns, 1}; }
/// The transpose of a row-major matrix that has that many columns.
inline MatrixView transposed(const float* data, std::size_t columns) { return {data, 1, columns}; }

/// c = a x b, where a is m x k, b is k x n, and c is m x n, row-major. The order of additions
/// depends on the sizes only, so equal inputs give equal bits on equal processors.
void multiply(std::size_t m, std::size_t n, std::size_t k, MatrixView a, MatrixView b, float* c);

}  // namespace fashion
