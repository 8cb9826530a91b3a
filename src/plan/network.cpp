// SPDX-License-Identifier: BSD-3-Clause
// network.cpp - links as text, for the command line.
#include <charconv>
#include <cmath>

#include "plan/table.hpp"

namespace wring::plan {
namespace {

/// Overhead where only the latency is given. Fast networks have both small.
constexpr double kOverheadPart = 0.25;

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kTime[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
constexpr Unit kRate[] = {{"B/s", 1},    {"kB/s", 1e3},       {"MB/s", 1e6},
                          {"GB/s", 1e9}, {"Mbit/s", 1e6 / 8}, {"Gbit/s", 1e9 / 8}};
constexpr Unit kNumber[] = {{"", 1}};

/// A number that is not negative, with one of the units.
template <std::size_t N>
std::optional<double> parse(std::string_view text, const Unit (&units)[N]) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value) || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  for (const Unit& unit : units) {
    if (text == unit.name) return value * unit.factor;
  }
  return std::nullopt;
}

bool parse_item(std::string_view name, std::string_view value, Network& out, int& ranks_per_node) {
  if (name == "node") {
    const auto n = parse(value, kNumber);
    if (!n || *n < 1 || *n > 65536 || *n != std::floor(*n)) return false;
    ranks_per_node = static_cast<int>(*n);
    return true;
  }
  Link& link = out.between_nodes;
  double& field = name == "lat" ? link.latency : name == "bw" ? link.bandwidth : link.overhead;
  const auto number = name == "bw" ? parse(value, kRate) : parse(value, kTime);
  if (!number || (name == "bw" && *number <= 0)) return false;
  if (name != "lat" && name != "bw" && name != "overhead") return false;
  field = *number;
  return true;
}

}  // namespace

Status parse_network(std::string_view text, Network& out, int& ranks_per_node) {
  Network parsed = out;
  int parsed_ranks = ranks_per_node;
  bool latency = false, overhead = false;
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto comma = std::min(rest.find(','), rest.size());
    const std::string_view item = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const auto equal = std::min(item.find('='), item.size());
    const std::string_view value = item.substr(std::min(equal + 1, item.size()));
    const std::string_view name = item.substr(0, equal);
    latency = latency || name == "lat";
    overhead = overhead || name == "overhead";
    if (!parse_item(name, value, parsed, parsed_ranks)) {
      return fail(Code::invalid_arg, static_cast<int>(Arg::info),
                  "\"%.*s\" is not understood (expected lat=TIME, bw=RATE, overhead=TIME or "
                  "node=RANKS, as in "
                  "lat=2us,bw=12.5GB/s)",
                  static_cast<int>(item.size()), item.data());
    }
  }
  if (latency && !overhead)
    parsed.between_nodes.overhead = kOverheadPart * parsed.between_nodes.latency;
  out = parsed;
  ranks_per_node = parsed_ranks;
  return {};
}

}  // namespace wring::plan
