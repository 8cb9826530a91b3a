// SPDX-License-Identifier: BSD-3-Clause
// shm_window.hpp - memory that the ranks of one host share: mailboxes, parcels, slots, bells.
//
// From each rank to each other leads a lane, without a lock: one writer, one reader.
// - A *mailbox* carries small frames: the writer fills a slot of it and then publishes its number,
// so that
//   the reader, who polls that number, finds the frame behind it.
// - A *parcel* says in which slot of the writer's a large frame lies. The reader uses it there and
// then
//   clears the slot's flag. An unread parcel occupies a slot, so that a ring of as many parcels as
//   a rank has slots never overflows.
// The slots of a rank belong to it alone: whoever has one free sends to anybody. Memory for them is
// taken when it is first needed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "transport/transport.hpp"

namespace wring::transport {

/// More ranks than that on one host would poll too many mailboxes, and need their square in memory.
inline constexpr std::size_t kMostRanks = 32;

inline constexpr std::uint32_t kMailboxSlots = 8;
inline constexpr std::size_t kMailboxBytes =
    1024;  ///< largest payload; above, copying twice costs more

/// A frame of the plans' longest segment (128 KiB), and 8 KiB for codecs that make it somewhat
/// larger.
inline constexpr std::size_t kSlotPayload = (128 + 8) * 1024;
inline constexpr std::size_t kSlotBytes = kSlotPayload + 4096;  ///< header in front, whole pages
/// Slots of one rank: at most, and from the start. All ranks of a host together have at most
/// kAllSlotBytes.
inline constexpr std::uint32_t kMostSlots = 64, kFirstSlots = 4;
inline constexpr std::size_t kAllSlotBytes = std::size_t{64} << 20;

/// Words of a header. Between two frames of a lane few of them change, and only those are written,
/// with the payload right behind: the smallest frames then take one cache line, which halves their
/// way.
inline constexpr unsigned kHeaderWords = kHeaderBytes / sizeof(std::uint64_t);

struct MailSlot {
  alignas(128) std::atomic<std::uint32_t> number;  ///< of the frame in it, from 1; 0: none yet
  std::uint16_t bytes;                             ///< of the payload
  std::uint16_t changed;  ///< bit i: word i of the header is another than in the last frame
  std::uint64_t words[kHeaderWords + kMailboxBytes / sizeof(std::uint64_t)];
};

struct Mailbox {
  MailSlot slots[kMailboxSlots];
  std::atomic<std::uint32_t> taken;  ///< frames that the reader has done with
};

struct Parcel {
  std::atomic<std::uint32_t> number;  ///< as in MailSlot
  std::uint32_t slot;                 ///< of the sender's
  std::uint32_t bytes;
  std::uint32_t unused;
};

struct Lane {
  Mailbox mailbox;
  alignas(128) Parcel parcels[kMostSlots];
};

/// What a rank shares besides its lanes.
struct Desk {
  alignas(128)
      std::atomic<std::uint32_t> asleep;  ///< 1: it sleeps on this word; who clears it wakes it
  std::atomic<std::uint32_t> elsewhere;   ///< frames that neighbours sent it another way
  alignas(128) std::atomic<std::uint32_t> busy[kMostSlots];  ///< 1: that slot of its is being read
};

struct Slot {
  std::byte header[kHeaderBytes];
  std::byte payload[kSlotBytes - kHeaderBytes];
};
static_assert(sizeof(Slot) == kSlotBytes && kSlotPayload <= sizeof(Slot::payload));

/// The mapped file. Everything in it is zero at first, and may be written by the other processes at
/// any time.
class ShmWindow {
 public:
  explicit ShmWindow(std::size_t ranks) noexcept;
  ~ShmWindow();
  ShmWindow(const ShmWindow&) = delete;
  ShmWindow& operator=(const ShmWindow&) = delete;

  /// Makes the file with room for lanes, and for the first slots if they are wanted and there is.
  Status create(const char* name, bool with_slots) noexcept;
  Status attach(const char* name) noexcept;
  static void unlink(const char* name) noexcept;

  /// Memory for slot `index` of a rank, which must not be touched before. False if there is none.
  bool commit(std::size_t rank, std::uint32_t index) noexcept;

  std::uint32_t slots_per_rank() const noexcept { return slots_per_rank_; }
  /// Slots of each rank that have memory since create(): kFirstSlots, or 0.
  std::uint32_t first_slots() const noexcept;
  /// What create() asks for.
  std::size_t lane_bytes() const noexcept { return slots_at_; }
  std::size_t first_bytes() const noexcept { return slots_at_ + ranks_ * kFirstSlots * kSlotBytes; }

  Desk& desk(std::size_t rank) noexcept;
  Lane& lane(std::size_t from, std::size_t to) noexcept;
  Slot& slot(std::size_t rank, std::uint32_t index) noexcept;
  /// Whether the address lies in a slot; then whose and which.
  bool find_slot(const void* address, std::size_t& rank, std::uint32_t& index) noexcept;

 private:
  struct Front;
  Status map(int file) noexcept;
  std::size_t bytes() const noexcept { return slots_at_ + ranks_ * slots_per_rank_ * kSlotBytes; }

  const std::size_t ranks_;
  const std::uint32_t slots_per_rank_;
  const std::size_t slots_at_;  ///< offset of the slots
  std::byte* memory_ = nullptr;
  int file_ = -1;
};

}  // namespace wring::transport
