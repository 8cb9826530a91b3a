// SPDX-License-Identifier: BSD-3-Clause
// training.hpp - data-parallel training: all ranks hold the same network and share out each batch.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "average.hpp"
#include "idx.hpp"
#include "net_meter.hpp"
#include "network.hpp"
#include "options.hpp"

namespace fashion {

/// Where a training stands after an epoch; the same on all ranks.
struct Progress {
  std::size_t epoch = 0;  ///< epochs begun
  std::size_t steps = 0;  ///< since the start
  double train_loss = 0;  ///< mean over the images of the last epoch, each as it was trained on
  double test_accuracy = 0;
  double seconds = 0;                      ///< spent in steps: neither reading nor testing counts
  std::uint64_t digest = 0;                ///< of the parameters
  std::optional<std::uint64_t> net_bytes;  ///< sent in steps, over all hosts
};

/// Times of all steps, on rank 0 only. That of a step is its slowest rank's.
struct Times {
  std::vector<double> step;
  std::vector<double> all_reduce;  ///< with plans: waiting for them after back-propagation
};

/// One training. All functions are collective over the communicator.
class Training {
 public:
  Training(const Options& options, const Average& average, const Dataset& train,
           const Dataset& test, MPI_Comm comm);

  bool done() const { return progress_.steps == total_steps_; }

  /// Trains one epoch, or what the limit of steps leaves of it, and tests. Throws
  /// std::runtime_error on all ranks if their parameters have become different.
  const Progress& epoch();

  Times times() const;
  std::size_t parameters() { return network_.parameters().size(); }

 private:
  void shuffle();
  double step(std::size_t first, std::size_t images);
  void update();
  void test();
  std::uint64_t common_digest();
  void show_step(std::size_t step, std::size_t steps) const;

  const Options& options_;
  const Average& average_;
  const Dataset& train_;
  const Dataset& test_;
  MPI_Comm comm_;
  std::size_t rank_ = 0;
  std::size_t ranks_ = 1;

  Network network_;
  std::unique_ptr<BucketAverage> buckets_;  // null: the gradient is averaged by one call
  std::vector<float> velocity_;
  std::vector<std::uint32_t> order_;  // of the training images in this epoch
  std::mt19937_64 engine_;
  std::size_t total_steps_ = 0;
  std::vector<float> inputs_;         // this rank's part of the batch
  std::vector<std::uint8_t> labels_;  // likewise

  Progress progress_;
  NetMeter meter_;
  std::vector<double> step_seconds_;
  std::vector<double> all_reduce_seconds_;
};

}  // namespace fashion
