// SPDX-License-Identifier: BSD-3-Clause
// status.hpp - how functions inside the library say that they failed.
#pragma once

#include <cstdint>

namespace wring {

/// Kinds of failure. `again` means back-pressure (retry after progress) and is not an error.
enum class Code : std::uint8_t {
  ok,
  again,
  invalid_arg,
  unsupported,
  no_memory,
  mismatch,       ///< ranks made different calls
  corrupt_frame,  ///< bytes from a peer that no correct peer sends
  device_error,
  transport_error,
  peer_failed,
  timeout,
  not_initialized,  ///< MPI is not initialised, or is finalised
  mpi_error,        ///< an MPI function failed; detail holds its code
  internal,
};

/// For invalid_arg: which argument, hence which MPI error class.
enum class Arg : int { other, comm, count, type, op, buffer, info, request };

/// Result of a function that can fail: 16 bytes, no allocation. `what` is a literal or the calling
/// thread's text buffer (see fail), valid until that thread's next call of fail.
class [[nodiscard]] Status {
 public:
  constexpr Status() noexcept = default;
  constexpr Status(Code code, const char* what, int detail = 0) noexcept
      : what_(what), detail_(detail), code_(code) {}

  constexpr bool ok() const noexcept { return code_ == Code::ok; }
  constexpr bool again() const noexcept { return code_ == Code::again; }
  constexpr bool is_error() const noexcept { return code_ > Code::again; }
  constexpr Code code() const noexcept { return code_; }
  constexpr const char* what() const noexcept { return what_; }
  constexpr int detail() const noexcept { return detail_; }

 private:
  const char* what_ = "";
  int detail_ = 0;
  Code code_ = Code::ok;
};

/// Status with a formatted text, kept in a buffer of the calling thread (cut at 511 characters).
/// For the function that first decides which error it is; callers pass the Status on unchanged.
[[gnu::format(printf, 3, 4)]] Status fail(Code code, int detail, const char* format, ...) noexcept;

constexpr Status kAgain{Code::again, "again"};

/// Returns from the calling function if expr is an error.
#define WRING_TRY(expr)                                     \
  do {                                                      \
    if (::wring::Status status_ = (expr); !status_.ok()) {  \
      return status_;                                       \
    }                                                       \
  } while (false)

}  // namespace wring
