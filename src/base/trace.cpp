// SPDX-License-Identifier: BSD-3-Clause
// trace.cpp - keeps spans in a ring and writes them as trace events.
#include "base/trace.hpp"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

#include "base/config.hpp"
#include "base/log.hpp"

namespace wring::trace {
namespace {

/// 56 MiB at most: the last minutes of most programs.
constexpr std::size_t kMostSpans = std::size_t{1} << 20;

struct Ring {
  std::unique_ptr<Span[]> spans;
  std::size_t kept = 0, next = 0;
  bool lost = false;
};

Ring& ring() {
  static Ring* r = new Ring;  // spans may come as late as MPI_Finalize
  return *r;
}

const char* row_name(Span::Row row) {
  switch (row) {
    case Span::Row::starts: return "starts";
    case Span::Row::waits: return "waits";
    case Span::Row::steps: break;
  }
  return "steps";
}

void write_span(std::FILE* file, int rank, const Span& s) {
  std::fprintf(file,
               ",\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"plan\":%" PRIu32
               ",\"start\":%" PRIu32 ",\"tile\":%" PRIu32 ",\"bytes\":%" PRIu64,
               s.name, rank, static_cast<int>(s.row), s.begin * 1e6, (s.end - s.begin) * 1e6, s.lane, s.start, s.tile, s.bytes);
  if (s.peer >= 0) std::fprintf(file, ",\"peer\":%" PRId32, s.peer);
  std::fputs("}}", file);
}

}  // namespace

bool enabled() noexcept {
  static const bool on = !config().trace.empty();
  return on;
}

void record(const Span& span) noexcept {
  Ring& r = ring();
  if (r.spans == nullptr) {
    r.spans.reset(new (std::nothrow) Span[kMostSpans]);
    if (r.spans == nullptr) return;
  }
  r.spans[r.next] = span;
  r.next = (r.next + 1) % kMostSpans;
  if (r.kept < kMostSpans) {
    ++r.kept;
  } else {
    r.lost = true;
  }
}

std::string file_of(std::string name, int rank) {
  const std::string number = std::to_string(rank);
  if (const auto at = name.find("%r"); at != name.npos) return name.replace(at, 2, number);
  const auto slash = name.rfind('/'), dot = name.rfind('.');
  const bool has_ending = dot != name.npos && (slash == name.npos || dot > slash + 1) && dot > 0;
  return has_ending ? name.insert(dot, "." + number) : name + "." + number;
}

bool write(const std::string& pattern, int rank) noexcept {
  Ring& r = ring();
  try {
    const std::string name = file_of(pattern, rank);
    std::FILE* file = std::fopen(name.c_str(), "w");
    if (file == nullptr) {
      log(LogLevel::warn, "WRING_TRACE: %s: %s", name.c_str(), std::strerror(errno));
      return false;
    }
    std::fprintf(file, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    std::fprintf(file, "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"rank %d\"}}", rank, rank);
    for (const auto row : {Span::Row::starts, Span::Row::steps, Span::Row::waits}) {
      std::fprintf(file, ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"%s\"}}", rank,
                   static_cast<int>(row), row_name(row));
    }
    const std::size_t first = (r.next + kMostSpans - r.kept) % kMostSpans;
    for (std::size_t i = 0; i < r.kept; ++i) write_span(file, rank, r.spans[(first + i) % kMostSpans]);
    std::fputs("\n]}\n", file);
    const bool failed = std::ferror(file) != 0;
    if (std::fclose(file) != 0 || failed) {
      log(LogLevel::warn, "WRING_TRACE: %s: writing failed", name.c_str());
      return false;
    }
    if (r.lost) log(LogLevel::warn, "WRING_TRACE: only the last %zu spans were kept", kMostSpans);
    r = Ring{};
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace wring::trace
