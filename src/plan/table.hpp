// SPDX-License-Identifier: BSD-3-Clause
// table.hpp - the tuning table of a problem: which candidate for which size, as text and as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.hpp"

namespace wring::plan {

/// What choose() answers for every count of a problem under given settings.
struct Table {
  struct Entry {
    std::uint64_t min_bytes = 0, max_bytes = 0;  ///< [min, max); max is ~0 in the last
    Choice choice;                               ///< of the smallest message
    double last_seconds = 0;                     ///< predicted for the largest, or for 1 GiB
    bool same_choice(const Entry& other) const noexcept;
  };
  Problem problem;  ///< its count means nothing
  Network network;
  std::vector<Entry> entries;
};

/// Looks at powers of two, the edges of rules, and between them for each place where the choice
/// changes. Two changes between neighbours of those that cancel each other are not seen; only rules
/// make such.
Table make_table(const Problem& problem, const Settings& settings);

/// Lines of columns: sizes, algorithm and codec, segment, predicted times, reason.
std::string to_text(const Table& table);
/// A tuning file (docs/tuning.md, docs/tuning.schema.json) that load_table reads. Empty in a build
/// without JSON.
std::string to_json(const Table& table);

/// Reads a tuning file. invalid_arg with line, place and reason if anything in it is not
/// understood; unsupported in a build without JSON. out is set only on success.
Status load_table(std::string_view text, std::vector<Rule>& out);
/// The contents of a file of at most 1 MiB; the error text names it.
Status read_text(const std::string& path, std::string& out);

/// "lat=2us,bw=12.5GB/s,overhead=500ns,node=4": latency, bandwidth and overhead of the links
/// between nodes, and ranks per node. What is left out stays as it is, but for the overhead,
/// which is a quarter of a latency that is given without it. The error text quotes what is wrong.
Status parse_network(std::string_view text, Network& out, int& ranks_per_node);

}  // namespace wring::plan
