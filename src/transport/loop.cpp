// SPDX-License-Identifier: BSD-3-Clause
// loop.cpp - N ranks in one process.
#include "transport/loop.hpp"

#include <algorithm>

namespace wring::transport {

class LoopChannel final : public Channel, private ShortWay {
 public:
  LoopChannel(LoopFabric& fabric, int rank, Sink& sink) : fabric_(fabric), sink_(sink), rank_(rank) {}

  ~LoopChannel() override { fabric_.unread_ -= pending_.size(); }

  Sent send(int peer, const std::byte* header, const void* payload, std::size_t bytes,
            std::uint64_t token) noexcept override {
    if (peer == rank_ || peer < 0 || peer >= fabric_.size()) return Sent::failed;
    const auto dice = fabric_.random_() % 10;
    if (dice == 0) return Sent::again;
    Pending p{peer, std::vector<std::byte>(header, header + kHeaderBytes), payload, bytes, token};
    if (dice < 4) {
      deliver(p);
      return Sent::done;
    }
    pending_.push_back(std::move(p));
    ++fabric_.unread_;
    return Sent::pending;
  }

  bool progress() noexcept override {
    bool moved = false;
    // Read the memory of some pending sends only now, and say that they are done.
    for (std::size_t i = 0; i < pending_.size();) {
      if (fabric_.random_() % 3 == 0) {
        ++i;
        continue;
      }
      const Pending p = std::move(pending_[i]);
      pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
      --fabric_.unread_;
      deliver(p);
      sink_.on_sent(p.token, {});
      moved = true;
    }
    auto& inbox = fabric_.inbox_[static_cast<std::size_t>(rank_)];
    for (std::size_t n = inbox.size(); n > 0 && !inbox.empty(); --n) {
      if (fabric_.random_() % 4 == 0) break;
      std::unique_ptr<LoopFabric::Packet> packet = std::move(inbox.front());
      inbox.pop_front();
      const Message message{packet->header.data(), packet->payload.data(), packet->payload.size(), packet.get()};
      if (sink_.on_message(message)) {
        (void)packet.release();
        ++fabric_.kept_;
      }
      moved = true;
    }
    return moved;
  }

  void release(void* handle) noexcept override {
    delete static_cast<LoopFabric::Packet*>(handle);
    --fabric_.kept_;
  }

  ShortWay* short_way() noexcept override { return this; }
  void wait(int, bool) noexcept override {}

 private:
  std::size_t most() const noexcept override { return 1024; }

  bool send_all(const std::byte* header, const void* payload, std::size_t bytes) noexcept override {
    if (fabric_.random_() % 4 == 0) return false;
    for (int peer = 0; peer < fabric_.size(); ++peer) {
      if (peer != rank_) deliver({peer, std::vector<std::byte>(header, header + kHeaderBytes), payload, bytes, 0});
    }
    return true;
  }

  const std::byte* take(int, const std::byte* header, std::size_t bytes, void*& handle) noexcept override {
    auto& inbox = fabric_.inbox_[static_cast<std::size_t>(rank_)];
    for (auto it = inbox.begin(); it != inbox.end(); ++it) {
      if ((*it)->payload.size() != bytes || !std::equal((*it)->header.begin(), (*it)->header.end(), header)) continue;
      if (fabric_.random_() % 4 == 0) return nullptr;
      LoopFabric::Packet* packet = it->release();
      inbox.erase(it);
      ++fabric_.kept_;
      ++fabric_.short_frames_;
      handle = packet;
      return packet->payload.data();
    }
    return nullptr;
  }

  struct Pending {
    int peer;
    std::vector<std::byte> header;
    const void* payload;
    std::size_t bytes;
    std::uint64_t token;
  };

  void deliver(const Pending& p) {
    auto packet = std::make_unique<LoopFabric::Packet>();
    packet->header = p.header;
    const auto* bytes = static_cast<const std::byte*>(p.payload);
    packet->payload.assign(bytes, bytes + p.bytes);
    packet->payload.shrink_to_fit();
    auto& inbox = fabric_.inbox_[static_cast<std::size_t>(p.peer)];
    // Anywhere among the last few: frames overtake each other.
    const std::size_t back = std::min<std::size_t>(inbox.size(), fabric_.random_() % 4);
    inbox.insert(inbox.end() - static_cast<std::ptrdiff_t>(back), std::move(packet));
  }

  LoopFabric& fabric_;
  Sink& sink_;
  const int rank_;
  std::vector<Pending> pending_;
};

LoopFabric::LoopFabric(int size, std::uint64_t seed) : inbox_(static_cast<std::size_t>(size)), random_(seed) {}
LoopFabric::~LoopFabric() = default;

std::unique_ptr<Channel> LoopFabric::open(int rank, Sink& sink) {
  return std::make_unique<LoopChannel>(*this, rank, sink);
}

std::size_t LoopFabric::in_flight() const noexcept {
  std::size_t n = unread_;
  for (const auto& inbox : inbox_) n += inbox.size();
  return n;
}

}  // namespace wring::transport
