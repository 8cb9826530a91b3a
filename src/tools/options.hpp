// SPDX-License-Identifier: BSD-3-Clause
// options.hpp - the command line of wring_perf.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/data.hpp"
#include "tools/element.hpp"

namespace wring::tools {

/// Which form of the call is timed.
enum class CallForm { blocking, nonblocking, plan };
const char* name_of(CallForm form) noexcept;

struct Options {
  std::vector<std::uint64_t> sizes;     ///< bytes, in the order of the rows
  std::vector<std::string> codecs;      ///< specifications that parse
  std::vector<std::string> algorithms;  ///< names, "auto", or one "": as the environment says
  std::vector<const Element*> types;
  Operator op = Operator::sum;
  CallForm form = CallForm::blocking;
  Data::Kind data = Data::Kind::gaussian;
  std::string data_file;
  std::string json;  ///< file for rank 0 to write; empty: none
  std::uint64_t seed = 1;
  std::int64_t iterations = -1, warmup = -1;  ///< -1: by size
  bool in_place = false, baseline = false, check = false;
};

/// What a command line comes to.
struct Parsed {
  Options options;
  int status = -1;   ///< exit status if the program ends here (help, version, error), else -1
  std::string text;  ///< to print then: on stdout if status is 0, else on stderr
};
Parsed parse_options(const std::vector<std::string>& arguments);

/// "0,4,12,4k,1m+4": bytes, each a sum of terms with k, m or g. Throws std::invalid_argument.
std::vector<std::uint64_t> parse_sizes(const std::string& list);
/// From min to max, each `factor` times the last and at least one byte more; 0 is followed by 4.
std::vector<std::uint64_t> size_range(std::uint64_t min, std::uint64_t max, double factor);

}  // namespace wring::tools
