// SPDX-License-Identifier: BSD-3-Clause
// info_plan.cpp - the table of choices by size of message, as plan::choose makes them.
//
// The choice is asked at powers of two and at the edges of rules, and where two neighbours differ
// the place of the change is found by bisection. Two changes inside one octave that cancel each
// other are found only if a rule made them.
#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "plan/plan.hpp"
#include "tools/info.hpp"
#include "transport/transport.hpp"

namespace wring::tools {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

struct TypeName {
  const char* name;
  Dtype dtype;
  std::uint32_t bytes;
};
constexpr TypeName kTypes[] = {
    {"float", Dtype::f32, 4},     {"double", Dtype::f64, 8},    {"fp16", Dtype::f16, 2},
    {"bf16", Dtype::bf16, 2},     {"int8", Dtype::opaque, 1},   {"int16", Dtype::opaque, 2},
    {"int32", Dtype::opaque, 4},  {"int64", Dtype::opaque, 8},  {"uint8", Dtype::opaque, 1},
    {"uint16", Dtype::opaque, 2}, {"uint32", Dtype::opaque, 4}, {"uint64", Dtype::opaque, 8},
};

plan::Settings settings_from_environment() {
  const Config& c = config();
  plan::Settings settings;
  settings.segment_bytes = c.segment;
  settings.checksum = c.checksum;
  if (c.algorithm != "auto") {
    settings.algorithm = algorithm::find(c.algorithm);
    if (settings.algorithm == nullptr)
      throw std::invalid_argument("WRING_ALGORITHM=\"" + c.algorithm + "\" is not an algorithm");
  }
  if (Status status = plan::parse_rules(c.tune_rules, settings.rules); status.is_error()) {
    throw std::invalid_argument(std::string("WRING_TUNE_RULES: ") + status.what());
  }
  const transport::Transport* t =
      c.transport == "auto" ? transport::all().front() : transport::find(c.transport.c_str());
  if (t == nullptr)
    throw std::invalid_argument("WRING_TRANSPORT=\"" + c.transport + "\" is not a transport");
  settings.max_payload = t->caps().max_payload;
  return settings;
}

plan::Problem problem_of(const PlanRequest& request) {
  const auto* type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                  [&](const TypeName& t) { return request.type == t.name; });
  if (type == std::end(kTypes))
    throw std::invalid_argument("--type: \"" + request.type + "\" is not a type of wring_perf");
  const bool ordered = request.op == "min" || request.op == "max" || request.op == "prod";
  if (request.op != "sum" && request.op != "avg" && !ordered) {
    throw std::invalid_argument("--op: \"" + request.op +
                                "\" is not one of sum, avg, min, max, prod");
  }
  if (request.op == "avg" && type->dtype == Dtype::opaque) {
    throw std::invalid_argument("--op avg needs a floating-point type, not " + request.type);
  }
  plan::Problem problem{.count = 0,
                        .dtype = type->dtype,
                        .element_bytes = type->bytes,
                        .op = Op::other,
                        .opaque_id = 0,
                        .size = request.ranks,
                        .codec = {}};
  if (type->dtype != Dtype::opaque && !ordered)
    problem.op = request.op == "avg" ? Op::avg : Op::sum;
  if (problem.op == Op::other) problem.dtype = Dtype::opaque;
  if (Status status = codec::parse(request.codec, problem.codec); status.is_error()) {
    throw std::invalid_argument(std::string("--codec: ") + status.what());
  }
  return problem;
}

/// Parameters only if they are not the codec's defaults.
std::string short_name(const codec::Spec& spec) {
  return spec.params == spec.codec->defaults ? spec.codec->name : codec::to_string(spec);
}

class Table {
 public:
  Table(const plan::Problem& problem, const plan::Settings& settings)
      : problem_(problem), settings_(settings) {}

  void print() {
    const std::vector<std::uint64_t> probes = make_probes();
    std::uint64_t begin = probes.front();
    for (std::size_t i = 1; i < probes.size(); ++i) {
      std::uint64_t from = probes[i - 1];
      while (!same(from, probes[i])) {
        const std::uint64_t change = find_change(from, probes[i]);
        add_range(begin, change, false);
        begin = from = change;
      }
    }
    add_range(begin, probes.back(), true);

    int widths[3] = {};
    for (const Line& line : lines_) {
      for (int c = 0; c < 3; ++c) widths[c] = std::max(widths[c], static_cast<int>(line[c].size()));
    }
    for (const Line& line : lines_) {
      std::printf("%-*s  %-*s  %-*s  %s\n", widths[0], line[0].c_str(), widths[1], line[1].c_str(),
                  widths[2], line[2].c_str(), line[3].c_str());
    }
  }

 private:
  /// Counts of elements to look at, ascending.
  std::vector<std::uint64_t> make_probes() const {
    std::vector<std::uint64_t> probes{1};
    const auto add = [&](std::uint64_t bytes) {
      const std::uint64_t n = bytes / problem_.element_bytes;
      for (const std::uint64_t count : {n, n + 1}) {
        if (count >= 1 && count <= kMostBytes / problem_.element_bytes) probes.push_back(count);
      }
    };
    for (std::uint64_t bytes = 1; bytes <= kMostBytes; bytes *= 2) add(bytes);
    for (const plan::Rule& r : settings_.rules) {
      add(r.min_bytes);
      add(r.max_bytes);
    }
    std::sort(probes.begin(), probes.end());
    probes.erase(std::unique(probes.begin(), probes.end()), probes.end());
    return probes;
  }

  plan::Choice choice(std::uint64_t count) const {
    plan::Problem p = problem_;
    p.count = count;
    return plan::choose(p, settings_);
  }

  bool same(std::uint64_t a, std::uint64_t b) const {
    const plan::Choice x = choice(a), y = choice(b);
    return x.algorithm == y.algorithm && x.codec == y.codec && std::string(x.reason) == y.reason;
  }

  /// The first count whose choice is not that of low, given that high's is not.
  std::uint64_t find_change(std::uint64_t low, std::uint64_t high) const {
    const std::uint64_t first = low;
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      (same(first, middle) ? low : high) = middle;
    }
    return high;
  }

  std::uint64_t segment(std::uint64_t count) const {
    plan::Problem p = problem_;
    p.count = count;
    return plan::make_plan(p, settings_, 0).geometry.segment * problem_.element_bytes;
  }

  /// Counts [begin, end), or to the end.
  void add_range(std::uint64_t begin, std::uint64_t end, bool last) {
    const plan::Choice c = choice(begin);
    const std::uint64_t each = problem_.element_bytes;
    const std::string from = begin == 1 ? "0" : format_bytes(begin * each);
    const std::string least = format_bytes(segment(begin));
    const std::string most = format_bytes(segment(last ? end : end - 1));
    lines_.push_back({from + " - " + (last ? "inf" : format_bytes(end * each)),
                      std::string(c.algorithm->name) + " + " + short_name(c.codec),
                      "segment " + (least == most ? least : least + " - " + most), c.reason});
  }

  using Line = std::array<std::string, 4>;
  std::vector<Line> lines_{{"bytes", "algorithm + codec", "", "reason"}};
  plan::Problem problem_;
  const plan::Settings& settings_;
};

}  // namespace

void print_plan(const PlanRequest& request) {
  const plan::Problem problem = problem_of(request);
  const plan::Settings settings = settings_from_environment();
  std::printf("%d rank%s, %s, %s, codec %s\n", request.ranks, request.ranks == 1 ? "" : "s",
              request.type.c_str(), request.op.c_str(), short_name(problem.codec).c_str());
  if (request.ranks == 1) {
    std::printf("one rank: the input is the result\n");
    return;
  }
  Table(problem, settings).print();
}

}  // namespace wring::tools
