// SPDX-License-Identifier: BSD-3-Clause
// config.cpp - reads config.def's variables from the environment.
#include "base/config.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "base/log.hpp"

namespace wring {
namespace {

bool parse(std::string_view text, bool& out) {
  if (text == "1" || text == "on" || text == "yes" || text == "true") {
    out = true;
  } else if (text == "0" || text == "off" || text == "no" || text == "false") {
    out = false;
  } else {
    return false;
  }
  return true;
}

template <class T>
bool parse_number(std::string_view text, T& out) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return false;
  out = value;
  return true;
}

bool parse(std::string_view text, double& out) {
  double value = 0;
  if (!parse_number(text, value) || !(value >= 0)) return false;
  out = value;
  return true;
}

bool parse(std::string_view text, std::uint64_t& out) {
  auto value = parse_bytes(text);
  if (value) out = *value;
  return value.has_value();
}

bool parse(std::string_view text, std::string& out) {
  out = text;
  return true;
}

template <class T>
void read(const char* name, const char* fallback, T& out) {
  const char* text = std::getenv(name);
  if (text != nullptr && *text != '\0') {
    if (parse(text, out)) return;
    // Not through the logger: its level may be what is being read.
    log_raw("wring: warning: %s=\"%s\" is not understood, using \"%s\"\n", name, text, fallback);
  }
  (void)parse(fallback, out);
}

}  // namespace

Config read_config() {
  Config c;
#define WRING_VAR(member, name, kind, fallback, doc) read(name, fallback, c.member);
#include "base/config.def"
#undef WRING_VAR
  return c;
}

const Config& config() {
  static const Config c = read_config();
  return c;
}

std::span<const ConfigVar> config_table() {
  static constexpr ConfigVar kTable[] = {
#define WRING_VAR(member, name, kind, fallback, doc) {name, #kind, fallback, doc},
#include "base/config.def"
#undef WRING_VAR
  };
  return kTable;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  if (text == "inf") return std::numeric_limits<std::uint64_t>::max();
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  unsigned shift = 0;
  if (!unit.empty()) {
    switch (unit.front() | 0x20) {
      case 'k': shift = 10; break;
      case 'm': shift = 20; break;
      case 'g': shift = 30; break;
      case 'b': shift = 0; break;
      default: return std::nullopt;
    }
    std::string_view rest = unit.substr(1);
    bool scaled = shift != 0;
    if (!(rest.empty() || (scaled && (rest == "iB" || rest == "ib" || rest == "B" || rest == "b")))) {
      return std::nullopt;
    }
  }
  if (value > (std::numeric_limits<std::uint64_t>::max() >> shift)) return std::nullopt;
  return value << shift;
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes == std::numeric_limits<std::uint64_t>::max()) return "inf";
  for (auto [shift, unit] : {std::pair{30, 'g'}, {20, 'm'}, {10, 'k'}}) {
    if (bytes != 0 && (bytes & ((std::uint64_t{1} << shift) - 1)) == 0) {
      return std::to_string(bytes >> shift) + unit;
    }
  }
  return std::to_string(bytes);
}

std::string format_seconds(double seconds) {
  double value = seconds * 1e9;
  const char* unit = "ns";
  for (const char* next : {"us", "ms", "s"}) {
    if (value < 999.5) break;
    value /= 1000;
    unit = next;
  }
  char text[32];
  // Rounded up to the next digit, 9.995 is 10.0.
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::snprintf(text, sizeof text, "%.*f %s", decimals, value, unit);
  return text;
}

}  // namespace wring
