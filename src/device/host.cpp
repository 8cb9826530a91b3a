// SPDX-License-Identifier: BSD-3-Clause
// host.cpp - ordinary memory, and the processor's kernels.
#include <cstdlib>
#include <cstring>

#include "device/device.hpp"

namespace wring::device {
namespace {

bool owns(const void*) noexcept { return true; }

void* allocate(std::size_t bytes) noexcept {
  constexpr std::size_t kLine = 64;
  return std::aligned_alloc(kLine, (bytes + kLine - 1) / kLine * kLine);
}

void deallocate(void* ptr) noexcept { std::free(ptr); }

void copy(void* to, const void* from, std::size_t bytes) noexcept { std::memcpy(to, from, bytes); }

const kernels::Kernels& host_kernels() noexcept { return kernels::best(); }

}  // namespace

extern const Device host_device{
    .name = "host",
    .summary = "main memory, kernels for this processor",
    .owns = owns,
    .allocate = allocate,
    .deallocate = deallocate,
    .copy = copy,
    .kernels = host_kernels,
};

const Device& host() noexcept { return host_device; }

}  // namespace wring::device
