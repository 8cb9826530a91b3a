// SPDX-License-Identifier: BSD-3-Clause
// options.cpp - reads and checks the command line of wring_perf.
#include "tools/options.hpp"

#include <wring_version.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "algorithm/algorithm.hpp"
#include "base/config.hpp"
#include "codec/codec.hpp"

namespace wring::tools {
namespace {

/// The text of the command line, before names become objects.
struct Words {
  std::string min = "4", max = "16m", sizes;
  double factor = 4;
  std::vector<std::string> codecs, algorithms, types;
  std::string op = "sum", form = "blocking", data = "gaussian";
};

template <class Names>
std::string joined(const Names& names) {
  std::string text;
  for (const auto& n : names) text += (text.empty() ? "" : ", ") + std::string(n);
  return text;
}

std::string algorithm_names() {
  std::vector<std::string> names;
  for (const algorithm::Algorithm* a : algorithm::all()) names.emplace_back(a->name);
  return joined(names);
}

std::string type_names() {
  std::vector<std::string> names;
  for (const Element& e : elements()) names.emplace_back(e.name);
  return joined(names);
}

void declare(CLI::App& app, Words& w, Options& o) {
  const auto repeatable = [](CLI::Option* option) { option->allow_extra_args(false)->take_all(); };
  app.add_option("--min", w.min, "smallest message in bytes (k, m, g: powers of 1024)")
      ->capture_default_str();
  app.add_option("--max", w.max, "largest message in bytes")->capture_default_str();
  app.add_option("--factor", w.factor, "from one size to the next")->capture_default_str();
  app.add_option("--sizes", w.sizes, "these sizes instead: 0,4,12,4k,1m+4");
  app.add_option("--iters", o.iterations, "timed calls of each row (default: by size and speed)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}));
  app.add_option("--warmup", o.warmup, "calls before those (default: by size)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{100'000'000}));
  repeatable(
      app.add_option("--codec", w.codecs, "codec with parameters; repeatable (default: none)"));
  repeatable(
      app.add_option("--algorithm", w.algorithms,
                     "algorithm, or auto; repeatable (default: WRING_ALGORITHM, else auto)"));
  repeatable(app.add_option("--type", w.types,
                            "element type; repeatable (default: float): " + type_names()));
  app.add_option("--op", w.op, "operator: sum, avg, min, max or prod")->capture_default_str();
  app.add_option("--form", w.form, "call form: blocking, nonblocking (call and MPI_Wait) or plan (start and wait)")->capture_default_str();
  app.add_option("--data", w.data, "input: gaussian, smooth, or a file of raw elements")
      ->capture_default_str();
  app.add_option("--seed", o.seed, "of the input")->capture_default_str();
  app.add_flag("--in-place", o.in_place, "use MPI_IN_PLACE");
  app.add_flag("--baseline", o.baseline, "time MPI_Allreduce as well, in turn");
  app.add_flag("--check", o.check, "compare results with exact ones and with the error bound");
  app.add_option("--json", o.json, "write the rows to this file, one JSON object a line");
  app.set_version_flag("--version", std::string("wring_perf (wring) ") + WRING_VERSION);
}

std::uint64_t one_size(const std::string& option, const std::string& text) {
  try {
    const auto sizes = parse_sizes(text);
    if (sizes.size() == 1) return sizes[0];
  } catch (const std::invalid_argument&) {
  }
  throw std::invalid_argument(option + ": \"" + text + "\" is not a size");
}

void set_sizes(const Words& w, Options& o) {
  if (!w.sizes.empty()) {
    o.sizes = parse_sizes(w.sizes);
    return;
  }
  const std::uint64_t min = one_size("--min", w.min), max = one_size("--max", w.max);
  if (min > max) throw std::invalid_argument("--min " + w.min + " is above --max " + w.max);
  if (!(w.factor > 1)) throw std::invalid_argument("--factor must be above 1");
  o.sizes = size_range(min, max, w.factor);
}

CallForm form_of(const std::string& name) {
  for (const CallForm form : {CallForm::blocking, CallForm::nonblocking, CallForm::plan}) {
    if (name == name_of(form)) return form;
  }
  throw std::invalid_argument("--form: \"" + name + "\" is not one of blocking, nonblocking, plan");
}

/// Names to objects; throws what is wrong.
void resolve(const Words& w, Options& o) {
  set_sizes(w, o);
  o.codecs = w.codecs.empty() ? std::vector<std::string>{"none"} : w.codecs;
  for (const std::string& text : o.codecs) {
    codec::Spec spec;
    if (Status status = codec::parse(text, spec); status.is_error()) {
      throw std::invalid_argument(std::string("--codec: ") + status.what());
    }
  }
  o.algorithms = w.algorithms.empty() ? std::vector<std::string>{""} : w.algorithms;
  for (const std::string& name : w.algorithms) {
    if (name == "auto" || algorithm::find(name) != nullptr) continue;
    throw std::invalid_argument("--algorithm: \"" + name + "\" is not one of auto, " +
                                algorithm_names());
  }
  for (const std::string& name : w.types.empty() ? std::vector<std::string>{"float"} : w.types) {
    const Element* e = find_element(name);
    if (e == nullptr)
      throw std::invalid_argument("--type: \"" + name + "\" is not one of " + type_names());
    o.types.push_back(e);
  }
  const auto found = std::find_if(operators().begin(), operators().end(),
                                  [&](const OperatorName& n) { return w.op == n.name; });
  if (found == operators().end()) {
    throw std::invalid_argument("--op: \"" + w.op + "\" is not one of sum, avg, min, max, prod");
  }
  o.op = found->op;
  for (const Element* e : o.types) {
    if (o.op == Operator::avg && !e->floating) {
      throw std::invalid_argument(std::string("--op avg needs a floating-point --type, not ") +
                                  e->name);
    }
  }
  o.form = form_of(w.form);
  if (w.data == "smooth") {
    o.data = Data::Kind::smooth;
  } else if (w.data != "gaussian") {
    o.data = Data::Kind::file;
    o.data_file = w.data;
  }
}

std::uint64_t one_term(const std::string& term, const std::string& list) {
  const auto value = parse_bytes(term);
  // Far below what counts and products of counts can hold.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 48;
  if (!value || *value > kMost) {
    throw std::invalid_argument("\"" + term + "\" in \"" + list + "\" is not a size (4k, 1m+4)");
  }
  return *value;
}

}  // namespace

const char* name_of(CallForm form) noexcept {
  switch (form) {
    case CallForm::nonblocking:
      return "nonblocking";
    case CallForm::plan:
      return "plan";
    case CallForm::blocking:
      break;
  }
  return "blocking";
}

std::vector<std::uint64_t> parse_sizes(const std::string& list) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& sum : CLI::detail::split(list, ',')) {
    std::uint64_t bytes = 0;
    for (const std::string& term : CLI::detail::split(sum, '+')) bytes += one_term(term, list);
    sizes.push_back(bytes);
  }
  return sizes;
}

std::vector<std::uint64_t> size_range(std::uint64_t min, std::uint64_t max, double factor) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = min; bytes <= max;) {
    sizes.push_back(bytes);
    const auto next = static_cast<std::uint64_t>(static_cast<double>(bytes) * factor);
    bytes = bytes == 0 ? 4 : std::max(next, bytes + 1);
  }
  return sizes;
}

Parsed parse_options(const std::vector<std::string>& arguments) {
  Parsed parsed;
  CLI::App app(
      "Times and checks MPIX_Allreduce_compressed between the ranks that it is started on:\n"
      "  mpirun -n 4 wring_perf --codec none --codec int8 --baseline --check\n",
      "wring_perf");
  Words words;
  declare(app, words, parsed.options);
  try {
    // CLI11 takes the last argument first.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    resolve(words, parsed.options);
  } catch (const CLI::CallForHelp&) {
    parsed.status = 0;
    parsed.text = app.help();
  } catch (const CLI::CallForVersion& version) {
    parsed.status = 0;
    parsed.text = std::string(version.what()) + "\n";
  } catch (const std::exception& e) {  // CLI::ParseError is one
    parsed.status = 2;
    parsed.text = std::string("wring_perf: ") + e.what() + "\nTry 'wring_perf --help'.\n";
  }
  return parsed;
}

}  // namespace wring::tools
