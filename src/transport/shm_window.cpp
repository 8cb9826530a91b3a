// SPDX-License-Identifier: BSD-3-Clause
// shm_window.cpp - the file in /dev/shm behind a window.
//
// Pages are only touched after posix_fallocate has given them memory: in a /dev/shm that is full, a
// plain store would kill the process. Lanes get theirs when the file is made, slots when they are
// first used.
#include "transport/shm_window.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace wring::transport {
namespace {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

constexpr std::size_t kPage = 4096;

Status system_error(const char* what, const char* name, int error) noexcept {
  return fail(Code::unsupported, error, "%s %s: %s", what, name, std::strerror(error));
}

constexpr std::uint32_t share(std::size_t ranks) noexcept {
  return static_cast<std::uint32_t>(
      std::clamp<std::size_t>(kAllSlotBytes / kSlotBytes / ranks, 1, kMostSlots));
}

}  // namespace

/// The file: this, then desks, then lanes, then slots.
struct ShmWindow::Front {
  alignas(128) std::uint32_t first_slots;
};

ShmWindow::ShmWindow(std::size_t ranks) noexcept
    : ranks_(ranks),
      slots_per_rank_(share(ranks)),
      slots_at_((sizeof(Front) + ranks * sizeof(Desk) + ranks * ranks * sizeof(Lane) + kPage - 1) /
                kPage * kPage) {}

ShmWindow::~ShmWindow() {
  if (memory_ != nullptr) munmap(memory_, bytes());
  if (file_ >= 0) close(file_);
}

Status ShmWindow::map(int file) noexcept {
  void* memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return system_error("mmap", "", errno);
  memory_ = static_cast<std::byte*>(memory);
  return {};
}

Status ShmWindow::create(const char* name, bool with_slots) noexcept {
  file_ = shm_open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (file_ < 0) return system_error("shm_open", name, errno);
  Status status;
  if (const int error = posix_fallocate(file_, 0, static_cast<off_t>(lane_bytes())); error != 0) {
    status = system_error("posix_fallocate", name, error);
  } else if (ftruncate(file_, static_cast<off_t>(bytes())) != 0) {
    status = system_error("ftruncate", name, errno);
  } else {
    status = map(file_);
  }
  if (status.is_error()) {
    unlink(name);
    return status;
  }
  bool room = with_slots;
  for (std::size_t rank = 0; rank < ranks_ && room; ++rank) {
    for (std::uint32_t i = 0; i < kFirstSlots && room; ++i) room = commit(rank, i);
  }
  reinterpret_cast<Front*>(memory_)->first_slots = room ? kFirstSlots : 0;
  if (room) return {};
  // Slots that only some ranks have are of no use: their memory goes back.
  if (ftruncate(file_, static_cast<off_t>(slots_at_)) != 0 ||
      ftruncate(file_, static_cast<off_t>(bytes())) != 0) {
    unlink(name);
    return system_error("ftruncate", name, errno);
  }
  return {};
}

Status ShmWindow::attach(const char* name) noexcept {
  file_ = shm_open(name, O_RDWR | O_CLOEXEC, 0600);
  if (file_ < 0) return system_error("shm_open", name, errno);
  struct stat s {};
  if (fstat(file_, &s) != 0 || static_cast<std::size_t>(s.st_size) != bytes()) {
    return {Code::unsupported, "the shared memory has another size"};
  }
  return map(file_);
}

void ShmWindow::unlink(const char* name) noexcept { shm_unlink(name); }

bool ShmWindow::commit(std::size_t rank, std::uint32_t index) noexcept {
  const std::size_t at = slots_at_ + (rank * slots_per_rank_ + index) * kSlotBytes;
  return posix_fallocate(file_, static_cast<off_t>(at), kSlotBytes) == 0;
}

std::uint32_t ShmWindow::first_slots() const noexcept {
  return reinterpret_cast<const Front*>(memory_)->first_slots;
}

Desk& ShmWindow::desk(std::size_t rank) noexcept {
  return reinterpret_cast<Desk*>(memory_ + sizeof(Front))[rank];
}

Lane& ShmWindow::lane(std::size_t from, std::size_t to) noexcept {
  auto* lanes = reinterpret_cast<Lane*>(memory_ + sizeof(Front) + ranks_ * sizeof(Desk));
  return lanes[to * ranks_ + from];  // what one rank reads lies together
}

Slot& ShmWindow::slot(std::size_t rank, std::uint32_t index) noexcept {
  return reinterpret_cast<Slot*>(memory_ + slots_at_)[rank * slots_per_rank_ + index];
}

bool ShmWindow::find_slot(const void* address, std::size_t& rank, std::uint32_t& index) noexcept {
  const auto* at = static_cast<const std::byte*>(address);
  const std::byte* first = memory_ + slots_at_;
  if (at < first || at >= memory_ + bytes()) return false;
  const std::size_t n = static_cast<std::size_t>(at - first) / kSlotBytes;
  rank = n / slots_per_rank_;
  index = static_cast<std::uint32_t>(n % slots_per_rank_);
  return true;
}

}  // namespace wring::transport
