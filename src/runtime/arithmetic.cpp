// SPDX-License-Identifier: BSD-3-Clause
// arithmetic.cpp - adds, encodes and rounds the values of one problem.
#include "runtime/arithmetic.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace wring::runtime {

using codec::Content;

namespace {

/// Whether there is no NaN or Inf among n values.
template <class R>
bool all_finite(const R* values, std::size_t n) noexcept {
  using Bits = std::conditional_t<sizeof(R) == 8, std::uint64_t, std::uint32_t>;
  constexpr Bits kInf = sizeof(R) == 8 ? static_cast<Bits>(0x7ffull << 52) : static_cast<Bits>(0x7f800000u);
  Bits most = 0;
  for (std::size_t i = 0; i < n; ++i) most = std::max(most, static_cast<Bits>(std::bit_cast<Bits>(values[i]) << 1));
  return most < static_cast<Bits>(kInf << 1);
}

}  // namespace

Arithmetic::Arithmetic(const plan::Problem& problem, const codec::Spec& spec,
                       const kernels::Kernels& kernels)
    : problem_(problem),
      spec_(spec),
      kernels_(kernels),
      real_(real_of(problem.dtype)),
      wide_(!problem.encodable() || is_wide(problem.dtype)),
      real_size_(problem.encodable() ? size_of(real_) : problem.element_bytes) {}

Form Arithmetic::wire_form(Content content, bool raw) const noexcept {
  if (spec_.lossy() && !raw) return Form::encoded;
  return content == Content::partial || wide_ ? Form::real : Form::typed;
}

std::size_t Arithmetic::wire_bytes(Content content, bool raw, std::size_t n) const noexcept {
  switch (wire_form(content, raw)) {
    case Form::encoded: return 0;
    case Form::real: return n * real_size_;
    case Form::typed: return n * problem_.element_bytes;
  }
  return 0;
}

template <class R>
Status Arithmetic::widen(View v, Place place, R* out) const noexcept {
  switch (v.form) {
    case Form::real: std::memcpy(out, v.data, place.n * sizeof(R)); return {};
    case Form::encoded:
      return spec_.codec->decode(spec_.params, kernels_, {v.data, v.bytes},
                                 {.data = out, .real = real_, .n = place.n, .first = place.first});
    case Form::typed: break;
  }
  const auto* in = reinterpret_cast<const std::uint16_t*>(v.data);
  const auto& k = kernels_.real<R>();
  (problem_.dtype == Dtype::f16 ? k.from_f16 : k.from_bf16)(in, place.n, out);
  return {};
}

template <class R>
Status Arithmetic::combine_real(View a, R sa, View b, R sb, Place place, R* out) const noexcept {
  const auto& k = kernels_.real<R>();
  // Kernels add a stream in any form to an array of accumulators. Sums commute, and NaN results are
  // canonical, so the order of the two does not show.
  if (a.form == Form::real) {
    std::swap(a, b);
    std::swap(sa, sb);
  }
  if (b.form != Form::real) {
    WRING_TRY(widen(b, place, out));
    b = {reinterpret_cast<const std::byte*>(out), place.n * sizeof(R), Form::real};
  }
  const R* x = reinterpret_cast<const R*>(b.data);
  switch (a.form) {
    case Form::real: k.add(reinterpret_cast<const R*>(a.data), sa, x, sb, place.n, out); return {};
    case Form::encoded:
      return spec_.codec->decode_add(spec_.params, kernels_, {a.data, a.bytes}, sa, x, sb,
                                     {.data = out, .real = real_, .n = place.n, .first = place.first});
    case Form::typed: break;
  }
  const auto* w = reinterpret_cast<const std::uint16_t*>(a.data);
  (problem_.dtype == Dtype::f16 ? k.add_f16 : k.add_bf16)(w, sa, x, sb, place.n, out);
  return {};
}

template <class R>
Status Arithmetic::average(View a, View b, std::uint32_t ranks, Place place, R* out, int& scale) const noexcept {
  const auto factor = [&](const View& v) { return static_cast<R>(std::ldexp(1.0, v.scale - scale)); };
  scale = std::max(a.scale, b.scale);
  WRING_TRY(combine_real(a, factor(a), b, factor(b), place, out));
  const int full = algorithm::ceil_log2(ranks);
  if (scale == full || all_finite(out, place.n)) return {};
  scale = full;
  return combine_real(a, factor(a), b, factor(b), place, out);
}

Status Arithmetic::combine(View a, View b, std::uint32_t ranks, Place place, std::byte* out,
                           int& scale) const noexcept {
  scale = 0;
  if (!problem_.encodable()) {
    if (b.data != out) std::memcpy(out, b.data, place.n * real_size_);
    return opaque_.reduce(opaque_.context, a.data, out, place.n);
  }
  const bool is_average = problem_.op == Op::avg;
  if (real_ == Real::f64) {
    auto* to = reinterpret_cast<double*>(out);
    return is_average ? average(a, b, ranks, place, to, scale) : combine_real(a, 1.0, b, 1.0, place, to);
  }
  auto* to = reinterpret_cast<float*>(out);
  return is_average ? average(a, b, ranks, place, to, scale) : combine_real(a, 1.0f, b, 1.0f, place, to);
}

template <class R>
const std::byte* Arithmetic::rescale(View v, int scale, Place place, std::byte* scratch) const noexcept {
  auto* to = reinterpret_cast<R*>(scratch);
  const auto factor = static_cast<R>(std::ldexp(1.0, v.scale - scale));
  const auto* from = reinterpret_cast<const R*>(v.data);
  for (std::size_t i = 0; i < place.n; ++i) to[i] = factor * from[i];
  return scratch;
}

std::size_t Arithmetic::encode(codec::Env& env, View v, std::uint32_t ranks, Place place, std::byte* scratch,
                               std::byte* out, int& scale) const noexcept {
  env.kernels = &kernels_;
  scale = v.scale;
  if (v.form == Form::typed && !wide_) {  // 16-bit contributions; only fp32 accumulators have those
    (void)widen(v, place, reinterpret_cast<float*>(scratch));
    v.data = scratch;
  } else if (const int full = algorithm::ceil_log2(ranks); problem_.op == Op::avg && !v.finished && v.scale != full) {
    scale = full;
    v.data = real_ == Real::f64 ? rescale<double>(v, full, place, scratch) : rescale<float>(v, full, place, scratch);
  }
  return spec_.codec->encode(spec_.params, env,
                             {.data = v.data, .real = real_, .n = place.n, .first = place.first}, out);
}

void Arithmetic::finish(std::byte* values, int scale, Place place) const noexcept {
  if (problem_.op != Op::avg) return;
  const double divisor = std::ldexp(problem_.size, -scale);  // exact
  if (real_ == Real::f64) {
    auto* x = reinterpret_cast<double*>(values);
    kernels_.f64.divide(x, divisor, place.n, x);
  } else {
    auto* x = reinterpret_cast<float*>(values);
    kernels_.f32.divide(x, static_cast<float>(divisor), place.n, x);
  }
}

void Arithmetic::narrow(const std::byte* values, Place place, void* result) const noexcept {
  if (wide_) {
    std::memcpy(result, values, place.n * real_size_);
    return;
  }
  const auto* in = reinterpret_cast<const float*>(values);
  auto* out = static_cast<std::uint16_t*>(result);
  // Overflow to infinity is what the sum is in this type.
  (void)(problem_.dtype == Dtype::f16 ? kernels_.f32.to_f16 : kernels_.f32.to_bf16)(in, place.n, out);
}

Status Arithmetic::store(View v, Place place, std::byte* scratch, void* result) const noexcept {
  if (v.form == Form::typed || (v.form == Form::real && wide_)) {
    std::memcpy(result, v.data, place.n * problem_.element_bytes);
    return {};
  }
  if (wide_) {
    return spec_.codec->decode(spec_.params, kernels_, {v.data, v.bytes},
                               {.data = result, .real = real_, .n = place.n, .first = place.first});
  }
  WRING_TRY(widen(v, place, reinterpret_cast<float*>(scratch)));
  narrow(scratch, place, result);
  return {};
}

}  // namespace wring::runtime
