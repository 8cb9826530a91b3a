// SPDX-License-Identifier: BSD-3-Clause
// status.cpp - formatted error texts.
#include "base/status.hpp"

#include <cstdarg>
#include <cstdio>

namespace wring {

Status fail(Code code, int detail, const char* format, ...) noexcept {
  thread_local char text[512];
  std::va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return {code, text, detail};
}

}  // namespace wring
