// SPDX-License-Identifier: BSD-3-Clause
// report.hpp - what wring_perf prints and writes. Rank 0 only.
#pragma once

#include <cstdio>
#include <string>

#include "tools/measure.hpp"

namespace wring::tools {

/// Where the run takes place.
struct Place {
  int ranks = 1, hosts = 1;
  std::string mpi, transport;
};

class Report {
 public:
  Report(const Options& options, const Place& place) : options_(options), place_(place) {}
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  /// Opens the JSON file, if there is to be one; false, and a message, if that fails.
  bool open();
  void print_header() const;
  /// A line that the next one overwrites, if stderr is a terminal.
  void progress(std::size_t row, std::size_t rows, const Row& next);
  void print(const Row& row);
  /// "N rows, all right", or what is wrong; whether all is right.
  bool finish(bool failed);

 private:
  void erase_progress();
  std::string json_line(const Row& row) const;

  const Options& options_;
  Place place_;
  std::FILE* json_ = nullptr;
  bool progress_shown_ = false, write_failed_ = false;
  std::size_t rows_ = 0, wrong_rows_ = 0, differing_rows_ = 0;
};

}  // namespace wring::tools
