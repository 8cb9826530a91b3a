// SPDX-License-Identifier: BSD-3-Clause
// config.hpp - the environment variables that Wring reads, from the one table in config.def.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace wring {

/// Values of one process. Text that does not parse keeps the default, with one warning.
struct Config {
  using boolean = bool;
  using integer = long long;
  using real = double;
  using bytes = std::uint64_t;
  using text = std::string;
#define WRING_VAR(member, name, kind, fallback, doc) kind member{};
#include "base/config.def"
#undef WRING_VAR
};

/// The process's configuration, read from the environment at first use. Thread-safe.
const Config& config();
/// Reads the environment anew; for tests.
Config read_config();

/// One row of the table, for wring_info and the documentation check.
struct ConfigVar {
  const char* name;
  const char* kind;
  const char* fallback;
  const char* doc;
};
std::span<const ConfigVar> config_table();

/// "4k", "64KiB", "1m", "inf" or a plain number: bytes (k, m, g are powers of 1024).
std::optional<std::uint64_t> parse_bytes(std::string_view text);
/// The shortest exact form: "4k", "1m", "1000", "inf".
std::string format_bytes(std::uint64_t bytes);
/// Three digits and a unit: "1.25 us", "830 ms".
std::string format_seconds(double seconds);

}  // namespace wring
