// SPDX-License-Identifier: BSD-3-Clause
// shm_group.cpp - frames through the window: who writes what, in which order, and who gives it
// back.
//
// Sending never waits for a reader. Slots may stay occupied for long: the reader keeps a frame
// until others have come, or has not begun the call that it belongs to, which may be because it
// waits for this process on another communicator. If the sender then waited for a slot, two
// processes could wait for each other for ever. So a frame that finds no slot, or a full mailbox,
// goes through the channel underneath instead, which takes all frames. To make that rare, there are
// more slots than are usually needed, the lowest free one being taken, so that few are touched and
// those lie in the cache.
//
// Waking: a sleeper sets `asleep`, looks once more, and sleeps on that word; whoever sends
// publishes the frame and then looks at the word. A full fence on either side makes sure that one
// of them sees the other.
#include "transport/shm_group.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "base/log.hpp"

namespace wring::transport {
namespace {

/// Slots with memory that this process holds in all its groups.
std::size_t g_slots = 0;
std::uint32_t g_first_number = 0;

std::uint64_t context_of(const std::byte* header) noexcept {
  std::uint64_t context = 0;
  std::memcpy(&context, header + kContextOffset, sizeof context);
  return context;
}

constexpr std::size_t kLine = 64, kMailLines = sizeof(MailSlot) / kLine;

/// Cache lines of a mailbox slot that a frame of a lane takes, whose header has changed in two
/// words.
constexpr std::size_t lines_of(std::size_t bytes) noexcept {
  return (bytes + 3 * sizeof(std::uint64_t) + kLine - 1) / kLine;
}

void prefetch(const void* slot, std::size_t line) noexcept {
  __builtin_prefetch(static_cast<const std::byte*>(slot) + line * kLine);
}

void prefetch_to_write(const void* slot, std::size_t line) noexcept {
  const std::byte* at = static_cast<const std::byte*>(slot) + line * kLine;
#if defined(__x86_64__)
  // The compiler makes a prefetch to read of it, unless told that the processor has this; none ever
  // faults on it.
  asm volatile("prefetchw %0" : : "m"(*at));
#else
  __builtin_prefetch(at, 1);
#endif
}

/// Of all slots of a host, those that one of `members` processes may have.
std::size_t allowance(std::size_t members) noexcept { return kAllSlotBytes / kSlotBytes / members; }

}  // namespace

void set_first_number(std::uint32_t number) noexcept { g_first_number = number; }

bool ShmGroup::slots_allowed(std::size_t members) noexcept {
  return g_slots + kFirstSlots <= allowance(members);
}

ShmGroup::ShmGroup(std::unique_ptr<ShmWindow> window, std::vector<Member> members, std::size_t me,
                   std::uint64_t id)
    : window_(std::move(window)),
      members_(std::move(members)),
      me_(me),
      id_(id),
      my_desk_(window_->desk(me)),
      slots_(window_->first_slots() == 0 ? 0 : kFirstSlots),
      may_grow_(slots_ != 0),
      outs_(members_.size()),
      ins_(members_.size() - 1) {
  g_slots += slots_;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (i == me_) continue;
    Out& out = outs_[i];
    out.lane = &window_->lane(me_, i);
    out.next = out.taken = out.parcels = g_first_number;
    In& in = ins_[i < me_ ? i : i - 1];
    in.from = i;
    in.lane = &window_->lane(i, me_);
    in.next = in.parcels = in.returned = g_first_number;
  }
}

ShmGroup::~ShmGroup() { g_slots -= slots_; }

// --- contexts
// ---------------------------------------------------------------------------------------

void ShmGroup::add_route(std::uint64_t context, Sink& sink) {
  const auto at =
      std::lower_bound(routes_.begin(), routes_.end(), context,
                       [](const Route& r, std::uint64_t key) { return r.context < key; });
  routes_.insert(at, {context, &sink});
}

void ShmGroup::remove_route(std::uint64_t context) noexcept {
  std::erase_if(routes_, [context](const Route& r) { return r.context == context; });
}

bool ShmGroup::show(const Message& message, std::uint64_t context, Sink& sink) noexcept {
  const std::uint64_t theirs = context_of(message.header);
  if (theirs == context) return sink.on_message(message);
  const auto at =
      std::lower_bound(routes_.begin(), routes_.end(), theirs,
                       [](const Route& r, std::uint64_t key) { return r.context < key; });
  if (at != routes_.end() && at->context == theirs) {
    wake(me_);  // another thread may sleep in that channel
    return at->sink->on_message(message);
  }
  log(LogLevel::debug, "shm: dropped a frame of %zu bytes for context %016llx",
      message.payload_bytes, static_cast<unsigned long long>(theirs));
  return false;
}

// --- sending
// ----------------------------------------------------------------------------------------

bool ShmGroup::send(std::size_t to, const std::byte* header, const void* payload,
                    std::size_t bytes) noexcept {
  Out& out = outs_[to];
  const bool sent = bytes <= kMailboxBytes ? send_mail(out, header, payload, bytes)
                                           : send_parcel(out, header, payload, bytes);
  if (sent) wake(to);
  return sent;
}

bool ShmGroup::send_mail(Out& out, const std::byte* header, const void* payload,
                         std::size_t bytes) noexcept {
  Mailbox& box = out.lane->mailbox;
  if (out.next - out.taken >= kMailboxSlots) {
    out.taken = box.taken.load(std::memory_order_acquire);
    if (out.next - out.taken >= kMailboxSlots) return false;
  }
  MailSlot& slot = box.slots[out.next % kMailboxSlots];
  Header words;
  std::memcpy(words, header, kHeaderBytes);
  std::uint64_t* at = slot.words;
  unsigned changed = 0;
  for (unsigned i = 0; i < kHeaderWords; ++i) {
    if (words[i] == out.header[i]) continue;
    changed |= 1u << i;
    *at++ = out.header[i] = words[i];
  }
  if (bytes != 0) std::memcpy(at, payload, bytes);
  slot.bytes = static_cast<std::uint16_t>(bytes);
  slot.changed = static_cast<std::uint16_t>(changed);
  // Lines that the reader had last are slow to write, one after the other. The next frame will be
  // like this one: its lines are fetched now, but for the first, which the reader may be looking
  // at.
  const MailSlot& following = box.slots[(out.next + 1) % kMailboxSlots];
  for (std::size_t i = 1; i < lines_of(bytes); ++i) prefetch_to_write(&following, i);
  slot.number.store(++out.next, std::memory_order_release);
  return true;
}

bool ShmGroup::send_parcel(Out& out, const std::byte* header, const void* payload,
                           std::size_t bytes) noexcept {
  if (bytes > kSlotPayload) return false;
  std::uint32_t index = 0;
  Slot* slot = take_slot(index);
  if (slot == nullptr) return false;
  std::memcpy(slot->header, header, kHeaderBytes);
  std::memcpy(slot->payload, payload, bytes);
  Parcel& parcel = out.lane->parcels[out.parcels % kMostSlots];
  parcel.slot = index;
  parcel.bytes = static_cast<std::uint32_t>(bytes);
  parcel.number.store(++out.parcels, std::memory_order_release);
  return true;
}

Slot* ShmGroup::take_slot(std::uint32_t& index) noexcept {
  for (index = 0; index < slots_; ++index) {
    if (my_desk_.busy[index].load(std::memory_order_acquire) == 0) break;
  }
  if (index == slots_) {
    if (!may_grow_) return nullptr;
    may_grow_ = slots_ < window_->slots_per_rank() && g_slots < allowance(members_.size()) &&
                window_->commit(me_, index);
    if (!may_grow_) {
      log(LogLevel::info, "shm: all %u slots are in use, and there is no memory for more", slots_);
      return nullptr;
    }
    ++slots_;
    ++g_slots;
  }
  my_desk_.busy[index].store(1, std::memory_order_relaxed);
  return &window_->slot(me_, index);
}

void ShmGroup::went_elsewhere(std::size_t to) noexcept {
  window_->desk(to).elsewhere.fetch_add(1, std::memory_order_relaxed);
  wake(to);
}

void ShmGroup::wake(std::size_t to) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::atomic<std::uint32_t>& asleep = window_->desk(to).asleep;
  if (asleep.load(std::memory_order_relaxed) == 0 || asleep.exchange(0) == 0) return;
  syscall(SYS_futex, &asleep, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// --- receiving
// --------------------------------------------------------------------------------------

bool ShmGroup::poll(std::uint64_t context, Sink& sink) noexcept {
  bool any = false;
  for (In& in : ins_) {
    if (in.has_mail()) {
      take_mail(in, context, sink);
      any = true;
    }
    if (in.has_parcel()) {
      take_parcels(in, context, sink);
      any = true;
    }
  }
  return any;
}

// Frames from memory that another process can write are no more to be trusted than those from a
// wire: numbers are read once and checked, and sinks check what is in the frame.

void ShmGroup::take_mail(In& in, std::uint64_t context, Sink& sink) noexcept {
  for (std::uint32_t n = 0; n < kMailboxSlots && in.has_mail(); ++n) {
    MailSlot& slot = in.mail();
    const std::size_t bytes = slot.bytes;
    const unsigned changed = slot.changed;
    // The first line is here; the others come while this one is being looked at.
    for (std::size_t i = 1; i < lines_of(bytes) && i < kMailLines; ++i) prefetch(&slot, i);
    const std::uint32_t next = in.next.load(std::memory_order_relaxed),
                        index = next % kMailboxSlots;
    in.next.store(next + 1, std::memory_order_relaxed);
    in.held |= 1u << index;
    const std::uint64_t* at = slot.words;
    Header& header = in.headers[index];
    std::memcpy(header, in.headers[(next - 1) % kMailboxSlots], kHeaderBytes);
    for (unsigned i = 0; i < kHeaderWords; ++i) {
      if (changed >> i & 1) header[i] = *at++;
    }
    const Message message{reinterpret_cast<const std::byte*>(header),
                          reinterpret_cast<const std::byte*>(at),
                          bytes <= kMailboxBytes ? bytes : 0, &slot};
    if (!show(message, context, sink)) in.held &= ~(1u << index);
  }
  give_back(in);
}

/// Mailbox slots return in order: one that is kept holds up those behind it, and then the writer
/// takes the other way.
void ShmGroup::give_back(In& in) noexcept {
  const std::uint32_t next = in.next.load(std::memory_order_relaxed);
  std::uint32_t returned = in.returned;
  while (returned != next && (in.held >> (returned % kMailboxSlots) & 1) == 0) ++returned;
  if (returned == in.returned) return;
  in.returned = returned;
  in.lane->mailbox.taken.store(returned, std::memory_order_release);
}

void ShmGroup::take_parcels(In& in, std::uint64_t context, Sink& sink) noexcept {
  for (std::uint32_t n = 0; n < kMostSlots && in.has_parcel(); ++n) {
    const std::uint32_t index = in.parcel().slot;
    const std::size_t bytes = in.parcel().bytes;
    in.parcels.store(in.parcels.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (index >= window_->slots_per_rank()) {
      log(LogLevel::error, "shm: a neighbour names slot %u of %u: its frame is lost", index,
          window_->slots_per_rank());
      continue;
    }
    Slot& slot = window_->slot(in.from, index);
    if (show({slot.header, slot.payload, bytes <= kSlotPayload ? bytes : 0, &slot}, context, sink))
      continue;
    window_->desk(in.from).busy[index].store(0, std::memory_order_release);
  }
}

bool ShmGroup::release(void* handle) noexcept {
  std::size_t rank = 0;
  std::uint32_t index = 0;
  if (window_->find_slot(handle, rank, index)) {
    window_->desk(rank).busy[index].store(0, std::memory_order_release);
    return true;
  }
  const auto* slot = static_cast<const MailSlot*>(handle);
  for (In& in : ins_) {
    const MailSlot* first = in.lane->mailbox.slots;
    if (slot < first || slot >= first + kMailboxSlots) continue;
    in.held &= ~(1u << (slot - first));
    give_back(in);
    return true;
  }
  return false;
}

// --- waiting
// ----------------------------------------------------------------------------------------

bool ShmGroup::has_frame() const noexcept {
  return std::any_of(ins_.begin(), ins_.end(),
                     [](const In& in) { return in.has_mail() || in.has_parcel(); });
}

void ShmGroup::sleep(int microseconds) noexcept {
  std::atomic<std::uint32_t>& asleep = my_desk_.asleep;
  asleep.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!has_frame()) {
    const timespec limit{microseconds / 1000000, microseconds % 1000000 * 1000L};
    syscall(SYS_futex, &asleep, FUTEX_WAIT, 1, &limit, nullptr, 0);
  }
  asleep.store(0, std::memory_order_relaxed);
}

bool ShmGroup::dead(std::size_t member) const noexcept {
  const pid_t pid = members_[member].pid;
  if (pid == 0) return false;
  if (kill(pid, 0) != 0) return errno == ESRCH;
  // One that has ended stays until its parent asks for it, which not every launcher does at once.
  char path[32], stat[512];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t length = read(file, stat, sizeof stat - 1);
  close(file);
  if (length <= 0) return false;
  stat[length] = '\0';
  const char* state = std::strrchr(stat, ')');  // the name before it may hold anything
  return state != nullptr && state[1] == ' ' && (state[2] == 'Z' || state[2] == 'X');
}

}  // namespace wring::transport
