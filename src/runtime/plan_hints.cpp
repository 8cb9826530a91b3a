// SPDX-License-Identifier: BSD-3-Clause
// plan_hints.cpp - reads and checks hints.
#include "runtime/plan_hints.hpp"

#include <cstring>

#include "base/config.hpp"

namespace wring::runtime {
namespace {

Status bad_hint(const char* key, const char* value, const char* why) {
  return fail(Code::invalid_arg, static_cast<int>(Arg::info), "hint %s=\"%s\": %s", key, value, why);
}

template <std::size_t N>
Status get(MPI_Info info, const char* key, char (&out)[N]) {
  int length = 0, found = 0;
  MPI_Info_get_valuelen(info, key, &length, &found);
  if (!found) return {};
  if (length >= static_cast<int>(N)) return fail(Code::invalid_arg, static_cast<int>(Arg::info), "hint %s: %d characters, where %zu are the most", key, length, N - 1);
  MPI_Info_get(info, key, length, out, &found);
  return {};
}

}  // namespace

Status PlanHints::read(MPI_Info info) {
  if (info == MPI_INFO_NULL) return {};
  WRING_TRY(get(info, "wring_algorithm", algorithm));
  WRING_TRY(get(info, "wring_segment", segment));
  WRING_TRY(get(info, "wring_progress", progress));
  return get(info, "wring_tune_rules", tune_rules);
}

std::string PlanHints::differences(const PlanHints& others) const {
  std::string names;
  const auto compare = [&](const char* mine, const char* theirs, const char* name) {
    if (std::strcmp(mine, theirs) != 0) names += (names.empty() ? "" : ", ") + std::string(name);
  };
  compare(algorithm, others.algorithm, "wring_algorithm");
  compare(segment, others.segment, "wring_segment");
  compare(progress, others.progress, "wring_progress");
  compare(tune_rules, others.tune_rules, "wring_tune_rules");
  return names;
}

Status PlanHints::apply(plan::Settings& settings) const {
  if (algorithm[0] != '\0') {
    const bool any = std::strcmp(algorithm, "auto") == 0;
    settings.algorithm = any ? nullptr : algorithm::find(algorithm);
    if (!any && settings.algorithm == nullptr) return bad_hint("wring_algorithm", algorithm, "not an algorithm (wring_info --algorithms lists them)");
  }
  if (segment[0] != '\0') {
    const auto bytes = parse_bytes(segment);
    if (!bytes) return bad_hint("wring_segment", segment, "not a number of bytes, as in 64k");
    settings.segment_bytes = *bytes;
  }
  if (progress[0] != '\0' && std::strcmp(progress, "mpi") != 0 && !wants_thread()) {
    return bad_hint("wring_progress", progress, "expected mpi or thread");
  }
  if (tune_rules[0] != '\0') {
    if (Status status = plan::parse_rules(tune_rules, settings.rules); status.is_error()) {
      const std::string why = status.what();
      return fail(Code::invalid_arg, static_cast<int>(Arg::info), "hint wring_tune_rules: %s", why.c_str());
    }
  }
  return {};
}

bool PlanHints::wants_thread() const { return std::strcmp(progress, "thread") == 0; }

}  // namespace wring::runtime
