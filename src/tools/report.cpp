// SPDX-License-Identifier: BSD-3-Clause
// report.cpp - the table on stdout, the JSON lines, the summary.
#include "tools/report.hpp"

#include <unistd.h>
#include <wring_version.h>

#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/config.hpp"

namespace wring::tools {
namespace {

/// What both outputs derive from a row.
struct Derived {
  std::optional<double> algbw, busbw, ratio, speedup;

  Derived(const Row& row, int ranks) {
    if (row.bytes > 0 && row.seconds > 0) {
      algbw = static_cast<double>(row.bytes) / row.seconds / 1e9;
      busbw = *algbw * 2 * (ranks - 1) / ranks;
    }
    if (row.wire_bytes && *row.wire_bytes > 0) {
      ratio = static_cast<double>(*row.raw_bytes) / static_cast<double>(*row.wire_bytes);
    }
    if (row.mpi_seconds && row.seconds > 0) speedup = *row.mpi_seconds / row.seconds;
  }
};

std::string text(const char* format, double value) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

std::string text(const char* format, const std::optional<double>& value) {
  return value ? text(format, *value) : "-";
}

/// Four digits or so, whatever the size.
std::string microseconds(const std::optional<double>& seconds) {
  if (!seconds) return "-";
  const double us = *seconds * 1e6;
  return text(us < 10 ? "%.3f" : us < 1000 ? "%.1f" : "%.0f", us);
}

constexpr const char* kColumns =
    "%12s %7s %-24s %-18s %11s %8s %8s %6s %10s %10s %10s %5s %7s %11s %8s\n";

template <class T>
nlohmann::ordered_json json_of(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json json_of(const std::string& name) {
  return name.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(name);
}

}  // namespace

Report::~Report() {
  if (json_ != nullptr) std::fclose(json_);
}

bool Report::open() {
  if (options_.json.empty()) return true;
  json_ = std::fopen(options_.json.c_str(), "w");
  if (json_ != nullptr) return true;
  std::fprintf(stderr, "wring_perf: %s: %s\n", options_.json.c_str(), std::strerror(errno));
  return false;
}

void Report::print_header() const {
  std::printf("# wring_perf %s: %d rank%s on %d host%s, %s, transport %s\n", WRING_VERSION,
              place_.ranks, place_.ranks == 1 ? "" : "s", place_.hosts,
              place_.hosts == 1 ? "" : "s", place_.mpi.c_str(),
              place_.transport.empty() ? "none" : place_.transport.c_str());
  const std::string data = options_.data == Data::Kind::file     ? options_.data_file
                           : options_.data == Data::Kind::smooth ? "smooth"
                                                                 : "gaussian";
  std::printf("# form %s, op %s, data %s, seed %" PRIu64
              "%s; median time of the slowest rank; GB = 1e9 bytes\n",
              name_of(options_.form), name_of(options_.op), data.c_str(), options_.seed,
              options_.in_place ? ", in place" : "");
  std::printf("#");
  std::printf(kColumns, "bytes", "type", "codec", "algorithm", "time_us", "algbw", "busbw", "ratio",
              "max_err", "bound", "bias", "same", "wrong", "mpi_us", "speedup");
  std::fflush(stdout);
}

void Report::progress(std::size_t row, std::size_t rows, const Row& next) {
  static const bool terminal = isatty(STDERR_FILENO) == 1;
  if (!terminal) return;
  std::fprintf(stderr, "\r\033[K%zu of %zu: %s %s %s", row + 1, rows,
               format_bytes(next.bytes).c_str(), next.element->name, next.codec.c_str());
  std::fflush(stderr);
  progress_shown_ = true;
}

void Report::erase_progress() {
  if (!progress_shown_) return;
  std::fputs("\r\033[K", stderr);
  progress_shown_ = false;
}

void Report::print(const Row& row) {
  erase_progress();
  ++rows_;
  const Derived d(row, place_.ranks);
  const std::optional<Verdict>& v = row.verdict;
  if (v && v->wrong > 0) ++wrong_rows_;
  if (v && !v->same_bytes) ++differing_rows_;

  const std::string asked = row.codec.substr(0, row.codec.find(':'));
  const std::string codec = row.used_codec.empty() || row.used_codec == asked
                                ? row.codec
                                : row.codec + ">" + row.used_codec;
  const auto checked = [&](double value) { return v ? text("%.3g", value) : std::string("-"); };
  std::printf(" ");
  std::printf(kColumns, std::to_string(row.bytes).c_str(), row.element->name, codec.c_str(),
              row.algorithm.empty() ? "-" : row.algorithm.c_str(),
              microseconds(row.seconds).c_str(), text("%.4g", d.algbw).c_str(),
              text("%.4g", d.busbw).c_str(), text("%.3f", d.ratio).c_str(),
              checked(v ? v->max_error : 0).c_str(), checked(v ? v->bound : 0).c_str(),
              checked(v ? v->bias : 0).c_str(), v ? v->same_bytes ? "yes" : "NO" : "-",
              v ? std::to_string(v->wrong).c_str() : "-", microseconds(row.mpi_seconds).c_str(),
              text("%.2f", d.speedup).c_str());
  std::fflush(stdout);
  if (json_ != nullptr &&
      (std::fprintf(json_, "%s\n", json_line(row).c_str()) < 0 || std::fflush(json_) != 0)) {
    write_failed_ = true;
  }
}

std::string Report::json_line(const Row& row) const {
  const Derived d(row, place_.ranks);
  std::optional<double> max_error, bound, bias, mpi_us, predicted_us;
  std::optional<bool> same;
  std::optional<std::uint64_t> wrong;
  if (const std::optional<Verdict>& v = row.verdict) {
    max_error = v->max_error, bound = v->bound, bias = v->bias, same = v->same_bytes,
    wrong = v->wrong;
  }
  if (row.mpi_seconds) mpi_us = *row.mpi_seconds * 1e6;
  if (row.predicted_seconds) predicted_us = *row.predicted_seconds * 1e6;
  // Infinities become null.
  return nlohmann::ordered_json{
      {"bytes", row.bytes},
      {"count", row.count},
      {"type", row.element->name},
      {"op", name_of(options_.op)},
      {"form", name_of(options_.form)},
      {"codec", row.codec},
      {"algorithm", json_of(row.algorithm)},
      {"segment", json_of(row.segment)},
      {"ranks", place_.ranks},
      {"transport", json_of(row.transport)},
      {"device", row.device},
      {"time_us", row.seconds * 1e6},
      {"algbw_gbs", json_of(d.algbw)},
      {"busbw_gbs", json_of(d.busbw)},
      {"raw_bytes", json_of(row.raw_bytes)},
      {"wire_bytes", json_of(row.wire_bytes)},
      {"wire_ratio", json_of(d.ratio)},
      {"max_err", json_of(max_error)},
      {"bound", json_of(bound)},
      {"bias", json_of(bias)},
      {"same_bytes", json_of(same)},
      {"wrong", json_of(wrong)},
      {"mpi_time_us", json_of(mpi_us)},
      {"speedup", json_of(d.speedup)},
      {"predicted_us", json_of(predicted_us)},
  }
      .dump();
}

bool Report::finish(bool failed) {
  erase_progress();
  if (json_ != nullptr && std::fclose(json_) != 0) write_failed_ = true;
  json_ = nullptr;
  if (write_failed_)
    std::fprintf(stderr, "wring_perf: %s: writing failed\n", options_.json.c_str());

  std::string wrong;
  const auto add = [&](bool is, const std::string& what) {
    if (is) wrong += (wrong.empty() ? "" : ", ") + what;
  };
  add(failed, "stopped by an error");
  add(wrong_rows_ > 0, std::to_string(wrong_rows_) + " with wrong elements");
  add(differing_rows_ > 0,
      std::to_string(differing_rows_) + " with results that differ between ranks");
  add(write_failed_, "not all written to " + options_.json);
  std::printf("# %zu row%s, %s\n", rows_, rows_ == 1 ? "" : "s",
              !wrong.empty()   ? wrong.c_str()
              : options_.check ? "all right"
                               : "not checked");
  std::fflush(stdout);
  return wrong.empty();
}

}  // namespace wring::tools
