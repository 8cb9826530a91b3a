// SPDX-License-Identifier: BSD-3-Clause
// loop.hpp - N ranks in one process: the transport of simulations and tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "transport/transport.hpp"

namespace wring::transport {

/// The network between N ranks. Everything that real transports leave open is decided by a seeded
/// generator: whether a send is done at once, pending or refused for now; whether the short way has room; when the memory of a pending
/// send is read; in which order frames arrive. Received frames lie in blocks of their exact size, so
/// that address sanitizers see every overrun.
class LoopFabric {
 public:
  LoopFabric(int size, std::uint64_t seed);
  ~LoopFabric();

  /// The channel of `rank`; at most one at a time. The fabric outlives it.
  std::unique_ptr<Channel> open(int rank, Sink& sink);
  /// Frames that have been sent and not yet delivered.
  std::size_t in_flight() const noexcept;
  /// Messages kept by sinks and not released.
  std::size_t kept() const noexcept { return kept_; }
  /// Frames that went the short way.
  std::uint64_t short_frames() const noexcept { return short_frames_; }
  int size() const noexcept { return static_cast<int>(inbox_.size()); }

 private:
  friend class LoopChannel;
  struct Packet {
    std::vector<std::byte> header, payload;
  };
  std::vector<std::deque<std::unique_ptr<Packet>>> inbox_;
  std::size_t unread_ = 0;  // pending sends whose memory has not been read yet
  std::size_t kept_ = 0;
  std::uint64_t short_frames_ = 0;
  std::mt19937_64 random_;
};

}  // namespace wring::transport
