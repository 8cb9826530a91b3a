// SPDX-License-Identifier: BSD-3-Clause
// gemm.cpp - a blocked matrix product.
//
// The product is cut along k into slices of kDepth. Of each slice, a is packed into panels of
// kRows rows and b, one at a time, into panels of kColumns columns, both in the order in which the
// tile loop reads them: whatever the strides of a and b, the inner loop sees contiguous memory. A
// tile of kRows x kColumns of c stays in registers over a whole slice. Edges are padded with zeros.
#include "gemm.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

// Debian builds for the oldest x86-64; the clone for AVX and FMA is chosen when the program starts,
// before the thread sanitizer can bear it.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__)
#define FASHION_CLONES __attribute__((target_clones("fma", "default")))
#define FASHION_LANES 8
#else
#define FASHION_CLONES
#define FASHION_LANES 4
#endif

namespace fashion {
namespace {

constexpr std::size_t kLanes = FASHION_LANES;
using Vector = float __attribute__((vector_size(kLanes * sizeof(float))));

// 6 x 16 floats are 12 AVX registers of sums; 2 more hold b and 1 holds a, out of 16.
constexpr std::size_t kRows = 6;
constexpr std::size_t kColumns = 16;
constexpr std::size_t kVectors = kColumns / kLanes;
// A panel of b is then 16 KiB, half of the smallest L1 cache in use.
constexpr std::size_t kDepth = 256;

/// Multiplies all panels of a with one panel of b, into `columns` columns of c.
FASHION_CLONES
void multiply_panel(std::size_t m, std::size_t columns, std::size_t depth, const float* a,
                    const float* b, float* c, std::size_t c_step, bool first_slice) {
  for (std::size_t i = 0; i < m; i += kRows, a += kRows * depth) {
    Vector sum[kRows][kVectors] = {};
    for (std::size_t p = 0; p < depth; ++p) {
      Vector right[kVectors];
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kVectors; ++v) {
        std::memcpy(&right[v], b + p * kColumns + v * kLanes, sizeof(Vector));
      }
#pragma GCC unroll 6
      for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] += a[p * kRows + r] * right[v];
      }
    }
    float tile[kRows][kColumns];
    std::memcpy(tile, sum, sizeof tile);
    for (std::size_t r = 0; r < std::min(kRows, m - i); ++r) {
      float* row = c + (i + r) * c_step;
      if (first_slice) {
        std::memcpy(row, tile[r], columns * sizeof(float));
      } else {
        for (std::size_t j = 0; j < columns; ++j) row[j] += tile[r][j];
      }
    }
  }
}

/// Packs rows x depth elements, padded to Width rows, so that those of one step along k are
/// neighbours. `step` leads from row to row, `depth_step` from one k to the next.
template <std::size_t Width>
void pack_panel(std::size_t rows, std::size_t depth, const float* from, std::size_t step,
                std::size_t depth_step, float* to) {
  for (std::size_t p = 0; p < depth; ++p, from += depth_step, to += Width) {
    for (std::size_t r = 0; r < rows; ++r) to[r] = from[r * step];
    for (std::size_t r = rows; r < Width; ++r) to[r] = 0.0f;
  }
}

}  // namespace

void multiply(std::size_t m, std::size_t n, std::size_t k, MatrixView a, MatrixView b, float* c) {
  thread_local std::vector<float> left;
  thread_local std::vector<float> right;
  const std::size_t panels = (m + kRows - 1) / kRows;
  left.resize(std::max(left.size(), panels * kRows * std::min(k, kDepth)));
  right.resize(kColumns * kDepth);

  for (std::size_t p = 0; p < k; p += kDepth) {
    const std::size_t depth = std::min(kDepth, k - p);
    for (std::size_t i = 0; i < m; i += kRows) {
      pack_panel<kRows>(std::min(kRows, m - i), depth, a.data + i * a.row_step + p * a.column_step,
                        a.row_step, a.column_step, left.data() + i * depth);
    }
    for (std::size_t j = 0; j < n; j += kColumns) {
      const std::size_t columns = std::min(kColumns, n - j);
      pack_panel<kColumns>(columns, depth, b.data + p * b.row_step + j * b.column_step,
                           b.column_step, b.row_step, right.data());
      multiply_panel(m, columns, depth, left.data(), right.data(), c + j, n, p == 0);
    }
  }
}

}  // namespace fashion
