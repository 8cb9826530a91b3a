// SPDX-License-Identifier: BSD-3-Clause
// codec_inputs.hpp - encode and decode with buffers of the exact size, for the codec tests.
#pragma once

#include <string>
#include <vector>

#include "codec/codec.hpp"
#include "kernel_inputs.hpp"

namespace wring::test {

using Bytes = std::vector<std::byte>;

template <class R>
constexpr Real kReal = sizeof(R) == 8 ? Real::f64 : Real::f32;

inline codec::Spec spec_of(const std::string& text) {
  codec::Spec spec;
  const Status status = codec::parse(text, spec);
  if (!status.ok()) throw std::invalid_argument(status.what());
  return spec;
}

/// Specifications to try: every codec with its defaults, and block codecs in some variants.
inline std::vector<std::string> all_specs() {
  std::vector<std::string> specs;
  for (const codec::Codec* codec : codec::all()) {
    specs.push_back(codec->name);
    if (!codec->defaults.block) continue;
    const std::string name = codec->name;
    specs.push_back(name + ":block=8");
    specs.push_back(name + ":block=24,rounding=stochastic,seed=9");
    specs.push_back(name + ":block=1024,rounding=stochastic");
  }
  return specs;
}

/// "int8_block_8": a name that GoogleTest accepts.
inline std::string test_name(std::string text) {
  for (char& c : text) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return text;
}

inline codec::Env make_env() {
  codec::Env env;
  env.kernels = &kernels::best();
  env.rank = 3;
  env.step = 5;
  env.start = 7;
  return env;
}

template <class R>
Bytes encode(const codec::Spec& spec, const std::vector<R>& in, codec::Env& env,
             std::uint64_t first = 0) {
  Bytes out(spec.codec->max_encoded_bytes(spec.params, kReal<R>, in.size()), std::byte{0xee});
  const std::size_t size =
      spec.codec->encode(spec.params, env, {in.data(), kReal<R>, in.size(), first}, out.data());
  return {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(size)};
}

template <class R>
Bytes encode(const codec::Spec& spec, const std::vector<R>& in) {
  codec::Env env = make_env();
  return encode(spec, in, env);
}

template <class R>
Status decode(const codec::Spec& spec, const Bytes& payload, std::vector<R>& out) {
  return spec.codec->decode(spec.params, kernels::best(), payload,
                            {out.data(), kReal<R>, out.size(), 0});
}

template <class R>
Status decode_add(const codec::Spec& spec, const Bytes& payload, double sw, const std::vector<R>& x,
                  double sx, std::vector<R>& out) {
  return spec.codec->decode_add(spec.params, kernels::best(), payload, sw, x.data(), sx,
                                {out.data(), kReal<R>, out.size(), 0});
}

}  // namespace wring::test
