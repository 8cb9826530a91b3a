// SPDX-License-Identifier: BSD-3-Clause
// shm.cpp - a channel that takes frames for ranks of the same host through memory that these share.
//
// Frames for other hosts go through the channel underneath, and so does what finds no room in the
// shared memory: a mailbox that is full, no slot that is free, a frame larger than slots are.
// Frames may overtake each other, which transports are free to let happen.
//
// Where all ranks share a host, the channel underneath is seldom needed: polling looks at it now
// and then, and at every turn for a while after it was used. A sleeper sleeps in the shared memory
// and is woken by whoever sends to it. Where ranks of other hosts may have something to say, it
// sleeps in the channel underneath, and not for long, as neighbours cannot wake it there.
#include <algorithm>
#include <utility>

#include "transport/shm_group.hpp"

namespace wring::transport {
namespace {

/// Microseconds of the first sleep where nobody can wake the sleeper; each is twice the one before.
constexpr int kShortestSleep = 20, kLongestSleep = 1000;
/// While the shared memory keeps giving frames, or nothing is expected of the channel underneath,
/// that is looked at every so many rounds.
constexpr unsigned kRoundsBetween = 32;
/// Rounds without result for which the channel underneath is looked at every time after its last
/// use.
constexpr int kRoundsAlert = 1000;
/// Microseconds asleep without any frame after which neighbours are looked up.
constexpr int kLookUpAfter = 100000;

class ShmChannel final : public Channel, private ShortWay {
 public:
  ShmChannel(std::shared_ptr<ShmGroup> group, std::vector<int> ranks, Sink& sink, int size,
             std::uint64_t context)
      : group_(std::move(group)),
        ranks_(std::move(ranks)),
        sink_(sink),
        context_(context),
        alone_(static_cast<int>(ranks_.size()) == size),
        place_(static_cast<std::size_t>(size), kElsewhere) {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (i != group_->me()) place_[static_cast<std::size_t>(ranks_[i])] = i;
    }
    seen_elsewhere_ = group_->elsewhere();
    group_->add_route(context_, sink_);
  }
  ~ShmChannel() override { group_->remove_route(context_); }
  ShmChannel(const ShmChannel&) = delete;
  ShmChannel& operator=(const ShmChannel&) = delete;

  void attach(std::unique_ptr<Channel> inner) noexcept { inner_ = std::move(inner); }

  Sent send(int peer, const std::byte* header, const void* payload, std::size_t bytes,
            std::uint64_t token) noexcept override {
    const std::size_t at = place_[static_cast<std::size_t>(peer)];
    if (at != kElsewhere && group_->send(at, header, payload, bytes)) return Sent::done;
    alert_ = kRoundsAlert;
    const Sent sent = inner_->send(peer, header, payload, bytes, token);
    if (at != kElsewhere && sent != Sent::again) group_->went_elsewhere(at);
    return sent;
  }

  bool progress() noexcept override {
    const bool came = group_->poll(context_, sink_);
    if (look_up_.load(std::memory_order_relaxed)) look_up();
    if (const std::uint32_t elsewhere = group_->elsewhere(); elsewhere != seen_elsewhere_) {
      seen_elsewhere_ = elsewhere;
      alert_ = kRoundsAlert;
    }
    bool moved = came;
    const bool expected = !came && (!alone_ || alert_ > 0);
    if (expected || ++rounds_ % kRoundsBetween == 0) {
      const bool below = inner_->progress();
      alert_ = below ? kRoundsAlert : std::max(0, alert_ - 1);
      moved = came || below;
    }
    if (moved) {
      sleep_.store(kShortestSleep, std::memory_order_relaxed);
      slept_.store(0, std::memory_order_relaxed);
    }
    return moved;
  }

  void release(void* handle) noexcept override {
    if (!group_->release(handle)) inner_->release(handle);
  }

  ShortWay* short_way() noexcept override { return alone_ ? this : nullptr; }

  void wait(int microseconds, bool sending) noexcept override {
    if (group_->has_frame()) return;
    const int sleep = sleep_.load(std::memory_order_relaxed);
    if (alone_ && !sending) {
      group_->sleep(std::min(microseconds, kLongestSleep));
    } else {
      inner_->wait(std::min(microseconds, sleep), sending);
    }
    sleep_.store(std::min(2 * sleep, kLongestSleep), std::memory_order_relaxed);
    if (slept_.fetch_add(sleep, std::memory_order_relaxed) > kLookUpAfter) {
      slept_.store(0, std::memory_order_relaxed);
      look_up_.store(true, std::memory_order_relaxed);
    }
  }

 private:
  std::size_t most() const noexcept override { return kShortBytes; }

  bool send_all(const std::byte* header, const void* payload, std::size_t bytes) noexcept override {
    return group_->send_all(header, payload, bytes);
  }

  const std::byte* take(int peer, const std::byte* header, std::size_t bytes,
                        void*& handle) noexcept override {
    return group_->take(place_[static_cast<std::size_t>(peer)], header, bytes, handle);
  }

  static constexpr std::size_t kElsewhere = ~std::size_t{0};

  /// Tells of neighbours that have ended, once everything that they sent has been taken.
  void look_up() noexcept {
    look_up_.store(false, std::memory_order_relaxed);
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (i == group_->me() || !group_->dead(i)) continue;
      if (group_->has_frame()) return;
      sink_.on_peer_failed(ranks_[i], {Code::peer_failed, "its process has ended"});
    }
  }

  const std::shared_ptr<ShmGroup> group_;
  const std::vector<int> ranks_;  ///< of the group's members
  Sink& sink_;
  const std::uint64_t context_;
  const bool alone_;  ///< all ranks are of the group
  std::unique_ptr<Channel> inner_;
  std::vector<std::size_t> place_;  ///< rank -> member
  std::uint32_t seen_elsewhere_ = 0;
  unsigned rounds_ = 0;
  int alert_ = 0;
  std::atomic<int> sleep_{kShortestSleep};  ///< microseconds of the next sleep
  std::atomic<int> slept_{0};               ///< microseconds since a frame came
  std::atomic<bool> look_up_{false};
};

}  // namespace

Status open_with_mailboxes(const Transport& transport, Bootstrap& boot, Sink& sink,
                           std::unique_ptr<Channel>& out) {
  std::shared_ptr<ShmGroup> group;
  std::vector<int> ranks;
  WRING_TRY(join_group(boot, group, ranks));
  if (group == nullptr) return transport.open(boot, sink, out);
  // Before the transport's own rounds: from their end on, others may send.
  auto shm = std::make_unique<ShmChannel>(std::move(group), std::move(ranks), sink, boot.size(),
                                          boot.context());
  std::unique_ptr<Channel> inner;
  WRING_TRY(transport.open(boot, sink, inner));
  shm->attach(std::move(inner));
  out = std::move(shm);
  return {};
}

}  // namespace wring::transport
