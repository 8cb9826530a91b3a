// SPDX-License-Identifier: BSD-3-Clause
// log.hpp - messages on stderr, one whole line each, below the level of WRING_LOG.
#pragma once

namespace wring {

enum class LogLevel { error, warn, info, debug };

/// Whether messages of that level are printed.
bool log_enabled(LogLevel level) noexcept;
/// Prints "wring[rank]: level: text". The function that first decides which error it is logs it, once.
[[gnu::format(printf, 2, 3)]] void log(LogLevel level, const char* format, ...) noexcept;
/// Prints the text as it is.
[[gnu::format(printf, 1, 2)]] void log_raw(const char* format, ...) noexcept;
/// Rank in MPI_COMM_WORLD for the prefix; -1 leaves it out.
void set_log_rank(int rank) noexcept;

}  // namespace wring
