// SPDX-License-Identifier: BSD-3-Clause
// shm_window.cpp - finds the ranks of a host and gives them memory in common.
#include "transport/shm_window.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/config.hpp"
#include "base/log.hpp"

namespace wring::transport {
namespace {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// More ranks than that on one host would poll too many mailboxes, and need their square in memory.
constexpr std::size_t kMostRanks = 32;

/// What tells hosts apart: the name, the boot, and the file system behind /dev/shm, which containers on
/// one machine may not have in common.
struct HostId {
  char name[64];
  char boot[40];
  std::uint64_t device, inode;
  std::uint64_t wanted;  ///< 0: WRING_SHM=0
};

HostId own_host() noexcept {
  HostId id{};
  gethostname(id.name, sizeof id.name - 1);
  if (std::FILE* f = std::fopen("/proc/sys/kernel/random/boot_id", "r")) {
    if (std::fgets(id.boot, sizeof id.boot, f) == nullptr) id.boot[0] = '\0';
    std::fclose(f);
  }
  struct stat s {};
  if (stat("/dev/shm", &s) == 0) {
    id.device = s.st_dev;
    id.inode = s.st_ino;
  }
  id.wanted = config().shm;
  return id;
}

bool same_host(const HostId& a, const HostId& b) noexcept {
  return std::strncmp(a.name, b.name, sizeof a.name) == 0 && std::strncmp(a.boot, b.boot, sizeof a.boot) == 0 &&
         a.device == b.device && a.inode == b.inode;
}

Status system_error(const char* what, const char* name) noexcept {
  return fail(Code::unsupported, errno, "%s %s: %s", what, name, std::strerror(errno));
}

}  // namespace

std::size_t ShmWindow::bytes() const noexcept {
  const std::size_t n = ranks_.size();
  return n * n * sizeof(Mailbox);
}

Mailbox& ShmWindow::mailbox(std::size_t from, std::size_t to) noexcept {
  auto* mailboxes = static_cast<Mailbox*>(memory_);
  return mailboxes[to * ranks_.size() + from];  // what one rank reads lies together
}

Status ShmWindow::map(int file) noexcept {
  void* memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return system_error("mmap", "");
  memory_ = memory;
  return {};
}

Status ShmWindow::create(const char* name) noexcept {
  const int file = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
  if (file < 0) return system_error("shm_open", name);
  // Not ftruncate alone: a full /dev/shm would then kill whoever first writes.
  const int error = posix_fallocate(file, 0, static_cast<off_t>(bytes()));
  Status status;
  if (error != 0) {
    status = fail(Code::unsupported, error, "/dev/shm has no room for %zu bytes: %s", bytes(), std::strerror(error));
  } else {
    status = map(file);
  }
  close(file);
  if (status.is_error()) shm_unlink(name);
  return status;
}

Status ShmWindow::attach(const char* name) noexcept {
  const int file = shm_open(name, O_RDWR, 0600);
  if (file < 0) return system_error("shm_open", name);
  struct stat s {};
  Status status;
  if (fstat(file, &s) != 0 || static_cast<std::size_t>(s.st_size) != bytes()) {
    status = {Code::unsupported, "the shared memory has another size"};
  } else {
    status = map(file);
  }
  close(file);
  return status;
}

Status ShmWindow::open(Bootstrap& boot, std::unique_ptr<ShmWindow>& out) {
  const HostId mine = own_host();
  std::vector<HostId> hosts(static_cast<std::size_t>(boot.size()));
  WRING_TRY(boot.allgather(&mine, sizeof mine, hosts.data()));

  std::unique_ptr<ShmWindow> window(new ShmWindow);
  bool wanted = true;
  for (int r = 0; r < boot.size(); ++r) {
    const HostId& host = hosts[static_cast<std::size_t>(r)];
    if (!same_host(host, mine)) continue;
    if (r == boot.rank()) window->me_ = window->ranks_.size();
    window->ranks_.push_back(r);
    wanted = wanted && host.wanted != 0;
  }
  const bool useful = wanted && window->ranks_.size() > 1 && window->ranks_.size() <= kMostRanks;
  const bool leader = window->me_ == 0;
  char name[64];
  std::snprintf(name, sizeof name, "/wring-%016" PRIx64 "-%d", boot.context(), window->ranks_.front());

  // Two rounds, in which all ranks take part whether or not they have a use for it: the leader of each
  // host creates, then the others attach.
  Status status = useful && leader ? window->create(name) : Status{};
  std::vector<int> failed(static_cast<std::size_t>(boot.size()));
  for (int round = 0; round < 2; ++round) {
    if (round == 1 && useful && !leader && status.ok()) status = window->attach(name);
    const int mine_failed = status.is_error();
    if (mine_failed) log(LogLevel::info, "no mailboxes in shared memory: %s", status.what());
    Status gathered = boot.allgather(&mine_failed, sizeof mine_failed, failed.data());
    if (gathered.is_error() && useful && leader) shm_unlink(name);
    WRING_TRY(gathered);
    for (int r : window->ranks_) {
      if (failed[static_cast<std::size_t>(r)] && status.ok()) status = {Code::unsupported, "another rank could not share memory"};
    }
  }
  // Everybody has it mapped, or nobody will: the name can go, and nothing is left behind by a crash.
  if (useful && leader) shm_unlink(name);
  if (useful && status.ok()) out = std::move(window);
  return {};
}

ShmWindow::~ShmWindow() {
  if (memory_ != nullptr) munmap(memory_, bytes());
}

}  // namespace wring::transport
