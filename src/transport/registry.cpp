// SPDX-License-Identifier: BSD-3-Clause
// registry.cpp - the list of transports, made from transports.def.
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <cstring>

#include "transport/transport.hpp"

namespace wring::transport {

#define WRING_TRANSPORT_UNIT(name) extern const Transport name;
#include "transport/transports.def"
#undef WRING_TRANSPORT_UNIT

namespace {

constexpr const Transport* kAll[] = {
#define WRING_TRANSPORT_UNIT(name) &name,
#include "transport/transports.def"
#undef WRING_TRANSPORT_UNIT
};

}  // namespace

std::span<const Transport* const> all() noexcept { return kAll; }

const Transport* find(const char* name) noexcept {
  for (const Transport* transport : kAll) {
    if (std::strcmp(transport->name, name) == 0) return transport;
  }
  return nullptr;
}

}  // namespace wring::transport
