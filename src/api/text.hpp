// SPDX-License-Identifier: BSD-3-Clause
// text.hpp - arguments that public functions write to.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "base/status.hpp"

namespace wring::api {

inline Status null_argument() {
  return {Code::invalid_arg, "an argument is null", static_cast<int>(Arg::other)};
}

/// Where copy_out can write: buf may be null if *len is 0.
inline Status check_out(const char* buf, const int* len) {
  return len == nullptr || *len < 0 || (*len > 0 && buf == nullptr) ? null_argument() : Status{};
}

/// As MPI_Info_get_string: len is the size of buf before, the size needed with the terminator after.
inline void copy_out(const std::string& text, char* buf, int* len) {
  if (*len > 0) {
    const std::size_t n = std::min(text.size(), static_cast<std::size_t>(*len) - 1);
    std::memcpy(buf, text.data(), n);
    buf[n] = '\0';
  }
  *len = static_cast<int>(text.size()) + 1;
}

}  // namespace wring::api
