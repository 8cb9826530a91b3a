// SPDX-License-Identifier: BSD-3-Clause
// info.hpp - the parts of wring_info: each prints one table on stdout.
#pragma once

#include <string>

namespace wring::tools {

void print_version();
void print_environment();
void print_codecs();
void print_algorithms();
void print_transports();
void print_devices();

/// What --plan is asked about.
struct PlanRequest {
  int ranks = 2;
  std::string type = "float", op = "sum", codec = "none";
  std::string net;    ///< as plan::parse_network
  bool json = false;  ///< a tuning file instead of a table
};
/// Prints the choice for every size of message; throws std::invalid_argument for a bad request.
void print_plan(const PlanRequest& request);

/// text, continued on further lines at that column, no line longer than 100.
void print_wrapped(int column, const std::string& text);

}  // namespace wring::tools
