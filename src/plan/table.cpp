// SPDX-License-Identifier: BSD-3-Clause
// table.cpp - finds where choices change with the size of the message, and prints them.
#include "plan/table.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/config.hpp"
#include "plan/select.hpp"

namespace wring::plan {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

class Finder {
 public:
  Finder(const Problem& problem, const Settings& settings)
      : problem_(problem), settings_(settings), model_(problem, settings) {}

  std::vector<Table::Entry> find() {
    const std::vector<std::uint64_t> probes = make_probes();
    std::vector<Table::Entry> out{at(probes.front())};
    std::uint64_t begin = probes.front();
    out.back().min_bytes = 0;
    for (std::size_t i = 1; i < probes.size(); ++i) {
      while (!out.back().same_choice(at(probes[i]))) {
        const std::uint64_t change = find_change(begin, probes[i]);
        end(out.back(), change, change - 1);
        out.push_back(at(change));
        begin = change;
      }
      begin = probes[i];
    }
    end(out.back(), probes.back(), probes.back());
    out.back().max_bytes = std::numeric_limits<std::uint64_t>::max();
    return out;
  }

 private:
  /// Counts of elements to look at, ascending.
  std::vector<std::uint64_t> make_probes() const {
    const std::uint64_t each = problem_.element_bytes;
    std::vector<std::uint64_t> probes{1};
    const auto add = [&](std::uint64_t bytes) {
      const std::uint64_t n = bytes / each;
      for (const std::uint64_t count : {n, n + 1}) {
        if (count >= 1 && count <= kMostBytes / each) probes.push_back(count);
      }
    };
    for (std::uint64_t bytes = 1; bytes <= kMostBytes; bytes *= 2) add(bytes);
    for (const auto* rules : {&settings_.rules, &settings_.table}) {
      for (const Rule& r : *rules) {
        add(r.min_bytes);
        add(r.max_bytes);
      }
    }
    std::sort(probes.begin(), probes.end());
    probes.erase(std::unique(probes.begin(), probes.end()), probes.end());
    return probes;
  }

  Table::Entry at(std::uint64_t count) {
    Problem p = problem_;
    p.count = count;
    Table::Entry out;
    out.min_bytes = p.bytes();
    out.choice = choose(p, settings_, model_);
    return out;
  }

  /// The first count whose choice is not that of low, given that high's is not.
  std::uint64_t find_change(std::uint64_t low, std::uint64_t high) {
    const Table::Entry first = at(low);
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      (first.same_choice(at(middle)) ? low : high) = middle;
    }
    return high;
  }

  void end(Table::Entry& entry, std::uint64_t end_count, std::uint64_t last_count) {
    entry.max_bytes = end_count * problem_.element_bytes;
    entry.last_seconds = at(last_count).choice.seconds;
  }

  Problem problem_;
  const Settings& settings_;
  CostModel model_;
};

/// Parameters only if they are not the codec's defaults.
std::string short_name(const codec::Spec& spec) {
  return spec.params == spec.codec->defaults ? spec.codec->name : codec::to_string(spec);
}

}  // namespace

bool Table::Entry::same_choice(const Entry& other) const noexcept {
  return choice.algorithm == other.choice.algorithm && choice.codec == other.choice.codec &&
         choice.segment_bytes == other.choice.segment_bytes &&
         choice.raw_wins() == other.choice.raw_wins() &&
         std::string_view(choice.reason) == other.choice.reason;
}

Table make_table(const Problem& problem, const Settings& settings) {
  return {
      .problem = problem, .network = settings.network, .entries = Finder(problem, settings).find()};
}

std::string to_text(const Table& table) {
  using Line = std::array<std::string, 5>;
  std::vector<Line> lines{{"bytes", "algorithm + codec", "segment", "predicted", "reason"}};
  for (const Table::Entry& e : table.entries) {
    const Choice& c = e.choice;
    lines.push_back({format_bytes(e.min_bytes) + " - " + format_bytes(e.max_bytes),
                     std::string(c.algorithm->name) + " + " + short_name(c.codec),
                     c.segment_bytes == 0 ? "by size" : format_bytes(c.segment_bytes),
                     format_seconds(c.seconds) + " - " + format_seconds(e.last_seconds),
                     std::string(c.reason) + (c.raw_wins() ? "; raw would be faster" : "")});
  }
  std::array<std::size_t, 4> widths{};
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  std::string out;
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      out += line[i] + std::string(widths[i] - line[i].size() + 2, ' ');
    }
    out += line.back() + '\n';
  }
  return out;
}

}  // namespace wring::plan
