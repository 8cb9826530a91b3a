// SPDX-License-Identifier: BSD-3-Clause
// info_lists.cpp - the lists of wring_info, printed from the library's own registries.
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <mpi.h>
#include <wring_version.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "algorithm/algorithm.hpp"
#include "base/config.hpp"
#include "codec/codec.hpp"
#include "device/device.hpp"
#include "kernels/kernels.hpp"
#include "tools/info.hpp"
#include "transport/transport.hpp"

namespace wring::tools {
namespace {

std::string in_force(bool value) { return value ? "1" : "0"; }
std::string in_force(std::uint64_t value) { return format_bytes(value); }
std::string in_force(const std::string& value) { return value; }
std::string in_force(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

/// "2^-11", or the number with four digits, and its factor for a power of two times 1 + 2^-14.
std::string power(double x) {
  if (x == 0) return "0";
  int exponent = 0;
  char text[32];
  if (std::frexp(x, &exponent) == 0.5) {
    std::snprintf(text, sizeof text, "2^%d", exponent - 1);
  } else {
    std::snprintf(text, sizeof text, "1/%.5g", 1 / x);
  }
  return text;
}

std::string error_formula(const codec::Spec& spec, Real real) {
  const codec::ErrorModel m = spec.codec->error_model(spec.params, real);
  std::string text = "|x' - x| <= ";
  if (m.relative == 0 && m.absolute == 0) return text + "0";
  text += power(m.relative) + (m.of_block_max ? " * max|block|" : " * |x|");
  if (m.absolute > 0) text += " + " + power(m.absolute);
  return text;
}

/// Bits on the wire for each value of a long vector without extreme values, headers left out.
double bits_per_value(const codec::Spec& spec, Real real) {
  constexpr std::size_t kValues = std::size_t{1} << 18;  // whole blocks of any size
  std::vector<double> values(kValues);                   // aligned for either type
  for (std::size_t i = 0; i < kValues; ++i) {
    const double x = static_cast<double>(i % 1009) - 504;
    if (real == Real::f64) {
      values[i] = x;
    } else {
      const float narrow = static_cast<float>(x);
      std::memcpy(reinterpret_cast<char*>(values.data()) + 4 * i, &narrow, 4);
    }
  }
  std::vector<std::uint64_t> out(spec.codec->max_encoded_bytes(spec.params, real, kValues) / 8 + 1);
  codec::Env env{.kernels = &kernels::best()};
  const std::size_t bytes = spec.codec->encode(
      spec.params, env, {.data = values.data(), .real = real, .n = kValues, .first = 0},
      reinterpret_cast<std::byte*>(out.data()));
  return 8.0 * static_cast<double>(bytes) / kValues;
}

}  // namespace

void print_wrapped(int column, const std::string& text) {
  constexpr std::size_t kWidth = 100;
  const std::size_t room = kWidth - static_cast<std::size_t>(column);
  std::size_t at = 0;
  while (text.size() - at > room) {
    std::size_t end = text.rfind(' ', at + room);
    if (end == text.npos || end <= at) end = at + room;
    std::printf("%s\n%*s", text.substr(at, end - at).c_str(), column, "");
    at = end + (text[end] == ' ');
  }
  std::printf("%s\n", text.substr(at).c_str());
}

void print_version() {
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(library, &length);
  library[std::strcspn(library, "\n")] = '\0';
  std::printf("wring      %s\n", WRING_VERSION);
  std::printf("MPI        built for %s %s\n           ", WRING_MPI_FLAVOR,
              WRING_MPI_VERSION_STRING);
  std::string found = library;
  for (char& c : found) c = c == '\t' ? ' ' : c;
  print_wrapped(11, "found: " + found);
  const transport::Transport* ucx = transport::find("ucx");
  const std::string about = ucx != nullptr && ucx->describe != nullptr ? ucx->describe() : "";
  std::printf("UCX        %s\n",
              ucx == nullptr ? "no" : ("yes, " + about.substr(0, about.find(','))).c_str());
  std::printf("kernels    %s (vector kernels %s)\n", kernels::best().name,
              HAVE_HWY ? "built in" : "not built in");
#ifdef __clang__
  std::printf("compiler   %s\n", __VERSION__);
#else
  std::printf("compiler   GCC %s\n", __VERSION__);
#endif
}

void print_environment() {
  std::vector<std::string> values;
  const Config& c = config();
#define WRING_VAR(member, name, kind, fallback, doc) values.push_back(in_force(c.member));
#include "base/config.def"
#undef WRING_VAR
  std::size_t row = 0;
  for (const ConfigVar& v : config_table()) {
    const std::string& value = values[row++];
    std::printf("%s=%s  (%s, default %s)\n    ", v.name, value.c_str(), v.kind,
                *v.fallback ? v.fallback : "empty");
    print_wrapped(4, v.doc);
  }
}

void print_codecs() {
  for (const codec::Codec* c : codec::all()) {
    const codec::Spec spec{.codec = c, .params = c->defaults};
    std::printf("%s\n    ", codec::to_string(spec).c_str());
    print_wrapped(4, c->summary);
    if (*c->params) std::printf("    parameters  %s\n", c->params);
    std::printf("    wire        %.4g bits for a value of fp32, %.4g for one of fp64; id %d\n",
                bits_per_value(spec, Real::f32), bits_per_value(spec, Real::f64), c->wire_id);
    std::printf("    error       %s per rounding\n", error_formula(spec, Real::f32).c_str());
  }
}

void print_algorithms() {
  std::printf("%-20s %-8s %s\n", "", "slices", "roundings of a lossy codec, for P ranks");
  std::printf("%-20s %-8s %6s %6s %6s %6s\n", "name", "", "P=2", "P=4", "P=8", "P=16");
  for (const algorithm::Algorithm* a : algorithm::all()) {
    // Of nine ranks rabenseifner leaves eight.
    const std::uint32_t slices = a->slices(9);
    std::printf("%-20s %-8s", a->name, slices == 1 ? "1" : slices == 9 ? "P" : "2^k <= P");
    for (const int p : {2, 4, 8, 16}) std::printf(" %6d", a->lossy_hops(p));
    std::printf("\n    ");
    print_wrapped(4, a->summary);
  }
}

void print_transports() {
  for (const transport::Transport* t : transport::all()) {
    std::printf("%s\n    ", t->name);
    print_wrapped(4, t->summary);
    if (t->describe != nullptr) {
      std::printf("    ");
      print_wrapped(4, t->describe());
    }
    std::printf("    frames of up to %s, %d in flight\n",
                format_bytes(t->caps().max_payload).c_str(), t->caps().in_flight);
  }
}

void print_devices() {
  for (const device::Device* d : device::all()) {
    std::printf("%s\n    ", d->name);
    print_wrapped(4, d->summary);
    std::printf("    kernels: %s\n", d->kernels().name);
  }
}

}  // namespace wring::tools
