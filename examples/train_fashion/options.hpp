// SPDX-License-Identifier: BSD-3-Clause
// options.hpp - the command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace fashion {

struct Options {
  std::string method = "bf16";
  std::size_t epochs = 5;
  std::size_t batch = 256;
  double rate = 0.08;
  std::uint64_t seed = 1;
  std::size_t max_steps = 0;  ///< 0: no limit
  std::string data = "/usr/share/datasets/fashion-mnist";
  std::string json;
  std::string net_device;
  bool quiet = false;
  bool help = false;
};

/// The text of --help.
extern const char* const kUsage;

/// Reads the command line. Throws std::invalid_argument with a text for the user.
Options parse_options(int argc, char** argv);

}  // namespace fashion
