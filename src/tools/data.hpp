// SPDX-License-Identifier: BSD-3-Clause
// data.hpp - the input vectors of wring_perf.
//
// Element i of rank r is a function of (seed, r, i) and the same on every machine, so that each
// rank can make every other's input for itself and nothing is gathered to check a result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "tools/element.hpp"

namespace wring::tools {

class Data {
 public:
  enum class Kind : std::uint8_t {
    gaussian,  ///< independent, mean 0, variance 1; integers: 1000 times that, less if sums would
               ///< overflow
    smooth,    ///< a curve through such points, one in 64 elements
    file,      ///< raw elements of the type, repeated; rank r begins at element r * n / ranks
  };

  Data(Kind kind, std::uint64_t seed, int ranks) : kind_(kind), seed_(seed), ranks_(ranks) {}
  ~Data();
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;

  /// For Kind::file: maps the file. Local.
  Status open(const std::string& path);
  /// For Kind::file: bytes in the file. A type needs at least one whole element.
  std::uint64_t file_bytes() const noexcept { return file_bytes_; }

  /// Elements [first, first + n) of that rank's vector.
  void fill(const Element& element, int rank, std::uint64_t first, std::size_t n,
            void* out) const noexcept;

 private:
  void make(std::uint64_t key, std::uint64_t first, std::size_t n, double* out) const noexcept;

  Kind kind_;
  std::uint64_t seed_;
  int ranks_;
  const std::byte* file_ = nullptr;
  std::uint64_t file_bytes_ = 0;
};

}  // namespace wring::tools
