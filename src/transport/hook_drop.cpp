// SPDX-License-Identifier: BSD-3-Clause
// hook_drop.cpp - a channel that loses one frame.
#include "transport/hook.hpp"

namespace wring::transport {
namespace {

class Drop final : public Hook {
 public:
  Drop(std::unique_ptr<Channel> inner, std::uint64_t which) : Hook(std::move(inner)), which_(which) {}

  Sent send(int peer, const std::byte* header, const void* payload, std::size_t bytes,
            std::uint64_t token) noexcept override {
    if (sent_ == which_) {
      ++sent_;
      return Sent::done;
    }
    const Sent result = inner_->send(peer, header, payload, bytes, token);
    if (result != Sent::again) ++sent_;
    return result;
  }

 private:
  const std::uint64_t which_;
  std::uint64_t sent_ = 0;
};

}  // namespace

std::unique_ptr<Channel> hook_drop(std::unique_ptr<Channel> inner, std::uint64_t which) {
  return std::make_unique<Drop>(std::move(inner), which);
}

}  // namespace wring::transport
