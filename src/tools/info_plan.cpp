// SPDX-License-Identifier: BSD-3-Clause
// info_plan.cpp - the table of choices by size of message, as plan::choose makes them.
//
// The choice is asked at powers of two and at the edges of rules, and where two neighbours differ the
// place of the change is found by bisection. Two changes inside one octave that cancel each other are
// found only if a rule made them.
#include <algorithm>
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
    {"float", Dtype::f32, 4},      {"double", Dtype::f64, 8},     {"fp16", Dtype::f16, 2},
    {"bf16", Dtype::bf16, 2},      {"int8", Dtype::opaque, 1},    {"int16", Dtype::opaque, 2},
    {"int32", Dtype::opaque, 4},   {"int64", Dtype::opaque, 8},   {"uint8", Dtype::opaque, 1},
    {"uint16", Dtype::opaque, 2},  {"uint32", Dtype::opaque, 4},  {"uint64", Dtype::opaque, 8},
};

plan::Settings settings_from_environment() {
  const Config& c = config();
  plan::Settings settings;
  settings.segment_bytes = c.segment;
  settings.checksum = c.checksum;
  if (c.algorithm != "auto") {
    settings.algorithm = algorithm::find(c.algorithm);
    if (settings.algorithm == nullptr) throw std::invalid_argument("WRING_ALGORITHM=\"" + c.algorithm + "\" is not an algorithm");
  }
  if (Status status = plan::parse_rules(c.tune_rules, settings.rules); status.is_error()) {
    throw std::invalid_argument(std::string("WRING_TUNE_RULES: ") + status.what());
  }
  const transport::Transport* t = c.transport == "auto" ? transport::all().front() : transport::find(c.transport.c_str());
  if (t == nullptr) throw std::invalid_argument("WRING_TRANSPORT=\"" + c.transport + "\" is not a transport");
  settings.max_payload = t->caps().max_payload;
  return settings;
}

plan::Problem problem_of(const PlanRequest& request) {
  const auto* type = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeName& t) { return request.type == t.name; });
  if (type == std::end(kTypes)) throw std::invalid_argument("--type: \"" + request.type + "\" is not a type of wring_perf");
  const bool ordered = request.op == "min" || request.op == "max" || request.op == "prod";
  if (request.op != "sum" && request.op != "avg" && !ordered) {
    throw std::invalid_argument("--op: \"" + request.op + "\" is not one of sum, avg, min, max, prod");
  }
  if (request.op == "avg" && type->dtype == Dtype::opaque) {
    throw std::invalid_argument("--op avg needs a floating-point type, not " + request.type);
  }
  plan::Problem problem{.count = 0, .dtype = type->dtype, .element_bytes = type->bytes, .op = Op::other,
                        .opaque_id = 0, .size = request.ranks, .codec = {}};
  if (type->dtype != Dtype::opaque && !ordered) problem.op = request.op == "avg" ? Op::avg : Op::sum;
  if (problem.op == Op::other) problem.dtype = Dtype::opaque;
  if (Status status = codec::parse(request.codec, problem.codec); status.is_error()) {
    throw std::invalid_argument(std::string("--codec: ") + status.what());
  }
  return problem;
}

class Table {
 public:
  Table(const plan::Problem& problem, const plan::Settings& settings) : problem_(problem), settings_(settings) {}

  void print() {
    std::printf("%-19s %-36s %-13s %s\n", "bytes", "choice", "segment", "reason");
    const std::vector<std::uint64_t> probes = make_probes();
    std::uint64_t begin = probes.front();
    for (std::size_t i = 1; i < probes.size(); ++i) {
      std::uint64_t from = probes[i - 1];
      while (!same(from, probes[i])) {
        const std::uint64_t change = find_change(from, probes[i]);
        print_range(begin, change, false);
        begin = from = change;
      }
    }
    print_range(begin, probes.back(), true);
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
  void print_range(std::uint64_t begin, std::uint64_t end, bool last) const {
    const plan::Choice c = choice(begin);
    const std::uint64_t bytes = problem_.element_bytes;
    const std::string range = (begin == 1 ? "0" : format_bytes(begin * bytes)) + " - " + (last ? "inf" : format_bytes(end * bytes));
    const std::string least = format_bytes(segment(begin)), most = format_bytes(segment(last ? end : end - 1));
    std::printf("%-19s %-36s %-13s ", range.c_str(), (std::string(c.algorithm->name) + " + " + codec::to_string(c.codec)).c_str(),
                (least == most ? least : least + " - " + most).c_str());
    print_wrapped(71, c.reason);
  }

  plan::Problem problem_;
  const plan::Settings& settings_;
};

}  // namespace

void print_plan(const PlanRequest& request) {
  const plan::Problem problem = problem_of(request);
  const plan::Settings settings = settings_from_environment();
  std::printf("%d rank%s, %s, %s, codec %s\n", request.ranks, request.ranks == 1 ? "" : "s", request.type.c_str(),
              request.op.c_str(), codec::to_string(problem.codec).c_str());
  if (request.ranks == 1) {
    std::printf("one rank: the input is the result\n");
    return;
  }
  Table(problem, settings).print();
}

}  // namespace wring::tools
