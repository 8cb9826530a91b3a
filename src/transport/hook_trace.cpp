// SPDX-License-Identifier: BSD-3-Clause
// hook_trace.cpp - a channel that shows what it sends.
#include "transport/hook.hpp"

namespace wring::transport {
namespace {

using See = std::function<void(int peer, const std::byte* header, std::size_t bytes)>;

class Trace final : public Hook {
 public:
  Trace(std::unique_ptr<Channel> inner, See see) : Hook(std::move(inner)), see_(std::move(see)) {}

  Sent send(int peer, const std::byte* header, const void* payload, std::size_t bytes,
            std::uint64_t token) noexcept override {
    const Sent result = inner_->send(peer, header, payload, bytes, token);
    if (result == Sent::done || result == Sent::pending) see_(peer, header, bytes);
    return result;
  }

 private:
  See see_;
};

}  // namespace

std::unique_ptr<Channel> hook_trace(std::unique_ptr<Channel> inner, See see) {
  return std::make_unique<Trace>(std::move(inner), std::move(see));
}

}  // namespace wring::transport
