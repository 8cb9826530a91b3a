// SPDX-License-Identifier: BSD-3-Clause
// rules.cpp - the grammar of WRING_TUNE_RULES.
#include <string_view>

#include "base/config.hpp"
#include "plan/plan.hpp"

namespace wring::plan {
namespace {

Status bad_rule(std::string_view rule, const char* why, std::string_view part) {
  return fail(Code::invalid_arg, static_cast<int>(Arg::info),
              "rule \"%.*s\": %s \"%.*s\" (expected MIN-MAX:ALGORITHM[+CODEC], as in 0-4k:tree+none)",
              static_cast<int>(rule.size()), rule.data(), why, static_cast<int>(part.size()), part.data());
}

Status parse_rule(std::string_view rule, Rule& out) {
  std::string_view rest = rule;
  if (rest.starts_with("allreduce:")) rest.remove_prefix(10);
  const auto colon = rest.find(':');
  if (colon == rest.npos) return bad_rule(rule, "no colon in", rest);
  const std::string_view range = rest.substr(0, colon);
  std::string_view action = rest.substr(colon + 1);

  const auto dash = range.find('-');
  auto low = parse_bytes(range.substr(0, dash));
  auto high = dash == range.npos ? std::nullopt : parse_bytes(range.substr(dash + 1));
  if (!low || !high || *low >= *high) return bad_rule(rule, "bad size range", range);

  const auto plus = action.find('+');
  const std::string_view name = action.substr(0, plus);
  Rule parsed;
  parsed.min_bytes = *low;
  parsed.max_bytes = *high;
  parsed.algorithm = algorithm::find(name);
  if (parsed.algorithm == nullptr) return bad_rule(rule, "unknown algorithm", name);
  if (plus != action.npos) WRING_TRY(codec::parse(action.substr(plus + 1), parsed.codec));
  out = parsed;
  return {};
}

}  // namespace

Status parse_rules(const std::string& text, std::vector<Rule>& out) {
  std::vector<Rule> rules;
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto end = std::min(rest.find(';'), rest.size());
    Rule rule;
    if (end > 0) {
      WRING_TRY(parse_rule(rest.substr(0, end), rule));
      rules.push_back(rule);
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  out = std::move(rules);
  return {};
}

}  // namespace wring::plan
