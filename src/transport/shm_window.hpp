// SPDX-License-Identifier: BSD-3-Clause
// shm_window.hpp - memory that the ranks of one host share, and the mailboxes in it.
//
// A mailbox carries small frames from one rank to another, in order, with no lock: one writer, one
// reader. A slot holds a whole frame; the writer fills it and then publishes its number, so that the
// reader, who polls that number, finds the frame behind it, for 8 bytes in the next cache line.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/transport.hpp"

namespace wring::transport {

inline constexpr std::uint32_t kMailboxSlots = 8;
inline constexpr std::size_t kMailboxBytes = 1024;  ///< largest payload; above, copying twice costs more

struct MailSlot {
  alignas(64) std::atomic<std::uint32_t> number;  ///< of the frame in it, from 1; 0: none yet
  std::uint32_t bytes;
  std::byte header[kHeaderBytes];
  std::byte payload[kMailboxBytes];
};

struct Mailbox {
  alignas(64) std::atomic<std::uint32_t> taken;  ///< frames that the reader has done with
  MailSlot slots[kMailboxSlots];
};

/// The mapped memory of the ranks of one host. All its mailboxes are zero at first.
class ShmWindow {
 public:
  /// Collective over boot. Null where memory cannot be shared by all ranks of this host, or there is
  /// only one; the reason goes to the log at level info (debug: by choice or by nature).
  static Status open(Bootstrap& boot, std::unique_ptr<ShmWindow>& out);
  ~ShmWindow();
  ShmWindow(const ShmWindow&) = delete;
  ShmWindow& operator=(const ShmWindow&) = delete;

  /// Ranks of this host in ascending order, this one among them.
  const std::vector<int>& ranks() const noexcept { return ranks_; }
  /// Place of this rank in ranks().
  std::size_t me() const noexcept { return me_; }
  Mailbox& mailbox(std::size_t from, std::size_t to) noexcept;

 private:
  ShmWindow() = default;
  std::size_t bytes() const noexcept;
  Status create(const char* name) noexcept;
  Status attach(const char* name) noexcept;
  Status map(int file) noexcept;

  std::vector<int> ranks_;
  std::size_t me_ = 0;
  void* memory_ = nullptr;
};

}  // namespace wring::transport
