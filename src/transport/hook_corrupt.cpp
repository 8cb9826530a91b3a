// SPDX-License-Identifier: BSD-3-Clause
// hook_corrupt.cpp - a channel that flips a bit of one frame.
#include <random>
#include <vector>

#include "transport/hook.hpp"

namespace wring::transport {
namespace {

class Corrupt final : public Hook {
 public:
  Corrupt(std::unique_ptr<Channel> inner, std::uint64_t which, std::uint64_t seed)
      : Hook(std::move(inner)), which_(which), random_(seed) {}

  Sent send(int peer, const std::byte* header, const void* payload, std::size_t bytes,
            std::uint64_t token) noexcept override {
    if (sent_ != which_) {
      const Sent result = inner_->send(peer, header, payload, bytes, token);
      if (result != Sent::again) ++sent_;
      return result;
    }
    const auto* data = static_cast<const std::byte*>(payload);
    frame_.assign(header, header + kHeaderBytes);
    frame_.insert(frame_.end(), data, data + bytes);
    // The context decides where a frame goes at all; every other bit is fair game.
    std::size_t bit = 0;
    do {
      bit = random_() % (frame_.size() * 8);
    } while (bit / 8 >= kContextOffset && bit / 8 < kContextOffset + 8);
    frame_[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    const Sent result = inner_->send(peer, frame_.data(), frame_.data() + kHeaderBytes, bytes, token);
    if (result != Sent::again) ++sent_;
    return result;
  }

 private:
  const std::uint64_t which_;
  std::mt19937_64 random_;
  std::uint64_t sent_ = 0;
  std::vector<std::byte> frame_;  // the altered frame, for as long as the channel lives
};

}  // namespace

std::unique_ptr<Channel> hook_corrupt(std::unique_ptr<Channel> inner, std::uint64_t which, std::uint64_t seed) {
  return std::make_unique<Corrupt>(std::move(inner), which, seed);
}

}  // namespace wring::transport
