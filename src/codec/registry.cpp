// SPDX-License-Identifier: BSD-3-Clause
// registry.cpp - the list of codecs, from codecs.def.
#include "codec/codec.hpp"

namespace wring::codec {

#define WRING_CODEC(object) extern const Codec object;
#include "codec/codecs.def"
#undef WRING_CODEC

namespace {

constexpr const Codec* kAll[] = {
#define WRING_CODEC(object) &object,
#include "codec/codecs.def"
#undef WRING_CODEC
};

}  // namespace

std::span<const Codec* const> all() noexcept { return kAll; }

const Codec* find(std::string_view name) noexcept {
  for (const Codec* codec : kAll) {
    if (name == codec->name) return codec;
  }
  return nullptr;
}

const Codec* find(std::uint8_t wire_id) noexcept {
  for (const Codec* codec : kAll) {
    if (wire_id == codec->wire_id) return codec;
  }
  return nullptr;
}

}  // namespace wring::codec
