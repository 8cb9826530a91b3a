// SPDX-License-Identifier: BSD-3-Clause
// hook.hpp - what decorators of channels share: everything passed on.
#pragma once

#include <memory>
#include <utility>

#include "transport/hooks.hpp"

namespace wring::transport {

/// Passes every call on; decorators override what they change.
class Hook : public Channel {
 public:
  explicit Hook(std::unique_ptr<Channel> inner) : inner_(std::move(inner)) {}

  Sent send(int peer, const std::byte* header, const void* payload, std::size_t bytes,
            std::uint64_t token) noexcept override {
    return inner_->send(peer, header, payload, bytes, token);
  }
  bool progress() noexcept override { return inner_->progress(); }
  void release(void* handle) noexcept override { inner_->release(handle); }
  void wait(int microseconds, bool sending) noexcept override { inner_->wait(microseconds, sending); }

 protected:
  std::unique_ptr<Channel> inner_;
};

}  // namespace wring::transport
