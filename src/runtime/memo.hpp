// SPDX-License-Identifier: BSD-3-Clause
// memo.hpp - what a thread's last call looked up: the next one mostly asks for the same.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/communicator.hpp"

namespace wring::runtime {

/// Communicators and codecs freed so far: what was looked up before may not be there any more.
inline constinit std::atomic<std::uint64_t> g_freed{0};

/// A call whose communicator and codec were found valid.
struct Memo {
  Communicator* communicator = nullptr;
  MPI_Comm comm{};
  CachedCall* call = nullptr;
  std::uint64_t freed = 0;  ///< when they were looked up

  /// Whether it is of that call, and still holds. The cache may have another in its place by now.
  bool holds(MPI_Comm c, const CallKey& key) const noexcept {
    return communicator != nullptr && comm == c && freed == g_freed.load(std::memory_order_acquire) && call->key == key;
  }
};

}  // namespace wring::runtime
