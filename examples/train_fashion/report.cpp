// SPDX-License-Identifier: BSD-3-Clause
// report.cpp - what rank 0 tells about a training.
#include "report.hpp"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>

namespace fashion {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...) {
  char text[512];
  va_list values;
  va_start(values, pattern);
  std::vsnprintf(text, sizeof text, pattern, values);
  va_end(values);
  return text;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) >= ' ') result += c;
  }
  return result + '"';
}

std::string or_null(const std::optional<std::uint64_t>& value) {
  return value ? std::to_string(*value) : "null";
}

/// A training that diverged has a loss that JSON cannot say.
std::string finite_or_null(double value) {
  return std::isfinite(value) ? format("%.5f", value) : "null";
}

double median_ms(std::vector<double> seconds) {
  if (seconds.empty()) return 0.0;
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return 1e3 * *middle;
}

}  // namespace

Report::Report(const Options& options, const std::string& codec, int ranks)
    : options_(options), codec_(codec), ranks_(ranks) {
  if (!options.json.empty()) append("");
}

void Report::append(const std::string& line) const {
  if (options_.json.empty()) {
    std::fputs(line.c_str(), stdout);
    return;
  }
  const File file(std::fopen(options_.json.c_str(), "a"), std::fclose);
  if (!file || std::fputs(line.c_str(), file.get()) < 0 || std::fflush(file.get()) != 0) {
    throw std::runtime_error("cannot write " + options_.json + ": " + std::strerror(errno));
  }
}

std::string Report::common(const char* kind, const Progress& progress) const {
  return format("{\"kind\": \"%s\", \"method\": %s, \"codec\": %s, \"ranks\": %d, ", kind,
                quoted(options_.method).c_str(), quoted(codec_).c_str(), ranks_) +
         format(
             "\"epochs\": %zu, \"steps\": %zu, \"test_accuracy\": %.4f, \"train_loss\": %s, "
             "\"seconds_total\": %.3f, \"net_bytes\": %s, \"digest\": \"%016" PRIx64 "\"",
             progress.epoch, progress.steps, progress.test_accuracy,
             finite_or_null(progress.train_loss).c_str(), progress.seconds,
             or_null(progress.net_bytes).c_str(), progress.digest);
}

void Report::epoch(const Progress& progress) {
  if (!options_.quiet) {
    std::fprintf(stderr, "%s: epoch %zu/%zu: loss %.3f, test accuracy %.2f %%, %.1f s\n",
                 options_.method.c_str(), progress.epoch, options_.epochs, progress.train_loss,
                 100.0 * progress.test_accuracy, progress.seconds);
  }
  if (!options_.json.empty()) append(common("epoch", progress) + "}\n");
}

void Report::result(const Progress& progress, const Times& times, std::size_t parameters) {
  std::optional<std::uint64_t> bytes_per_step;
  if (progress.net_bytes) bytes_per_step = *progress.net_bytes / progress.steps;
  const double all_reduce = std::accumulate(times.all_reduce.begin(), times.all_reduce.end(), 0.0);
  append(common("run", progress) +
         format(", \"batch\": %zu, \"params\": %zu, \"seconds_comm\": %.3f, \"step_ms\": %.3f, "
                "\"comm_ms\": %.3f, \"net_bytes_per_step\": %s}\n",
                options_.batch, parameters, all_reduce, median_ms(times.step),
                median_ms(times.all_reduce), or_null(bytes_per_step).c_str()));
}

}  // namespace fashion
