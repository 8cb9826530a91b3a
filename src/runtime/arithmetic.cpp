// SPDX-License-Identifier: BSD-3-Clause
// arithmetic.cpp - adds, encodes and rounds the values of one problem.
#include "runtime/arithmetic.hpp"

#include <cmath>
#include <cstring>

namespace wring::runtime {

using codec::Content;

Arithmetic::Arithmetic(const plan::Problem& problem, const codec::Spec& spec,
                       const kernels::Kernels& kernels)
    : problem_(problem),
      spec_(spec),
      kernels_(kernels),
      real_(real_of(problem.dtype)),
      wide_(!problem.encodable() || is_wide(problem.dtype)),
      real_size_(problem.encodable() ? size_of(real_) : problem.element_bytes) {}

Form Arithmetic::wire_form(Content content) const noexcept {
  if (spec_.lossy()) return Form::encoded;
  return content == Content::partial || wide_ ? Form::real : Form::typed;
}

std::size_t Arithmetic::wire_bytes(Content content, std::size_t n) const noexcept {
  switch (wire_form(content)) {
    case Form::encoded: return 0;
    case Form::real: return n * real_size_;
    case Form::typed: return n * problem_.element_bytes;
  }
  return 0;
}

double Arithmetic::scale_of(std::uint32_t ranks, std::uint32_t total) const noexcept {
  if (problem_.op != Op::avg) return 1;
  return std::ldexp(1.0, algorithm::ceil_log2(ranks) - algorithm::ceil_log2(total));
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

Status Arithmetic::combine(View a, std::uint32_t ranks_a, View b, std::uint32_t ranks_b, Place place,
                           std::byte* out) const noexcept {
  if (!problem_.encodable()) {
    if (b.data != out) std::memcpy(out, b.data, place.n * real_size_);
    return opaque_.reduce(opaque_.context, a.data, out, place.n);
  }
  const double sa = scale_of(ranks_a, ranks_a + ranks_b), sb = scale_of(ranks_b, ranks_a + ranks_b);
  if (real_ == Real::f64) return combine_real(a, sa, b, sb, place, reinterpret_cast<double*>(out));
  return combine_real(a, static_cast<float>(sa), b, static_cast<float>(sb), place,
                      reinterpret_cast<float*>(out));
}

std::size_t Arithmetic::encode(codec::Env& env, View v, Place place, std::byte* scratch,
                               std::byte* out) const noexcept {
  env.kernels = &kernels_;
  if (v.form == Form::typed && !wide_) {  // 16-bit contributions; only fp32 accumulators have those
    (void)widen(v, place, reinterpret_cast<float*>(scratch));
    v.data = scratch;
  }
  return spec_.codec->encode(spec_.params, env,
                             {.data = v.data, .real = real_, .n = place.n, .first = place.first}, out);
}

void Arithmetic::finish(std::byte* values, Place place) const noexcept {
  if (problem_.op != Op::avg) return;
  // The partial average is scaled by 2^-ceil(log2 P): what is left to divide by lies in (1/2, 1].
  const double divisor = std::ldexp(problem_.size, -algorithm::ceil_log2(static_cast<unsigned>(problem_.size)));
  if (divisor == 1) return;
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
