// SPDX-License-Identifier: BSD-3-Clause
// mpi_check.hpp - cases and checks of a test program with several ranks.
//
// A program runs its cases one after another, on all ranks. A failed CHECK on any rank fails the
// case; rank 0 prints one line a case. A case that takes too long ends the program with a stack
// trace.
#pragma once

#include <execinfo.h>
#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace wring::test {

class Cases {
 public:
  /// After MPI_Init. The first argument, if any, is a part of the names of cases to be run.
  Cases(int argc, char** argv) : only_(argc > 1 ? argv[1] : "") {
    current() = this;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    std::signal(SIGALRM, too_late);
  }

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// More ranks than processors: whatever waits is slow, most of all with MPICH.
  bool oversubscribed() const { return size_ > sysconf(_SC_NPROCESSORS_ONLN); }
  /// WRING_TEST_FULL=1: as often as it takes, however long.
  static bool full() {
    const char* text = std::getenv("WRING_TEST_FULL");
    return text != nullptr && *text == '1';
  }
  /// A number of repetitions: `full`, or `few` where ranks share processors, unless full().
  int repetitions(int full_number, int few) const {
    return oversubscribed() && !full() ? few : full_number;
  }

  /// Runs one case. Collective over MPI_COMM_WORLD.
  template <class Body>
  void run(const char* name, Body&& body, unsigned limit_seconds = 60) {
    if (std::strstr(name, only_.c_str()) == nullptr) return;
    std::snprintf(name_, sizeof name_, "%s", name);
    failed_ = 0;
    alarm(limit_seconds);
    const double begin = MPI_Wtime();
    body();
    int anywhere = 0;
    PMPI_Allreduce(&failed_, &anywhere, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    alarm(0);
    if (anywhere != 0) ++failed_cases_;
    if (rank_ == 0)
      std::printf("%s %s, %d ranks, %.2f s\n", anywhere == 0 ? "ok" : "FAILED", name, size_,
                  MPI_Wtime() - begin);
    std::fflush(stdout);
  }

  [[gnu::format(printf, 6, 7)]] void check(bool ok, const char* what, const char* file, int line,
                                           const char* format, ...) {
    if (ok) return;
    if (++failed_ > 3) return;  // the first few tell enough
    char text[1024];
    std::va_list args;
    va_start(args, format);
    std::vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char* slash = std::strrchr(file, '/');
    std::fprintf(stderr, "%s, rank %d, %s:%d: %s: %s\n", name_, rank_, slash ? slash + 1 : file,
                 line, what, text);
  }

  /// Exit status. Ends MPI.
  int finish() {
    alarm(60);
    MPI_Finalize();
    alarm(0);
    return failed_cases_ == 0 ? 0 : 1;
  }

  static Cases*& current() {
    static Cases* one = nullptr;
    return one;
  }

 private:
  static void too_late(int) {
    const Cases& c = *current();
    const auto say = [](const char* text) { (void)!write(STDERR_FILENO, text, std::strlen(text)); };
    say("FAILED ");
    say(c.name_);
    say(": no end\n");
    void* frames[64];
    backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
    _exit(1);
  }

  std::string only_;
  char name_[128] = "MPI_Finalize";
  int rank_ = 0, size_ = 1, failed_ = 0, failed_cases_ = 0;
};

/// CHECK(condition, format, ...): the text says what was found.
#define CHECK(condition, ...)                                                                \
  ::wring::test::Cases::current()->check(static_cast<bool>(condition), #condition, __FILE__, \
                                         __LINE__, __VA_ARGS__)

inline const char* error_text(int code) {
  static char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) std::strcpy(text, "not an error code");
  return text;
}

inline int error_class(int code) {
  int c = 0;
  MPI_Error_class(code, &c);
  return c;
}

#define CHECK_SUCCESS(call)                                      \
  do {                                                           \
    const int code_ = (call);                                    \
    CHECK(code_ == MPI_SUCCESS, "%s gives %d: %s", #call, code_, \
          ::wring::test::error_text(code_));                     \
  } while (false)

/// Whether the bytes are the same on all ranks (by a 64-bit hash). Collective.
inline bool same_everywhere(const void* data, std::size_t bytes, MPI_Comm comm = MPI_COMM_WORLD) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto* p = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ p[i]) * 0x100000001b3;
  std::uint64_t low = 0, high = 0;
  PMPI_Allreduce(&hash, &low, 1, MPI_UINT64_T, MPI_MIN, comm);
  PMPI_Allreduce(&hash, &high, 1, MPI_UINT64_T, MPI_MAX, comm);
  return low == high;
}

/// n elements between guards, full of a sentinel.
template <class T>
class Guarded {
 public:
  explicit Guarded(std::size_t n) : n_(n), bytes_(2 * kGuard + n * sizeof(T), kSentinel) {}
  T* data() { return reinterpret_cast<T*>(bytes_.data() + kGuard); }
  T& operator[](std::size_t i) { return data()[i]; }
  std::size_t size() const { return n_; }
  std::size_t bytes() const { return n_ * sizeof(T); }
  bool guards_whole() const {
    for (std::size_t i = 0; i < kGuard; ++i) {
      if (bytes_[i] != kSentinel || bytes_[bytes_.size() - 1 - i] != kSentinel) return false;
    }
    return true;
  }
  /// Whether no element has been written.
  bool untouched() const {
    for (unsigned char b : bytes_) {
      if (b != kSentinel) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kGuard = 64;
  static constexpr unsigned char kSentinel = 0xa5;
  std::size_t n_;
  std::vector<unsigned char> bytes_;
};

}  // namespace wring::test
