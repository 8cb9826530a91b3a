// SPDX-License-Identifier: BSD-3-Clause
// shm_join.cpp - finds the ranks of a host and gives them a window in common.
//
// All ranks of the communicator take part in every round, whether or not they have a use for it:
// 1. Cards: who is on which host.
// 2. Held: a group of the same processes may exist already. Where all of them hold the same one, it
// serves.
//    If that is so on every host, there are no further rounds.
// 3. Made: on each other host the first rank makes a file. 4. Attached: the others map it.
// Then the file's name goes, so that a crash leaves nothing behind.
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/config.hpp"
#include "base/log.hpp"
#include "transport/shm_group.hpp"

namespace wring::transport {
namespace {

/// Groups without a channel that are kept for the next one.
constexpr std::size_t kMostIdle = 4;

/// Of ranks that have no use for a group.
constexpr std::uint64_t kNotWanted = ~std::uint64_t{0};

/// What a process tells of itself. Hashes: equal means the same.
struct Card {
  std::uint64_t machine;  ///< name and boot
  std::uint64_t
      host;  ///< and the file system behind /dev/shm, which containers may not have in common
  std::uint64_t uid;        ///< of the process
  std::uint64_t pid_space;  ///< where pid means something
  std::int64_t pid;
  std::uint64_t wanted;  ///< 0: WRING_SHM=0
};

std::uint64_t hash(const void* data, std::size_t bytes, std::uint64_t h) noexcept {  // FNV-1a
  const auto* p = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) h = (h ^ p[i]) * 0x100000001b3;
  return h;
}

Card make_card() noexcept {
  Card card{};
  char text[128] = {};
  gethostname(text, 64);
  if (std::FILE* f = std::fopen("/proc/sys/kernel/random/boot_id", "r")) {
    if (std::fgets(text + 64, 64, f) == nullptr) text[64] = '\0';
    std::fclose(f);
  }
  card.machine = hash(text, sizeof text, 0xcbf29ce484222325);
  struct stat s {};
  std::uint64_t place[2] = {};
  if (stat("/dev/shm", &s) == 0) {
    place[0] = s.st_dev;
    place[1] = s.st_ino;
  }
  card.host = hash(place, sizeof place, card.machine);
  if (stat("/proc/self/ns/pid", &s) == 0) card.pid_space = s.st_ino;
  card.pid = getpid();
  if (getentropy(&card.uid, sizeof card.uid) != 0)
    card.uid = hash(&card.pid, sizeof card.pid, card.host);
  card.wanted = config().shm;
  return card;
}

const Card& own_card() noexcept {
  static const Card card = make_card();
  return card;
}

std::vector<std::shared_ptr<ShmGroup>>& groups() {
  static auto* const made = new std::vector<std::shared_ptr<ShmGroup>>;
  return *made;
}

/// Lets go of the oldest groups that nobody uses, but for the newest `keep`.
void forget_idle(std::size_t keep) {
  auto& all = groups();
  auto idle = static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [](const auto& g) { return g.use_count() == 1; }));
  std::erase_if(all, [&](const auto& g) { return g.use_count() == 1 && idle-- > keep; });
}

std::shared_ptr<ShmGroup> find_group(const std::vector<Member>& members) {
  const auto same = [](const Member& a, const Member& b) { return a.uid == b.uid; };
  for (const auto& group : groups()) {
    if (std::equal(members.begin(), members.end(), group->members().begin(), group->members().end(),
                   same))
      return group;
  }
  return nullptr;
}

/// Ranks of this host in the order of their processes' uids, which is that of a group's members.
std::vector<int> ranks_here(const std::vector<Card>& cards, std::uint64_t host) {
  std::vector<int> ranks;
  for (std::size_t r = 0; r < cards.size(); ++r) {
    if (cards[r].host == host) ranks.push_back(static_cast<int>(r));
  }
  std::sort(ranks.begin(), ranks.end(), [&](int a, int b) {
    return cards[static_cast<std::size_t>(a)].uid < cards[static_cast<std::size_t>(b)].uid;
  });
  return ranks;
}

/// Whether all hosts have the groups that they want.
bool all_served(const std::vector<Card>& cards, const std::vector<std::uint64_t>& held) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (std::size_t r = 0; r < cards.size(); ++r) {
    if (held[r] == 0) return false;
    if (held[r] != kNotWanted) seen.emplace_back(cards[r].host, held[r]);
  }
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  const auto same_host = [](const auto& a, const auto& b) { return a.first == b.first; };
  return std::adjacent_find(seen.begin(), seen.end(), same_host) == seen.end();
}

void warn_once(const char* text) noexcept {
  static std::atomic<bool> warned{false};
  if (!warned.exchange(true)) {
    log(LogLevel::warn,
        "%s; the other transports carry these frames instead, more slowly. WRING_SHM=0 avoids the "
        "attempt",
        text);
  }
}

/// Ranks of one machine that cannot share memory, as containers without a common /dev/shm: the
/// first says so.
void warn_of_containers(const std::vector<Card>& cards, int rank) {
  const Card& mine = cards[static_cast<std::size_t>(rank)];
  const auto first = std::find_if(cards.begin(), cards.end(),
                                  [&](const Card& c) { return c.machine == mine.machine; });
  if (first - cards.begin() != rank) return;
  if (std::all_of(cards.begin(), cards.end(), [&](const Card& c) {
        return c.machine != mine.machine || c.host == mine.host || c.wanted == 0;
      }))
    return;
  if (mine.wanted != 0)
    warn_once(
        "ranks of this machine see different file systems at /dev/shm, so they cannot share memory "
        "(containers?)");
}

void warn_of_room(const ShmWindow& window, std::size_t ranks, bool lanes) noexcept {
  char text[200];
  std::snprintf(text, sizeof text,
                "/dev/shm has no room for the %zu KiB that %s between %zu ranks need",
                (lanes ? window.lane_bytes() : window.first_bytes()) / 1024,
                lanes ? "mailboxes" : "large frames", ranks);
  warn_once(text);
}

/// Rounds 3 and 4; window stays null where they fail or there is nothing to do.
Status make_window(Bootstrap& boot, const std::vector<int>& ranks, bool needed,
                   std::unique_ptr<ShmWindow>& window) {
  std::unique_ptr<ShmWindow> made;
  const int first = *std::min_element(ranks.begin(), ranks.end());
  const bool leader = boot.rank() == first;
  char name[64];
  std::snprintf(name, sizeof name, "/wring-%016" PRIx64 "-%d", boot.context(), first);
  if (needed) made = std::make_unique<ShmWindow>(ranks.size());
  if (needed && !ShmGroup::slots_allowed(ranks.size())) forget_idle(0);
  const bool with_slots = needed && ShmGroup::slots_allowed(ranks.size());

  Status status = needed && leader ? made->create(name, with_slots) : Status{};
  std::vector<int> failed(static_cast<std::size_t>(boot.size()));
  for (int round = 0; round < 2; ++round) {
    if (round == 1 && needed && !leader && status.ok()) status = made->attach(name);
    const int mine = status.is_error() ? std::max(1, status.detail()) : 0;
    if (mine != 0) log(LogLevel::info, "no memory shared: %s", status.what());
    if (Status gathered = boot.allgather(&mine, sizeof mine, failed.data()); gathered.is_error()) {
      if (needed && leader) ShmWindow::unlink(name);
      return gathered;
    }
    for (int r : ranks) {
      const int error = failed[static_cast<std::size_t>(r)];
      if (error == 0 || !status.ok()) continue;
      status =
          fail(Code::unsupported, error, "rank %d cannot share memory with ranks of its host: %s",
               r, std::strerror(error));
      if (leader) warn_once(status.what());
    }
  }
  // Everybody has it mapped, or nobody will.
  if (needed && leader) ShmWindow::unlink(name);
  if (needed && leader && failed[static_cast<std::size_t>(first)] != 0) {
    if (status.detail() == ENOSPC) {
      warn_of_room(*made, ranks.size(), true);
    } else {
      warn_once(status.what());
    }
  } else if (needed && leader && with_slots && made->first_slots() == 0) {
    warn_of_room(*made, ranks.size(), false);
  }
  if (needed && status.ok()) window = std::move(made);
  return {};
}

}  // namespace

Status join_group(Bootstrap& boot, std::shared_ptr<ShmGroup>& out, std::vector<int>& ranks) {
  const Card& mine = own_card();
  std::vector<Card> cards(static_cast<std::size_t>(boot.size()));
  WRING_TRY(boot.allgather(&mine, sizeof mine, cards.data()));
  warn_of_containers(cards, boot.rank());
  ranks = ranks_here(cards, mine.host);

  std::vector<Member> members;
  bool wanted = ranks.size() > 1 && ranks.size() <= kMostRanks;
  for (int r : ranks) {
    const Card& card = cards[static_cast<std::size_t>(r)];
    members.push_back(
        {card.uid, card.pid_space == mine.pid_space ? static_cast<pid_t>(card.pid) : 0});
    wanted = wanted && card.wanted != 0;
  }
  std::shared_ptr<ShmGroup> group = wanted ? find_group(members) : nullptr;
  const std::uint64_t id = wanted ? group != nullptr ? group->id() : 0 : kNotWanted;
  std::vector<std::uint64_t> held(cards.size());
  WRING_TRY(boot.allgather(&id, sizeof id, held.data()));
  if (!all_served(cards, held)) {
    const bool served =
        wanted &&
        std::all_of(ranks.begin(), ranks.end(),
                    [&](int r) { return held[static_cast<std::size_t>(r)] == id; }) &&
        id != 0;
    std::unique_ptr<ShmWindow> window;
    WRING_TRY(make_window(boot, ranks, wanted && !served, window));
    if (!served) group = nullptr;
    if (window != nullptr) {
      const auto me = static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), boot.rank()) -
                                               ranks.begin());
      group = std::make_shared<ShmGroup>(std::move(window), std::move(members), me, boot.context());
      groups().insert(groups().begin(), group);
      forget_idle(kMostIdle);
    }
  }
  out = std::move(group);
  return {};
}

void close_mailboxes() noexcept { groups().clear(); }

}  // namespace wring::transport
