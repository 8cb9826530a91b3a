// SPDX-License-Identifier: BSD-3-Clause
// average.hpp - averages a vector over ranks: the one place where this program meets Wring.
#pragma once

#include <mpi.h>
#include <wring.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "network.hpp"

namespace fashion {

/// Averages a vector bucket by bucket, each by a plan that goes on by itself once it is started.
class BucketAverage {
 public:
  /// Collective: plans for these buckets of `values`, which must stay where they are.
  BucketAverage(MPIX_Codec codec, std::span<float> values, std::span<const Bucket> buckets,
                MPI_Comm comm);
  ~BucketAverage();
  BucketAverage(const BucketAverage&) = delete;
  BucketAverage& operator=(const BucketAverage&) = delete;

  /// Begins to replace the bucket's values by their average over the ranks.
  void start(std::size_t bucket) { MPIX_Plan_start(plans_[bucket]); }
  /// Waits until all that were started have their averages.
  void wait_all() { MPIX_Plan_waitall(static_cast<int>(plans_.size()), plans_.data()); }

 private:
  std::vector<MPIX_Plan> plans_;
};

/// Averages by MPI_Allreduce (method "mpi") or by MPIX_Allreduce_compressed with the codec that the
/// method names; with "+plans" behind the codec, by plans.
class Average {
 public:
  /// Throws std::invalid_argument, with MPI's text for the error, if there is no such codec.
  explicit Average(const std::string& method);
  ~Average();
  Average(const Average&) = delete;
  Average& operator=(const Average&) = delete;

  /// Collective: replaces values by their average over the communicator's ranks.
  void operator()(std::span<float> values, MPI_Comm comm) const;

  /// Collective: how to do so bucket by bucket; null where the method does not say "+plans".
  std::unique_ptr<BucketAverage> by_bucket(std::span<float> values, std::span<const Bucket> buckets,
                                           MPI_Comm comm) const;

  /// The codec with all its parameters; "mpi" without one.
  std::string name() const;

 private:
  MPIX_Codec codec_ = MPIX_CODEC_NULL;
  bool plans_ = false;
};

}  // namespace fashion
