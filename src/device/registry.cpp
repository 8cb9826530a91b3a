// SPDX-License-Identifier: BSD-3-Clause
// registry.cpp - the list of devices, from devices.def.
#include "device/device.hpp"

namespace wring::device {

#define WRING_DEVICE_UNIT(unit) extern const Device unit##_device;
#include "device/devices.def"
#undef WRING_DEVICE_UNIT

std::span<const Device* const> all() noexcept {
  static constexpr const Device* kAll[] = {
#define WRING_DEVICE_UNIT(unit) &unit##_device,
#include "device/devices.def"
#undef WRING_DEVICE_UNIT
  };
  return kAll;
}

const Device& owner_of(const void* ptr) noexcept {
  for (const Device* d : all()) {
    if (d->owns(ptr)) return *d;
  }
  return host();
}

}  // namespace wring::device
