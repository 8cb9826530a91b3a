// SPDX-License-Identifier: BSD-3-Clause
// log.cpp - messages on stderr.
#include "base/log.hpp"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/config.hpp"

namespace wring {
namespace {

std::atomic<int> g_rank{-1};
constexpr const char* kNames[] = {"error", "warning", "info", "debug"};

LogLevel read_level() noexcept {
  const std::string& text = config().log;
  if (text == "error") return LogLevel::error;
  if (text == "info") return LogLevel::info;
  if (text == "debug") return LogLevel::debug;
  if (text != "warn") {
    log_raw("wring: warning: WRING_LOG=\"%s\" is not one of error, warn, info, debug\n", text.c_str());
  }
  return LogLevel::warn;
}

}  // namespace

bool log_enabled(LogLevel level) noexcept {
  static const LogLevel limit = read_level();
  return level <= limit;
}

void log(LogLevel level, const char* format, ...) noexcept {
  if (!log_enabled(level)) return;
  char line[1024];
  int used = g_rank >= 0 ? std::snprintf(line, sizeof line, "wring[%d]: %s: ", g_rank.load(),
                                         kNames[static_cast<int>(level)])
                         : std::snprintf(line, sizeof line, "wring: %s: ", kNames[static_cast<int>(level)]);
  std::va_list args;
  va_start(args, format);
  std::vsnprintf(line + used, sizeof line - static_cast<std::size_t>(used) - 1, format, args);
  va_end(args);
  std::size_t length = std::strlen(line);
  line[length] = '\n';
  std::fwrite(line, 1, length + 1, stderr);
}

void log_raw(const char* format, ...) noexcept {
  std::va_list args;
  va_start(args, format);
  std::vfprintf(stderr, format, args);
  va_end(args);
}

void set_log_rank(int rank) noexcept { g_rank = rank; }

}  // namespace wring
