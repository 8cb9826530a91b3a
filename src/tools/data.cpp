// SPDX-License-Identifier: BSD-3-Clause
// data.cpp - counter-based generators of input vectors.
//
// No function of the C library's mathematics is used: machines may differ in the last bit of those.
#include "tools/data.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

namespace wring::tools {
namespace {

constexpr std::size_t kBatch = 256;
/// Elements between the points of a smooth curve.
constexpr std::uint64_t kSpacing = 64;

/// Finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA'14).
std::uint64_t mix(std::uint64_t z) noexcept {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Eight uniform numbers of 16 bits added up, with 32 random bits below: nearly normal, up to 4.9
/// standard deviations, and with as many significant bits as a measured value has.
double gaussian(std::uint64_t key, std::uint64_t i) noexcept {
  const std::uint64_t z = key + i * 3 * 0x9e3779b97f4a7c15u;
  const std::uint64_t a = mix(z), b = mix(z + 0x9e3779b97f4a7c15u),
                      c = mix(z + 2 * 0x9e3779b97f4a7c15u);
  constexpr std::uint64_t kEven = 0x0000ffff0000ffffu;
  const std::uint64_t pairs = (a & kEven) + ((a >> 16) & kEven) + (b & kEven) + ((b >> 16) & kEven);
  const std::uint64_t sum = (pairs & 0xffffffffu) + (pairs >> 32);
  const auto bits = static_cast<std::int64_t>(sum << 32 | c >> 32);
  constexpr std::int64_t kMean = (std::int64_t{8} * 0x10000 << 32) / 2;
  constexpr double kInverseDeviation = 1.2247448713915890;  // sqrt(12 / 8)
  return static_cast<double>(bits - kMean) * 0x1p-48 * kInverseDeviation;
}

/// Catmull-Rom spline through the points of one interval.
double spline(const double p[4], double t) noexcept {
  const double a = 0.5 * (3 * (p[1] - p[2]) + p[3] - p[0]);
  const double b = p[0] + 2 * p[2] - 0.5 * (5 * p[1] + p[3]);
  const double c = 0.5 * (p[2] - p[0]);
  return ((a * t + b) * t + c) * t + p[1];
}

/// What values are multiplied by. Sums of integers must not overflow: MPI leaves open what happens
/// then, and Open MPI 4.1 saturates 8 and 16 bits on some processors.
double scale_of(const Element& e, int ranks) noexcept {
  if (e.floating) return 1;
  constexpr double kMost = 1000, kLargestValue = 5;
  const double range = e.bytes == 1 ? 0x1p7 : e.bytes == 2 ? 0x1p15 : 0x1p31;
  return std::max(1.0, std::min(kMost, range / (kLargestValue * ranks)));
}

bool is_unsigned(Form form) noexcept {
  return form == Form::u8 || form == Form::u16 || form == Form::u32 || form == Form::u64;
}

}  // namespace

Data::~Data() {
  if (file_ != nullptr) munmap(const_cast<std::byte*>(file_), file_bytes_);
}

Status Data::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(Code::invalid_arg, 0, "%s: %s", path.c_str(), std::strerror(errno));
  struct stat info {};
  void* at = MAP_FAILED;
  if (fstat(fd, &info) == 0 && info.st_size > 0) {
    at = mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ, MAP_SHARED, fd, 0);
  }
  const int error = errno;
  close(fd);
  if (at == MAP_FAILED) {
    return fail(Code::invalid_arg, 0, "%s: %s", path.c_str(),
                info.st_size > 0 ? std::strerror(error) : "empty");
  }
  file_ = static_cast<const std::byte*>(at);
  file_bytes_ = static_cast<std::uint64_t>(info.st_size);
  return {};
}

void Data::make(std::uint64_t key, std::uint64_t first, std::size_t n, double* out) const noexcept {
  if (kind_ == Kind::gaussian) {
    for (std::size_t i = 0; i < n; ++i) out[i] = gaussian(key, first + i);
    return;
  }
  for (std::size_t i = 0; i < n;) {
    const std::uint64_t interval = (first + i) / kSpacing, from = (first + i) % kSpacing;
    double points[4];
    for (std::uint64_t k = 0; k < 4; ++k) points[k] = gaussian(key, interval + k);
    for (std::uint64_t j = from; j < kSpacing && i < n; ++j, ++i) {
      out[i] = spline(points, static_cast<double>(j) / kSpacing);
    }
  }
}

void Data::fill(const Element& element, int rank, std::uint64_t first, std::size_t n,
                void* out) const noexcept {
  auto* to = static_cast<std::byte*>(out);
  if (kind_ == Kind::file) {
    const std::uint64_t total = file_bytes_ / element.bytes;
    const std::uint64_t shift = total / static_cast<unsigned>(ranks_) * static_cast<unsigned>(rank);
    for (std::size_t done = 0; done < n;) {
      const std::uint64_t at = (first + done + shift) % total;
      const std::size_t run =
          static_cast<std::size_t>(std::min<std::uint64_t>(n - done, total - at));
      std::memcpy(to + done * element.bytes, file_ + at * element.bytes, run * element.bytes);
      done += run;
    }
    return;
  }
  const std::uint64_t key = mix(mix(seed_) + static_cast<unsigned>(rank) + 1);
  const double scale = scale_of(element, ranks_);
  double values[kBatch];
  for (std::size_t done = 0; done < n; done += kBatch) {
    const std::size_t run = std::min(kBatch, n - done);
    make(key, first + done, run, values);
    if (scale != 1) {
      for (std::size_t i = 0; i < run; ++i) values[i] *= scale;
    }
    if (is_unsigned(element.form)) {
      for (std::size_t i = 0; i < run; ++i) values[i] = std::abs(values[i]);
    }
    with_form(element.form, [&](auto zero) {
      narrow(values, run, reinterpret_cast<decltype(zero)*>(to) + done);
    });
  }
}

}  // namespace wring::tools
