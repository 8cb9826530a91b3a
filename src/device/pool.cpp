// SPDX-License-Identifier: BSD-3-Clause
// pool.cpp - staging buffers by size class.
#include <algorithm>
#include <bit>

#include "device/device.hpp"

namespace wring::device {

int Pool::class_of(std::size_t bytes) noexcept {
  constexpr std::size_t kSmallest = 256;
  return static_cast<int>(std::bit_width(std::max(bytes, kSmallest) - 1));
}

std::byte* Pool::acquire(std::size_t bytes) noexcept {
  const int size_class = class_of(bytes);
  if (size_class >= kClasses) return nullptr;
  std::lock_guard lock(mutex_);
  auto& list = free_[size_class];
  if (!list.empty()) {
    std::byte* buffer = list.back();
    list.pop_back();
    return buffer;
  }
  const std::size_t size = std::size_t{1} << size_class;
  auto* buffer = static_cast<std::byte*>(device_.allocate(size));
  if (buffer != nullptr) footprint_ += size;
  return buffer;
}

void Pool::release(std::byte* buffer, std::size_t bytes) noexcept {
  const int size_class = class_of(bytes);
  std::lock_guard lock(mutex_);
  try {
    free_[size_class].push_back(buffer);
  } catch (...) {  // no memory for the list: give the buffer itself back
    device_.deallocate(buffer);
    footprint_ -= std::size_t{1} << size_class;
  }
}

void Pool::trim() noexcept {
  std::lock_guard lock(mutex_);
  for (int size_class = 0; size_class < kClasses; ++size_class) {
    for (std::byte* buffer : free_[size_class]) {
      device_.deallocate(buffer);
      footprint_ -= std::size_t{1} << size_class;
    }
    free_[size_class].clear();
  }
}

std::size_t Pool::footprint() const noexcept {
  std::lock_guard lock(mutex_);
  return footprint_;
}

Pool& host_pool() noexcept {
  static Pool pool(host());
  return pool;
}

}  // namespace wring::device
