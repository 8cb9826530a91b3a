// SPDX-License-Identifier: BSD-3-Clause
// network.hpp - a multi-layer perceptron whose parameters, and their gradient, are one vector each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace fashion {

/// A part of the gradient that back-propagation finishes at once.
struct Bucket {
  std::size_t first = 0;
  std::size_t size = 0;
};

/// Fully connected layers with ReLU between them and softmax cross-entropy at the end. Weights and
/// biases of all layers lie in one contiguous vector, the gradient in a second one with the same
/// order, so that averaging the gradient over ranks is a single call, or one for each bucket as
/// soon as it is ready.
class Network {
 public:
  /// widths: inputs, hidden layers, classes.
  explicit Network(const std::vector<std::size_t>& widths);

  /// He initialisation: weights from N(0, 2 / inputs), biases 0.
  void initialise(std::uint64_t seed);

  /// Sets gradient() to `scale` times the sum of the samples' gradients, all zeros if there are
  /// none, and returns the sum of their losses. `inputs` has one row for each label. Calls `ready`
  /// with the number of each bucket as soon as that part of gradient() is final.
  double train(std::span<const float> inputs, std::span<const std::uint8_t> labels, float scale,
               const std::function<void(std::size_t bucket)>& ready);

  /// How many of the samples get the label that they should.
  std::size_t count_correct(std::span<const float> inputs, std::span<const std::uint8_t> labels);

  std::span<float> parameters() { return parameters_; }
  std::span<float> gradient() { return gradient_; }
  /// All of gradient(), in the order in which it becomes ready: from the last layer to the first.
  std::span<const Bucket> buckets() const { return buckets_; }
  std::size_t inputs() const { return layers_.front().inputs; }

 private:
  struct Layer {
    std::size_t inputs = 0;
    std::size_t outputs = 0;
    std::size_t weights = 0;    // where they begin in parameters_: inputs x outputs
    std::size_t biases = 0;     // likewise: outputs
    std::size_t buckets = 0;    // that weights and biases are cut into, by inputs
    std::vector<float> values;  // what the layer gave for the last batch
    std::vector<float> errors;  // the loss's derivative by these, before the ReLU

    // Of the weights in that bucket of this layer.
    std::size_t first_row(std::size_t bucket) const { return inputs * bucket / buckets; }
  };

  void forward(std::span<const float> inputs, std::size_t samples);
  double output_errors(std::span<const std::uint8_t> labels, float scale);
  void backward(std::span<const float> inputs, std::size_t samples,
                const std::function<void(std::size_t)>& ready);

  std::vector<Layer> layers_;
  std::vector<Bucket> buckets_;
  std::vector<float> parameters_;
  std::vector<float> gradient_;
};

}  // namespace fashion
