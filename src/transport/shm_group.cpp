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

/// Headers are read as they are written, in words: a longer read would have to wait for the writes
/// before it.
std::uint64_t word_of(const std::byte* header, unsigned i) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, header + i * sizeof word, sizeof word);
  return word;
}

bool same_headers(const std::byte* a, const std::byte* b) noexcept {
  std::uint64_t differences = 0;
  for (unsigned i = 0; i < kHeaderWords; ++i) differences |= word_of(a, i) ^ word_of(b, i);
  return differences == 0;
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
  if (bytes > kMailboxBytes) {
    if (bytes > kSlotPayload || !take_slot(out.reserved)) return false;
    write_parcel(out, header, payload, bytes);
  } else {
    if (!has_room(out)) return false;
    write_mail(out, header, payload, bytes);
  }
  wake(to);
  return true;
}

bool ShmGroup::send_all(const std::byte* header, const void* payload, std::size_t bytes) noexcept {
  const bool small = bytes <= kMailboxBytes;
  if (!(small ? all_have_room() : take_slots())) return false;
  for (std::size_t to = 0; to < outs_.size(); ++to) {
    if (to == me_) continue;
    if (small) {
      write_mail(outs_[to], header, payload, bytes);
    } else {
      write_parcel(outs_[to], header, payload, bytes);
    }
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (std::size_t to = 0; to < outs_.size(); ++to) {
    if (to != me_) ring(to);
  }
  return true;
}

bool ShmGroup::all_have_room() noexcept {
  for (std::size_t to = 0; to < outs_.size(); ++to) {
    if (to != me_ && !has_room(outs_[to])) return false;
  }
  return true;
}

/// A slot for each of the others, or none.
bool ShmGroup::take_slots() noexcept {
  for (std::size_t to = 0; to < outs_.size(); ++to) {
    if (to == me_ || take_slot(outs_[to].reserved)) continue;
    for (std::size_t before = 0; before < to; ++before) {
      if (before == me_) continue;
      my_desk_.busy[outs_[before].reserved].store(0, std::memory_order_relaxed);
    }
    return false;
  }
  return true;
}

bool ShmGroup::has_room(Out& out) noexcept {
  if (out.next - out.taken < kMailboxSlots) return true;
  out.taken = out.lane->mailbox.taken.load(std::memory_order_acquire);
  return out.next - out.taken < kMailboxSlots;
}

void ShmGroup::write_mail(Out& out, const std::byte* header, const void* payload,
                          std::size_t bytes) noexcept {
  Mailbox& box = out.lane->mailbox;
  MailSlot& slot = box.slots[out.next % kMailboxSlots];
  std::uint64_t* at = slot.words;
  unsigned changed = 0;
  for (unsigned i = 0; i < kHeaderWords; ++i) {
    const std::uint64_t word = word_of(header, i);
    if (word == out.header[i]) continue;
    changed |= 1u << i;
    *at++ = out.header[i] = word;
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
}

/// A frame into the slot that was taken for it.
void ShmGroup::write_parcel(Out& out, const std::byte* header, const void* payload,
                            std::size_t bytes) noexcept {
  Slot& slot = window_->slot(me_, out.reserved);
  std::memcpy(slot.header, header, kHeaderBytes);
  std::memcpy(slot.payload, payload, bytes);
  Parcel& parcel = out.lane->parcels[out.parcels % kMostSlots];
  parcel.slot = out.reserved;
  parcel.bytes = static_cast<std::uint32_t>(bytes);
  parcel.number.store(++out.parcels, std::memory_order_release);
}

bool ShmGroup::take_slot(std::uint32_t& index) noexcept {
  for (index = 0; index < slots_; ++index) {
    if (my_desk_.busy[index].load(std::memory_order_acquire) == 0) break;
  }
  if (index == slots_) {
    if (!may_grow_) return false;
    may_grow_ = slots_ < window_->slots_per_rank() && g_slots < allowance(members_.size()) &&
                window_->commit(me_, index);
    if (!may_grow_) {
      log(LogLevel::info, "shm: all %u slots are in use, and there is no memory for more", slots_);
      return false;
    }
    ++slots_;
    ++g_slots;
  }
  my_desk_.busy[index].store(1, std::memory_order_relaxed);
  return true;
}

void ShmGroup::went_elsewhere(std::size_t to) noexcept {
  window_->desk(to).elsewhere.fetch_add(1, std::memory_order_relaxed);
  wake(to);
}

void ShmGroup::wake(std::size_t to) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  ring(to);
}

/// Wakes a sleeper; after a full fence behind what it shall see.
void ShmGroup::ring(std::size_t to) noexcept {
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

/// The next frame of a mailbox, which has come: with the whole header, of which the words that have
/// not changed are those of the frame before.
Message ShmGroup::read_mail(In& in) noexcept {
  MailSlot& slot = in.mail();
  const std::size_t bytes = slot.bytes;
  const unsigned changed = slot.changed;
  // The first line is here; the others come while this one is being looked at.
  for (std::size_t i = 1; i < lines_of(bytes) && i < kMailLines; ++i) prefetch(&slot, i);
  const std::uint32_t next = in.next.load(std::memory_order_relaxed);
  const std::uint64_t* at = slot.words;
  const Header& before = in.headers[(next - 1) % kMailboxSlots];
  Header& header = in.headers[next % kMailboxSlots];
  for (unsigned i = 0; i < kHeaderWords; ++i) header[i] = changed >> i & 1 ? *at++ : before[i];
  return {reinterpret_cast<const std::byte*>(header), reinterpret_cast<const std::byte*>(at),
          bytes <= kMailboxBytes ? bytes : 0, &slot};
}

/// Moves on from the next parcel.
void ShmGroup::skip_parcel(In& in) noexcept {
  in.parcels.store(in.parcels.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// Moves on from the next frame of a mailbox, which stays in use.
void ShmGroup::keep(In& in) noexcept {
  const std::uint32_t next = in.next.load(std::memory_order_relaxed);
  in.next.store(next + 1, std::memory_order_relaxed);
  in.held |= 1u << next % kMailboxSlots;
}

void ShmGroup::take_mail(In& in, std::uint64_t context, Sink& sink) noexcept {
  for (std::uint32_t n = 0; n < kMailboxSlots && in.has_mail(); ++n) {
    const Message message = read_mail(in);
    const std::uint32_t index = in.next.load(std::memory_order_relaxed) % kMailboxSlots;
    keep(in);
    if (!show(message, context, sink)) in.held &= ~(1u << index);
  }
  give_back(in);
}

const std::byte* ShmGroup::take(std::size_t from, const std::byte* header, std::size_t bytes,
                                void*& handle) noexcept {
  In& in = ins_[from < me_ ? from : from - 1];
  const bool small = bytes <= kMailboxBytes;
  if (!(small ? in.has_mail() : in.has_parcel())) return nullptr;
  const Message message = small ? read_mail(in) : read_parcel(in);
  if (message.header == nullptr || message.payload_bytes != bytes ||
      !same_headers(message.header, header)) {
    return nullptr;
  }
  if (small) {
    keep(in);
  } else {
    skip_parcel(in);
  }
  handle = message.handle;
  return message.payload;
}

/// Gives a frame's slot of a mailbox back.
void ShmGroup::give_back(In& in, std::uint32_t index) noexcept {
  in.held &= ~(1u << index);
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

/// The next parcel, which has come; without header if it names a slot that is none.
Message ShmGroup::read_parcel(const In& in) noexcept {
  const std::uint32_t index = in.parcel().slot;
  const std::size_t bytes = in.parcel().bytes;
  if (index >= window_->slots_per_rank()) {
    log(LogLevel::error, "shm: a neighbour names slot %u of %u: its frame is lost", index,
        window_->slots_per_rank());
    return {};
  }
  Slot& slot = window_->slot(in.from, index);
  return {slot.header, slot.payload, bytes <= kSlotPayload ? bytes : 0, &slot};
}

void ShmGroup::take_parcels(In& in, std::uint64_t context, Sink& sink) noexcept {
  for (std::uint32_t n = 0; n < kMostSlots && in.has_parcel(); ++n) {
    const Message message = read_parcel(in);
    skip_parcel(in);
    if (message.header == nullptr || show(message, context, sink)) continue;
    (void)release(message.handle);
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
    give_back(in, static_cast<std::uint32_t>(slot - first));
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
