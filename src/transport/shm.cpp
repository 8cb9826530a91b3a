// SPDX-License-Identifier: BSD-3-Clause
// shm.cpp - a channel that puts small frames for ranks of the same host into their mailboxes.
//
// Everything else goes through the channel underneath: large frames, other hosts, and small ones that
// find their mailbox full. Frames may overtake each other, which transports are free to let happen.
//
// Nobody is woken for a frame in a mailbox: who sleeps looks again after a short while, which grows with
// the time slept already. (A wake-up through the channel underneath would have to connect first, for
// which the sleeper would have to be there still.)
#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/shm_window.hpp"

namespace wring::transport {
namespace {

/// Microseconds of the first sleep; each is twice the one before, up to the longest.
constexpr int kShortestSleep = 20, kLongestSleep = 1000;
/// While mailboxes keep giving frames, the channel underneath is looked at every so many rounds.
constexpr unsigned kRoundsBetween = 16;

class ShmChannel final : public Channel {
 public:
  ShmChannel(std::unique_ptr<ShmWindow> window, Sink& sink, int size, std::uint64_t context)
      : window_(std::move(window)), sink_(sink), context_(context), place_(static_cast<std::size_t>(size), kElsewhere), outgoing_(window_->ranks().size()),
        incoming_(window_->ranks().size()) {
    for (std::size_t i = 0; i < window_->ranks().size(); ++i) {
      if (i == window_->me()) continue;
      place_[static_cast<std::size_t>(window_->ranks()[i])] = i;
      outgoing_[i].box = &window_->mailbox(window_->me(), i);
      incoming_[i].box = &window_->mailbox(i, window_->me());
    }
  }
  void attach(std::unique_ptr<Channel> inner) noexcept { inner_ = std::move(inner); }

  Sent send(int peer, const std::byte* header, const void* payload, std::size_t bytes,
            std::uint64_t token) noexcept override {
    const std::size_t at = place_[static_cast<std::size_t>(peer)];
    if (at == kElsewhere || bytes > kMailboxBytes || !post(at, header, payload, bytes)) {
      return inner_->send(peer, header, payload, bytes, token);
    }
    return Sent::done;
  }

  bool progress() noexcept override {
    bool moved = false;
    for (Incoming& in : incoming_) {
      if (in.box != nullptr) moved = take(in) || moved;
    }
    if (moved && ++rounds_ % kRoundsBetween != 0) {
      sleep_.store(kShortestSleep, std::memory_order_relaxed);
      return true;
    }
    moved = inner_->progress() || moved;
    if (moved) sleep_.store(kShortestSleep, std::memory_order_relaxed);
    return moved;
  }

  void release(void* handle) noexcept override {
    for (Incoming& in : incoming_) {
      const auto* slot = static_cast<const MailSlot*>(handle);
      if (in.box == nullptr || slot < in.box->slots || slot >= in.box->slots + kMailboxSlots) continue;
      in.held &= ~(1u << (slot - in.box->slots));
      give_back(in);
      return;
    }
    inner_->release(handle);
  }

  void wait(int microseconds, bool sending) noexcept override {
    for (const Incoming& in : incoming_) {
      if (in.box == nullptr) continue;
      const std::uint32_t next = in.next.load(std::memory_order_relaxed);
      if (in.box->slots[next % kMailboxSlots].number.load(std::memory_order_relaxed) == next + 1) return;
    }
    const int sleep = sleep_.load(std::memory_order_relaxed);
    inner_->wait(std::min(microseconds, sleep), sending);
    sleep_.store(std::min(2 * sleep, kLongestSleep), std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kElsewhere = ~std::size_t{0};

  struct Outgoing {
    Mailbox* box = nullptr;
    std::uint32_t next = 0;   ///< frames written
    std::uint32_t taken = 0;  ///< what was last seen of the reader's count
  };
  struct Incoming {
    Mailbox* box = nullptr;
    std::atomic<std::uint32_t> next{0};  ///< frames read; wait() looks at it without the lock
    std::uint32_t returned = 0;          ///< frames whose slots were given back
    std::uint32_t held = 0;              ///< bit i: the sink keeps slot i
  };

  bool post(std::size_t at, const std::byte* header, const void* payload, std::size_t bytes) noexcept {
    Outgoing& out = outgoing_[at];
    if (out.next - out.taken == kMailboxSlots) {
      out.taken = out.box->taken.load(std::memory_order_acquire);
      if (out.next - out.taken == kMailboxSlots) return false;
    }
    MailSlot& slot = out.box->slots[out.next % kMailboxSlots];
    slot.bytes = static_cast<std::uint32_t>(bytes);
    std::memcpy(slot.header, header, kHeaderBytes);
    if (bytes != 0) std::memcpy(slot.payload, payload, bytes);
    slot.number.store(++out.next, std::memory_order_release);
    return true;
  }

  bool take(Incoming& in) noexcept {
    bool any = false;
    for (std::uint32_t n = 0; n < kMailboxSlots; ++n) {
      const std::uint32_t next = in.next.load(std::memory_order_relaxed);
      const std::uint32_t index = next % kMailboxSlots;
      MailSlot& slot = in.box->slots[index];
      if (slot.number.load(std::memory_order_acquire) != next + 1) break;
      in.next.store(next + 1, std::memory_order_relaxed);
      in.held |= 1u << index;
      any = true;
      // A frame from memory that another process can write is no more to be trusted than one from a wire.
      const std::size_t bytes = slot.bytes <= kMailboxBytes ? slot.bytes : 0;
      std::uint64_t context = 0;
      std::memcpy(&context, slot.header + kContextOffset, sizeof context);
      const bool kept = context == context_ && sink_.on_message({slot.header, slot.payload, bytes, &slot});
      if (!kept) in.held &= ~(1u << index);
    }
    if (any) give_back(in);
    return any;
  }

  /// Slots return in order: one that is kept holds up those behind it, and then the writer takes the
  /// other way.
  void give_back(Incoming& in) noexcept {
    const std::uint32_t next = in.next.load(std::memory_order_relaxed);
    std::uint32_t returned = in.returned;
    while (returned != next && (in.held >> (returned % kMailboxSlots) & 1) == 0) ++returned;
    if (returned == in.returned) return;
    in.returned = returned;
    in.box->taken.store(returned, std::memory_order_release);
  }

  std::unique_ptr<ShmWindow> window_;
  Sink& sink_;
  const std::uint64_t context_;
  std::unique_ptr<Channel> inner_;
  std::vector<std::size_t> place_;  ///< rank -> place on this host
  std::vector<Outgoing> outgoing_;
  std::vector<Incoming> incoming_;
  unsigned rounds_ = 0;
  std::atomic<int> sleep_{kShortestSleep};  ///< microseconds of the next sleep
};

}  // namespace

Status open_with_mailboxes(const Transport& transport, Bootstrap& boot, Sink& sink, std::unique_ptr<Channel>& out) {
  std::unique_ptr<ShmWindow> window;
  WRING_TRY(ShmWindow::open(boot, window));
  if (window == nullptr) return transport.open(boot, sink, out);
  auto shm = std::make_unique<ShmChannel>(std::move(window), sink, boot.size(), boot.context());
  std::unique_ptr<Channel> inner;
  WRING_TRY(transport.open(boot, sink, inner));
  shm->attach(std::move(inner));
  out = std::move(shm);
  return {};
}

}  // namespace wring::transport
