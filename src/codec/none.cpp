// SPDX-License-Identifier: BSD-3-Clause
// none.cpp - the codec that leaves values as they are.
//
// Payload: the n values, 4 or 8 bytes each, little-endian.
#include "codec/support.hpp"

namespace wring::codec {
namespace {

std::size_t max_encoded_bytes(const Params&, Real real, std::size_t n) noexcept {
  return n * size_of(real);
}

std::size_t encode(const Params&, Env&, ConstValues in, std::byte* out) noexcept {
  const std::size_t bytes = in.n * size_of(in.real);
  if (bytes) std::memcpy(out, in.data, bytes);
  return bytes;
}

Status decode(const Params&, const kernels::Kernels&, std::span<const std::byte> payload,
              Values out) noexcept {
  if (payload.size() != out.n * size_of(out.real)) return kBadSize;
  if (!payload.empty()) std::memcpy(out.data, payload.data(), payload.size());
  return {};
}

Status decode_add(const Params&, const kernels::Kernels& kernels,
                  std::span<const std::byte> payload, double sw, const void* x, double sx,
                  Values out) noexcept {
  if (payload.size() != out.n * size_of(out.real)) return kBadSize;
  with_real(out.real, [&](auto zero) {
    using R = decltype(zero);
    kernels.real<R>().add(reinterpret_cast<const R*>(payload.data()), static_cast<R>(sw),
                          static_cast<const R*>(x), static_cast<R>(sx), out.n,
                          static_cast<R*>(out.data));
  });
  return {};
}

ErrorModel error_model(const Params&, Real) noexcept { return {}; }

CostModel cost_model(const Params&, Real) noexcept { return {}; }

}  // namespace

extern const Codec none{
    .name = "none",
    .summary = "values as they are",
    .params = "",
    .wire_id = 1,
    .lossy = false,
    .defaults = {},
    .set = set_nothing,
    .print = print_nothing,
    .max_encoded_bytes = max_encoded_bytes,
    .encode = encode,
    .decode = decode,
    .decode_add = decode_add,
    .error_model = error_model,
    .cost_model = cost_model,
};

}  // namespace wring::codec
