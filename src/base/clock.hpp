// SPDX-License-Identifier: BSD-3-Clause
// clock.hpp - seconds that only go forward.
#pragma once

#include <time.h>

namespace wring {

/// Seconds since some fixed moment, to measure durations.
inline double now() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace wring
