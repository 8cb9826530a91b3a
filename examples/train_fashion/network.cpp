// SPDX-License-Identifier: BSD-3-Clause
// network.cpp - a multi-layer perceptron.
//
// One row a sample throughout: values = relu(inputs x W + b) going forward; going backward
// dW = inputs^T x errors, db = column sums of errors, and the errors of the layer below are
// errors x W^T where its ReLU let the value through. dW is computed in parts, some rows at once, so
// that what is done with the first can begin while the others are still computed.
#include "network.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "gemm.hpp"

namespace fashion {
namespace {

/// Parameters of a bucket, about: 512 KiB of gradient, as whole segments keep every link busy, and
/// still several for the large layer.
constexpr std::size_t kBucket = 128 * 1024;

/// N(0, 1) by Box and Muller: unlike std::normal_distribution the same with every C++ library.
class Normal {
 public:
  explicit Normal(std::uint64_t seed) : engine_(seed) {}

  float operator()() {
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    return static_cast<float>(radius * std::cos(2.0 * std::numbers::pi * uniform()));
  }

 private:
  double uniform() {  // in (0, 1]
    return (static_cast<double>(engine_() >> 11) + 1.0) * 0x1p-53;
  }
  std::mt19937_64 engine_;
};

}  // namespace

Network::Network(const std::vector<std::size_t>& widths) {
  std::size_t size = 0;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    Layer layer;
    layer.inputs = widths[i];
    layer.outputs = widths[i + 1];
    layer.weights = size;
    layer.biases = layer.weights + layer.inputs * layer.outputs;
    layer.buckets = (layer.inputs * layer.outputs + kBucket - 1) / kBucket;
    size = layer.biases + layer.outputs;
    layers_.push_back(std::move(layer));
  }
  parameters_.resize(size);
  gradient_.resize(size);

  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    for (std::size_t b = 0; b < layer->buckets; ++b) {
      const std::size_t rows = layer->first_row(b + 1) - layer->first_row(b);
      buckets_.push_back({.first = layer->weights + layer->first_row(b) * layer->outputs,
                          .size = rows * layer->outputs});
    }
    buckets_.back().size += layer->outputs;  // the biases, which are there before the weights
  }
}

void Network::initialise(std::uint64_t seed) {
  Normal normal(seed);
  for (const Layer& layer : layers_) {
    const float deviation = std::sqrt(2.0f / static_cast<float>(layer.inputs));
    float* weights = parameters_.data() + layer.weights;
    std::generate_n(weights, layer.inputs * layer.outputs, [&] { return deviation * normal(); });
    std::fill_n(parameters_.data() + layer.biases, layer.outputs, 0.0f);
  }
}

void Network::forward(std::span<const float> inputs, std::size_t samples) {
  const float* from = inputs.data();
  for (Layer& layer : layers_) {
    layer.values.resize(samples * layer.outputs);
    multiply(samples, layer.outputs, layer.inputs, plain(from, layer.inputs),
             plain(parameters_.data() + layer.weights, layer.outputs), layer.values.data());
    const float* biases = parameters_.data() + layer.biases;
    const float floor = &layer == &layers_.back() ? -INFINITY : 0.0f;
    for (std::size_t i = 0; i < samples; ++i) {
      float* row = layer.values.data() + i * layer.outputs;
      for (std::size_t j = 0; j < layer.outputs; ++j) row[j] = std::max(row[j] + biases[j], floor);
    }
    from = layer.values.data();
  }
}

double Network::output_errors(std::span<const std::uint8_t> labels, float scale) {
  Layer& last = layers_.back();
  last.errors.resize(last.values.size());
  double loss = 0.0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const float* score = last.values.data() + i * last.outputs;
    float* error = last.errors.data() + i * last.outputs;
    const float highest = *std::max_element(score, score + last.outputs);
    float sum = 0.0f;
    for (std::size_t j = 0; j < last.outputs; ++j) sum += error[j] = std::exp(score[j] - highest);
    for (std::size_t j = 0; j < last.outputs; ++j) error[j] *= scale / sum;
    error[labels[i]] -= scale;
    loss += std::log(sum) - (score[labels[i]] - highest);
  }
  return loss;
}

void Network::backward(std::span<const float> inputs, std::size_t samples,
                       const std::function<void(std::size_t)>& ready) {
  std::size_t bucket = 0;
  for (std::size_t l = layers_.size(); l-- > 0;) {
    Layer& layer = layers_[l];
    const float* errors = layer.errors.data();
    const float* from = l > 0 ? layers_[l - 1].values.data() : inputs.data();
    float* biases = gradient_.data() + layer.biases;
    std::fill_n(biases, layer.outputs, 0.0f);
    for (std::size_t i = 0; i < samples; ++i) {
      for (std::size_t j = 0; j < layer.outputs; ++j) biases[j] += errors[i * layer.outputs + j];
    }
    for (std::size_t b = 0; b < layer.buckets; ++b, ++bucket) {
      const std::size_t row = layer.first_row(b);
      multiply(layer.first_row(b + 1) - row, layer.outputs, samples,
               transposed(from + row, layer.inputs), plain(errors, layer.outputs),
               gradient_.data() + layer.weights + row * layer.outputs);
      ready(bucket);
    }
    if (l == 0) return;

    Layer& below = layers_[l - 1];
    below.errors.resize(below.values.size());
    multiply(samples, layer.inputs, layer.outputs, plain(errors, layer.outputs),
             transposed(parameters_.data() + layer.weights, layer.outputs), below.errors.data());
    for (std::size_t i = 0; i < below.errors.size(); ++i) {
      below.errors[i] = below.values[i] > 0.0f ? below.errors[i] : 0.0f;
    }
  }
}

double Network::train(std::span<const float> inputs, std::span<const std::uint8_t> labels,
                      float scale, const std::function<void(std::size_t)>& ready) {
  if (labels.empty()) {
    std::fill(gradient_.begin(), gradient_.end(), 0.0f);
    for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) ready(bucket);
    return 0.0;
  }
  forward(inputs, labels.size());
  const double loss = output_errors(labels, scale);
  backward(inputs, labels.size(), ready);
  return loss;
}

std::size_t Network::count_correct(std::span<const float> inputs,
                                   std::span<const std::uint8_t> labels) {
  if (labels.empty()) return 0;
  forward(inputs, labels.size());
  const Layer& last = layers_.back();
  std::size_t correct = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const float* score = last.values.data() + i * last.outputs;
    correct += std::max_element(score, score + last.outputs) - score == labels[i];
  }
  return correct;
}

}  // namespace fashion
