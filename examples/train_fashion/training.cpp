// SPDX-License-Identifier: BSD-3-Clause
// training.cpp - data-parallel training by stochastic gradient descent with momentum.
//
// In each step every rank computes the gradient of its part of the batch, the gradients are
// averaged over ranks, and every rank updates its own copy of the parameters. The average is one
// call on one vector, or, with plans, one start for each bucket of it while back-propagation goes
// on with the next. As all ranks get the same bytes, codec or not, the copies stay equal; a digest
// checks that after each epoch.
#include "training.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "digest.hpp"

namespace fashion {
namespace {

constexpr float kMomentum = 0.9f;
constexpr std::size_t kTestBatch = 250;  // images tested at once: keeps all layers in the L2 cache

// Mean and standard deviation of Fashion-MNIST's training pixels, of 255.
constexpr float kPixelMean = 72.94f;
constexpr float kPixelDeviation = 90.02f;

void load(const Dataset& data, std::size_t image, float* to) {
  const std::uint8_t* from = data.images.data() + image * data.pixels;
  for (std::size_t i = 0; i < data.pixels; ++i) {
    to[i] = (static_cast<float>(from[i]) - kPixelMean) * (1.0f / kPixelDeviation);
  }
}

std::vector<double> slowest(const std::vector<double>& seconds, MPI_Comm comm) {
  std::vector<double> result(seconds.size());
  MPI_Reduce(seconds.data(), result.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, MPI_MAX,
             0, comm);
  return result;
}

}  // namespace

Training::Training(const Options& options, const Average& average, const Dataset& train,
                   const Dataset& test, MPI_Comm comm)
    : options_(options),
      average_(average),
      train_(train),
      test_(test),
      comm_(comm),
      network_({train.pixels, 512, 256, 10}),
      buckets_(average.by_bucket(network_.gradient(), network_.buckets(), comm)),
      velocity_(network_.parameters().size()),
      order_(train.count),
      engine_(options.seed),
      meter_(options.net_device, comm) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  rank_ = static_cast<std::size_t>(rank);
  ranks_ = static_cast<std::size_t>(ranks);

  total_steps_ = options.epochs * ((train.count + options.batch - 1) / options.batch);
  if (options.max_steps > 0) total_steps_ = std::min(total_steps_, options.max_steps);
  std::iota(order_.begin(), order_.end(), 0u);

  // All ranks would come to the same numbers by themselves, if all had the same mathematics
  // library.
  network_.initialise(options.seed);
  MPI_Bcast(network_.parameters().data(), static_cast<int>(network_.parameters().size()), MPI_FLOAT,
            0, comm);
}

/// Fisher and Yates; std::shuffle may differ between C++ libraries.
void Training::shuffle() {
  for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[engine_() % i]);
}

/// One step on `images` images beginning at `first` in order_; returns this rank's share of their
/// loss.
double Training::step(std::size_t first, std::size_t images) {
  const double begin = MPI_Wtime();
  const std::size_t mine = first + images * rank_ / ranks_;
  const std::size_t next = first + images * (rank_ + 1) / ranks_;
  labels_.resize(next - mine);
  inputs_.resize(labels_.size() * train_.pixels);
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    load(train_, order_[mine + i], inputs_.data() + i * train_.pixels);
    labels_[i] = train_.labels[order_[mine + i]];
  }
  // Parts may differ by an image. Scaled like this, the average over ranks is that over images.
  const float scale = static_cast<float>(ranks_) / static_cast<float>(images);
  const double loss = network_.train(inputs_, labels_, scale, [this](std::size_t bucket) {
    if (buckets_) buckets_->start(bucket);
  });

  // Else the wait for ranks that still compute would count as communication. With plans it does, as
  // during a barrier they would go on.
  if (!buckets_) MPI_Barrier(comm_);
  const double computed = MPI_Wtime();
  if (buckets_) {
    buckets_->wait_all();
  } else {
    average_(network_.gradient(), comm_);
  }
  const double averaged = MPI_Wtime();
  update();
  step_seconds_.push_back(MPI_Wtime() - begin);
  all_reduce_seconds_.push_back(averaged - computed);
  return loss;
}

void Training::update() {
  const auto done = static_cast<float>(progress_.steps) / static_cast<float>(total_steps_);
  const float rate = static_cast<float>(options_.rate) * (1.0f - done);
  const float* gradient = network_.gradient().data();
  float* parameters = network_.parameters().data();
  for (std::size_t i = 0; i < velocity_.size(); ++i) {
    velocity_[i] = kMomentum * velocity_[i] + gradient[i];
    parameters[i] -= rate * velocity_[i];
  }
}

const Progress& Training::epoch() {
  shuffle();
  const std::size_t all = (train_.count + options_.batch - 1) / options_.batch;
  const std::size_t steps = std::min(all, total_steps_ - progress_.steps);
  double sums[2] = {0.0, 0.0};  // loss, images
  MPI_Barrier(comm_);
  meter_.start();
  const double begin = MPI_Wtime();
  for (std::size_t i = 0; i < steps; ++i) {
    const std::size_t first = i * options_.batch;
    const std::size_t images = std::min(options_.batch, train_.count - first);
    sums[0] += step(first, images);
    sums[1] += static_cast<double>(images);
    ++progress_.steps;
    show_step(i + 1, steps);
  }
  progress_.seconds += MPI_Wtime() - begin;
  meter_.stop();

  ++progress_.epoch;
  progress_.digest = common_digest();
  progress_.net_bytes = meter_.total();
  MPI_Allreduce(MPI_IN_PLACE, &sums[0], 1, MPI_DOUBLE, MPI_SUM, comm_);
  MPI_Allreduce(MPI_IN_PLACE, &progress_.seconds, 1, MPI_DOUBLE, MPI_MAX, comm_);
  progress_.train_loss = sums[0] / sums[1];
  test();
  return progress_;
}

void Training::test() {
  const std::size_t end = test_.count * (rank_ + 1) / ranks_;
  std::uint64_t correct = 0;
  for (std::size_t first = test_.count * rank_ / ranks_; first < end; first += kTestBatch) {
    const std::size_t images = std::min(kTestBatch, end - first);
    inputs_.resize(images * test_.pixels);
    for (std::size_t i = 0; i < images; ++i) {
      load(test_, first + i, inputs_.data() + i * test_.pixels);
    }
    correct += network_.count_correct(inputs_, {test_.labels.data() + first, images});
  }
  MPI_Allreduce(MPI_IN_PLACE, &correct, 1, MPI_UINT64_T, MPI_SUM, comm_);
  progress_.test_accuracy = static_cast<double>(correct) / static_cast<double>(test_.count);
}

std::uint64_t Training::common_digest() {
  const std::uint64_t mine = digest(network_.parameters());
  std::uint64_t lowest = 0;
  std::uint64_t highest = 0;
  MPI_Allreduce(&mine, &lowest, 1, MPI_UINT64_T, MPI_MIN, comm_);
  MPI_Allreduce(&mine, &highest, 1, MPI_UINT64_T, MPI_MAX, comm_);
  if (lowest != highest) {
    throw std::runtime_error("after epoch " + std::to_string(progress_.epoch) +
                             " the ranks hold different parameters: the all-reduce did not give "
                             "all of them the same bytes");
  }
  return mine;
}

void Training::show_step(std::size_t step, std::size_t steps) const {
  static const bool terminal = isatty(STDERR_FILENO) == 1;
  if (rank_ != 0 || options_.quiet || !terminal) return;
  std::fprintf(stderr, "\r%s: epoch %zu/%zu, step %zu/%zu ", options_.method.c_str(),
               progress_.epoch + 1, options_.epochs, step, steps);
  if (step == steps) std::fputc('\r', stderr);
}

Times Training::times() const {
  return {.step = slowest(step_seconds_, comm_), .all_reduce = slowest(all_reduce_seconds_, comm_)};
}

}  // namespace fashion
