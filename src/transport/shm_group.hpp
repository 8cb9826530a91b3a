// SPDX-License-Identifier: BSD-3-Clause
// shm_group.hpp - this process among those of its host: sends, receives and waits in their window.
//
// A group belongs to a set of processes, not to a communicator: communicators of the same processes
// share it, and frames find theirs by their context. So a communicator costs no shared memory of
// its own, and polling costs the same however many there are. Used under the lock that
// transport.hpp asks of the caller, but for what says otherwise.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/shm_window.hpp"

namespace wring::transport {

/// A process of the group.
struct Member {
  std::uint64_t uid;  ///< tells processes apart
  pid_t pid;          ///< 0: it cannot be looked up from here
};

class ShmGroup {
 public:
  /// window: created or attached. members: in the same order everywhere; me: which of them this is.
  ShmGroup(std::unique_ptr<ShmWindow> window, std::vector<Member> members, std::size_t me,
           std::uint64_t id);
  ~ShmGroup();
  ShmGroup(const ShmGroup&) = delete;
  ShmGroup& operator=(const ShmGroup&) = delete;

  const std::vector<Member>& members() const noexcept { return members_; }
  std::size_t me() const noexcept { return me_; }
  std::uint64_t id() const noexcept { return id_; }
  /// Whether this process may take memory for the first slots of a new group.
  static bool slots_allowed(std::size_t members) noexcept;

  void add_route(std::uint64_t context, Sink& sink);
  void remove_route(std::uint64_t context) noexcept;

  /// Copies a frame to where member `to` finds it. False if there is no room, now or ever: it must
  /// go another way, and then say so with went_elsewhere.
  bool send(std::size_t to, const std::byte* header, const void* payload,
            std::size_t bytes) noexcept;
  void went_elsewhere(std::size_t to) noexcept;
  /// Copies a frame of at most kSlotPayload to all others; false, and to none, if there is no room for
  /// one.
  bool send_all(const std::byte* header, const void* payload, std::size_t bytes) noexcept;
  /// Takes the next frame of member `from`, to be kept until release(handle), if it is this one.
  const std::byte* take(std::size_t from, const std::byte* header, std::size_t bytes,
                        void*& handle) noexcept;

  /// Shows the frames that have come to the sinks of their contexts, `sink` being that of
  /// `context`.
  bool poll(std::uint64_t context, Sink& sink) noexcept;
  /// False if the handle is not of a frame that came through here.
  bool release(void* handle) noexcept;
  /// Frames that neighbours sent to this process another way so far.
  std::uint32_t elsewhere() const noexcept {
    return my_desk_.elsewhere.load(std::memory_order_relaxed);
  }

  /// Sleeps until a frame comes, or for at most microseconds. Without the lock.
  void sleep(int microseconds) noexcept;
  /// Whether poll() would find a frame. Without the lock.
  bool has_frame() const noexcept;
  /// Whether a member's process is known to have ended.
  bool dead(std::size_t member) const noexcept;

 private:
  using Header = std::uint64_t[kHeaderWords];
  struct Out {
    Lane* lane = nullptr;
    Header header{};            ///< of the last frame in the mailbox
    std::uint32_t next = 0;     ///< frames written to the mailbox
    std::uint32_t taken = 0;    ///< what was last seen of the reader's count
    std::uint32_t parcels = 0;  ///< parcels written
    std::uint32_t reserved = 0;  ///< slot taken for the parcel that is being sent
  };
  struct In {
    Lane* lane = nullptr;
    Header headers[kMailboxSlots]{};                 ///< of the frames in the mailbox
    std::size_t from = 0;                            ///< member that writes here
    std::atomic<std::uint32_t> next{0}, parcels{0};  ///< read; looked at without the lock
    std::uint32_t returned = 0;                      ///< frames whose mailbox slots were given back
    std::uint32_t held = 0;                          ///< bit i: a sink keeps mailbox slot i

    MailSlot& mail() const noexcept {
      return lane->mailbox.slots[next.load(std::memory_order_relaxed) % kMailboxSlots];
    }
    Parcel& parcel() const noexcept {
      return lane->parcels[parcels.load(std::memory_order_relaxed) % kMostSlots];
    }
    /// Whether the next one has come.
    bool has_mail() const noexcept {
      return mail().number.load(std::memory_order_acquire) ==
             next.load(std::memory_order_relaxed) + 1;
    }
    bool has_parcel() const noexcept {
      return parcel().number.load(std::memory_order_acquire) ==
             parcels.load(std::memory_order_relaxed) + 1;
    }
  };
  struct Route {
    std::uint64_t context;
    Sink* sink;
  };

  static bool has_room(Out& out) noexcept;
  static void write_mail(Out& out, const std::byte* header, const void* payload,
                         std::size_t bytes) noexcept;
  void write_parcel(Out& out, const std::byte* header, const void* payload,
                    std::size_t bytes) noexcept;
  bool all_have_room() noexcept;
  bool take_slots() noexcept;
  void wake(std::size_t to) noexcept;
  void ring(std::size_t to) noexcept;
  void take_mail(In& in, std::uint64_t context, Sink& sink) noexcept;
  void take_parcels(In& in, std::uint64_t context, Sink& sink) noexcept;
  bool show(const Message& message, std::uint64_t context, Sink& sink) noexcept;
  static Message read_mail(In& in) noexcept;
  Message read_parcel(const In& in) noexcept;
  static void keep(In& in) noexcept;
  static void skip_parcel(In& in) noexcept;
  static void give_back(In& in, std::uint32_t index) noexcept;
  static void give_back(In& in) noexcept;
  bool take_slot(std::uint32_t& index) noexcept;

  const std::unique_ptr<ShmWindow> window_;
  const std::vector<Member> members_;
  const std::size_t me_;
  const std::uint64_t id_;
  Desk& my_desk_;
  std::uint32_t slots_;        ///< of this process that have memory
  bool may_grow_;              ///< there may be memory for more
  std::vector<Out> outs_;      ///< by member
  std::vector<In> ins_;        ///< from the others
  std::vector<Route> routes_;  ///< ordered by context
};

/// For tests: new groups begin to count their frames at `number`, a multiple of kMostSlots and at
/// least two of these below 2^32 (before it is published, a number must not be what memory holds at
/// first). On all members alike.
void set_first_number(std::uint32_t number) noexcept;

/// The group of this process and the others of boot's communicator on its host; collective. Null
/// where memory cannot be shared by all of them, or there is only one. A process that cannot
/// although it should warns, once, of what is missing.
Status join_group(Bootstrap& boot, std::shared_ptr<ShmGroup>& out, std::vector<int>& ranks);

}  // namespace wring::transport
