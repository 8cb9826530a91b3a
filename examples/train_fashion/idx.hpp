// SPDX-License-Identifier: BSD-3-Clause
// idx.hpp - reads images and their labels from gzipped IDX files, the format of MNIST's family.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fashion {

/// Images and the class that each belongs to.
struct Dataset {
  std::size_t count = 0;
  std::size_t pixels = 0;            ///< of one image
  std::vector<std::uint8_t> images;  ///< count x pixels
  std::vector<std::uint8_t> labels;  ///< count
};

/// Reads DIR/NAME-images-idx3-ubyte.gz and DIR/NAME-labels-idx1-ubyte.gz, NAME being "train" or
/// "t10k". Throws std::runtime_error with a text for the user.
Dataset read_dataset(const std::string& dir, const std::string& name);

}  // namespace fashion
