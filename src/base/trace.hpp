// SPDX-License-Identifier: BSD-3-Clause
// trace.hpp - a timeline of what this process does, for WRING_TRACE.
//
// Spans are kept in memory, the latest of them if there are too many, and written at the end as JSON that
// Perfetto and chrome://tracing open ("Trace Event Format"). Recording is under the caller's lock.
#pragma once

#include <cstdint>
#include <string>

namespace wring::trace {

/// One thing that took time. name: a literal.
struct Span {
  const char* name = "";
  double begin = 0, end = 0;  ///< seconds of clock.hpp
  std::uint32_t lane = 0, start = 0, tile = 0;
  std::int32_t peer = -1;  ///< to whom a frame goes; -1: none
  std::uint64_t bytes = 0;
  enum class Row : std::uint8_t { starts, steps, waits } row = Row::steps;  ///< where it is drawn
};

/// Whether spans are kept: WRING_TRACE names a file.
bool enabled() noexcept;
/// Keeps a span. Allocates only the first time.
void record(const Span& span) noexcept;
/// The file of a rank: `name` with "%r" replaced by the rank, or with the rank in front of its ending
/// ("run.json" becomes "run.3.json").
std::string file_of(std::string name, int rank);
/// Writes what was kept into file_of(name, rank), and forgets it; whether it could. Says why not.
bool write(const std::string& name, int rank) noexcept;

}  // namespace wring::trace
