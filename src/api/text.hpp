// SPDX-License-Identifier: BSD-3-Clause
// text.hpp - texts that public functions return.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

namespace wring::api {

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
