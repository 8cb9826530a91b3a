// SPDX-License-Identifier: BSD-3-Clause
// device.hpp - interface of the device room: where memory is, and who computes on it.
#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <vector>

#include "kernels/kernels.hpp"

namespace wring::device {

/// A kind of memory with something that computes on it: one file of this room exports one constant
/// object of this type, listed in devices.def.
struct Device {
  const char* name;
  const char* summary;
  /// Whether memory at ptr is this device's; asked in the order of devices.def.
  bool (*owns)(const void* ptr) noexcept;
  /// bytes > 0, aligned to 64; null if there is no memory.
  void* (*allocate)(std::size_t bytes) noexcept;
  void (*deallocate)(void* ptr) noexcept;
  void (*copy)(void* to, const void* from, std::size_t bytes) noexcept;
  const kernels::Kernels& (*kernels)() noexcept;
};

std::span<const Device* const> all() noexcept;
/// The device that owns ptr. Never null: host memory is owned by `host`, the last one asked.
const Device& owner_of(const void* ptr) noexcept;
const Device& host() noexcept;

/// Staging buffers of one device, kept for the next call: malloc and munmap of large blocks would
/// make the kernel fault every page in anew at each call. Thread-safe.
class Pool {
 public:
  explicit Pool(const Device& device) : device_(device) {}
  ~Pool() { trim(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// A buffer of at least `bytes`, uninitialised; null if there is no memory.
  std::byte* acquire(std::size_t bytes) noexcept;
  /// Gives back a buffer that acquire(bytes) returned.
  void release(std::byte* buffer, std::size_t bytes) noexcept;
  /// Frees the buffers that nobody holds.
  void trim() noexcept;
  /// Bytes obtained from the device and not freed.
  std::size_t footprint() const noexcept;

 private:
  static constexpr int kClasses = 48;  // buffers of 2^class bytes
  static int class_of(std::size_t bytes) noexcept;

  const Device& device_;
  mutable std::mutex mutex_;
  std::vector<std::byte*> free_[kClasses];
  std::size_t footprint_ = 0;
};

/// The process's pool of host memory.
Pool& host_pool() noexcept;

}  // namespace wring::device
