// SPDX-License-Identifier: BSD-3-Clause
// average.hpp - averages a vector over ranks: the one place where this program meets Wring.
#pragma once

#include <mpi.h>
#include <wring.h>

#include <span>
#include <string>

namespace fashion {

/// Averages by MPI_Allreduce (method "mpi") or by MPIX_Allreduce_compressed with the codec that the
/// method names.
class Average {
 public:
  /// Throws std::invalid_argument, with MPI's text for the error, if there is no such codec.
  explicit Average(const std::string& method);
  ~Average();
  Average(const Average&) = delete;
  Average& operator=(const Average&) = delete;

  /// Collective: replaces values by their average over the communicator's ranks.
  void operator()(std::span<float> values, MPI_Comm comm) const;

  /// The codec with all its parameters; "mpi" without one.
  std::string name() const;

 private:
  MPIX_Codec codec_ = MPIX_CODEC_NULL;
};

}  // namespace fashion
