// SPDX-License-Identifier: BSD-3-Clause
// hook_delay.cpp - a channel whose frames leave late, and overtake each other.
#include <algorithm>
#include <random>
#include <vector>

#include "transport/hook.hpp"

namespace wring::transport {
namespace {

class Delay final : public Hook {
 public:
  Delay(std::unique_ptr<Channel> inner, std::uint64_t seed, unsigned most)
      : Hook(std::move(inner)), random_(seed), most_(most) {}

  Sent send(int peer, const std::byte* header, const void* payload, std::size_t bytes,
            std::uint64_t) noexcept override {
    const auto* data = static_cast<const std::byte*>(payload);
    held_.push_back({static_cast<unsigned>(random_() % (most_ + 1)), peer, {header, header + kHeaderBytes},
                     std::make_unique<std::vector<std::byte>>(data, data + bytes)});
    return Sent::done;
  }

  bool progress() noexcept override {
    const bool moved = inner_->progress();
    for (std::size_t i = 0; i < held_.size();) {
      Held& h = held_[i];
      if (h.rounds > 0) --h.rounds;
      if (h.rounds > 0 || !pass_on(h)) {
        ++i;
      } else {
        held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    return moved || !held_.empty();
  }

 private:
  struct Held {
    unsigned rounds;
    int peer;
    std::vector<std::byte> header;
    std::unique_ptr<std::vector<std::byte>> payload;
  };

  /// Sends through the inner channel; a pending send's memory stays with this object for good, which
  /// only tests can afford.
  bool pass_on(Held& h) {
    constexpr std::uint64_t kNobody = ~std::uint64_t{1};
    switch (inner_->send(h.peer, h.header.data(), h.payload->data(), h.payload->size(), kNobody)) {
      case Sent::again: return false;
      case Sent::pending: lent_.push_back(std::move(h.payload)); return true;
      case Sent::done:
      case Sent::failed: return true;
    }
    return true;
  }

  std::mt19937_64 random_;
  const unsigned most_;
  std::vector<Held> held_;
  std::vector<std::unique_ptr<std::vector<std::byte>>> lent_;
};

}  // namespace

std::unique_ptr<Channel> hook_delay(std::unique_ptr<Channel> inner, std::uint64_t seed, unsigned most) {
  return std::make_unique<Delay>(std::move(inner), seed, most);
}

}  // namespace wring::transport
