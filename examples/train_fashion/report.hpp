// SPDX-License-Identifier: BSD-3-Clause
// report.hpp - what rank 0 tells about a training: lines for people and JSON for programs.
#pragma once

#include <cstddef>
#include <string>

#include "options.hpp"
#include "training.hpp"

namespace fashion {

/// Where the JSON objects of a run go. Rank 0 only.
class Report {
 public:
  /// Throws std::runtime_error if the file cannot be written.
  Report(const Options& options, const std::string& codec, int ranks);

  void epoch(const Progress& progress);
  void result(const Progress& progress, const Times& times, std::size_t parameters);

 private:
  std::string common(const char* kind, const Progress& progress) const;
  void append(const std::string& line) const;

  const Options& options_;
  std::string codec_;
  int ranks_;
};

}  // namespace fashion
