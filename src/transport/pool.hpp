// SPDX-License-Identifier: BSD-3-Clause
// pool.hpp - memory that transports reuse, so that moving frames allocates nothing once warm.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace wring::transport {

/// Buffers of one size, aligned to 64 bytes. Not thread-safe; used under the caller's lock.
/// Buffers still out when the pool goes are lost, not freed: something may yet write to them.
class BufferPool {
 public:
  explicit BufferPool(std::size_t bytes) noexcept : bytes_((bytes + 63) / 64 * 64) {}
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool() { clear(); }

  /// A buffer with unspecified contents; null if memory is exhausted.
  std::byte* get() noexcept {
    if (Node* node = free_) {
      free_ = node->next;
      return reinterpret_cast<std::byte*>(node);
    }
    return static_cast<std::byte*>(std::aligned_alloc(64, bytes_));
  }

  void put(std::byte* buffer) noexcept { free_ = new (buffer) Node{free_}; }

  /// Frees the buffers that are in the pool.
  void clear() noexcept {
    while (Node* node = free_) {
      free_ = node->next;
      std::free(node);
    }
  }

  std::size_t buffer_bytes() const noexcept { return bytes_; }

 private:
  struct Node {
    Node* next;
  };
  std::size_t bytes_;
  Node* free_ = nullptr;
};

/// Objects with a member `T* next`, constructed once and reused as they were left.
template <class T>
class ObjectPool {
 public:
  ObjectPool() = default;
  ObjectPool(const ObjectPool&) = delete;
  ObjectPool& operator=(const ObjectPool&) = delete;
  ~ObjectPool() { clear(); }

  /// An object whose contents are those it was put back with; null if memory is exhausted.
  T* get() noexcept {
    if (T* object = free_) {
      free_ = object->next;
      return object;
    }
    return new (std::nothrow) T{};
  }

  void put(T* object) noexcept {
    object->next = free_;
    free_ = object;
  }

  /// Frees the objects that are in the pool.
  void clear() noexcept {
    while (T* object = free_) {
      free_ = object->next;
      delete object;
    }
  }

 private:
  T* free_ = nullptr;
};

}  // namespace wring::transport
