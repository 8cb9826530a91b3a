// SPDX-License-Identifier: BSD-3-Clause
// hooks.hpp - decorators of channels for tests: delay, drop, corrupt and trace what is sent.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "transport/transport.hpp"

namespace wring::transport {

/// Holds each frame back for up to `most` calls of progress(), by a seeded choice.
std::unique_ptr<Channel> hook_delay(std::unique_ptr<Channel> inner, std::uint64_t seed, unsigned most);
/// Loses frame number `which` (from 0) that is sent, and says that it was sent.
std::unique_ptr<Channel> hook_drop(std::unique_ptr<Channel> inner, std::uint64_t which);
/// Flips one seeded bit of frame number `which`, in header or payload.
std::unique_ptr<Channel> hook_corrupt(std::unique_ptr<Channel> inner, std::uint64_t which, std::uint64_t seed);
/// Calls `see` for every frame that is taken, before it is sent.
std::unique_ptr<Channel> hook_trace(std::unique_ptr<Channel> inner,
                                    std::function<void(int peer, const std::byte* header, std::size_t bytes)> see);

}  // namespace wring::transport
