// SPDX-License-Identifier: BSD-3-Clause
// test_shm_group.cpp - shared memory between two members in one process: room, lifetime, and
// neighbours that write nonsense.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "transport/shm_group.hpp"

namespace wring::transport {
namespace {

constexpr std::uint64_t kContext = 7;

struct Frames final : Sink {
  bool on_message(const Message& m) noexcept override {
    sizes.push_back(m.payload_bytes);
    first.push_back(m.payload_bytes > 0 ? std::to_integer<int>(m.payload[0]) : -1);
    last_header.assign(m.header, m.header + kHeaderBytes);
    if (keep) kept.push_back(m.handle);
    return keep;
  }
  void on_sent(std::uint64_t, Status) noexcept override {}
  void on_peer_failed(int, Status) noexcept override {}

  bool keep = false;
  std::vector<std::size_t> sizes;
  std::vector<int> first;
  std::vector<std::byte> last_header;
  std::vector<void*> kept;
};

/// Two members, with a window of their own views each.
struct Pair {
  explicit Pair(bool with_slots = true, pid_t second = 0) {
    const std::string name = "/wring-unit-" + std::to_string(getpid());
    auto a = std::make_unique<ShmWindow>(2), b = std::make_unique<ShmWindow>(2);
    Status made = a->create(name.c_str(), with_slots), attached = b->attach(name.c_str());
    ShmWindow::unlink(name.c_str());
    if (!made.ok() || !attached.ok()) return;
    window = a.get();
    const std::vector<Member> members{{1, 0}, {2, second}};
    left = std::make_unique<ShmGroup>(std::move(a), members, 0, 1);
    right = std::make_unique<ShmGroup>(std::move(b), members, 1, 1);
    right->add_route(kContext, frames);
  }
  bool send(std::size_t bytes, int value) {
    std::byte header[kHeaderBytes];
    for (std::size_t i = 0; i < kHeaderBytes; ++i)
      header[i] = static_cast<std::byte>(i * 3 + (i > 30 ? static_cast<std::size_t>(value) : 0));
    std::memcpy(header + kContextOffset, &kContext, sizeof kContext);
    sent_header.assign(header, header + kHeaderBytes);
    const std::vector<std::byte> payload(bytes, static_cast<std::byte>(value));
    return left->send(1, header, payload.data(), bytes);
  }
  bool poll() { return right->poll(kContext, frames); }

  ShmWindow* window = nullptr;
  std::unique_ptr<ShmGroup> left, right;
  Frames frames;
  std::vector<std::byte> sent_header;
};

#define REQUIRE_SHM(pair) \
  if ((pair).window == nullptr) GTEST_SKIP() << "no shared memory here"

TEST(ShmGroup, FramesArriveWithTheirHeaders) {
  Pair pair;
  REQUIRE_SHM(pair);
  int n = 0;
  for (std::size_t bytes : {0ul, 1ul, 8ul, 48ul, 1024ul, 1025ul, kSlotPayload, 0ul, 8ul}) {
    ASSERT_TRUE(pair.send(bytes, ++n));
    EXPECT_TRUE(pair.poll());
    EXPECT_EQ(pair.frames.sizes.back(), bytes);
    EXPECT_EQ(pair.frames.first.back(), bytes > 0 ? n : -1);
    EXPECT_EQ(pair.frames.last_header, pair.sent_header);
  }
  EXPECT_FALSE(pair.poll());
  EXPECT_FALSE(pair.send(kSlotPayload + 1, 1));
}

TEST(ShmGroup, RoomRunsOutAndComesBack) {
  Pair pair;
  REQUIRE_SHM(pair);
  pair.frames.keep = true;
  for (int round = 0; round < 3; ++round) {
    std::size_t large = 0, small = 0;
    while (large <= kMostSlots && pair.send(5000, 1)) ++large;
    while (small <= kMailboxSlots && pair.send(5, 2)) ++small;
    EXPECT_GE(large, kFirstSlots);
    EXPECT_LE(large, kMostSlots);
    EXPECT_EQ(small, kMailboxSlots);
    pair.poll();
    EXPECT_EQ(pair.frames.kept.size(), large + small);
    // All are kept: nothing has come back.
    EXPECT_FALSE(pair.send(5, 3));
    for (void* handle : pair.frames.kept) EXPECT_TRUE(pair.right->release(handle));
    pair.frames.kept.clear();
  }
  int other = 0;
  EXPECT_FALSE(pair.right->release(&other));
}

TEST(ShmGroup, TheShortWayTakesWhatItExpectsAndNothingElse) {
  Pair pair;
  REQUIRE_SHM(pair);
  int value = 0;
  for (std::size_t bytes : {0ul, 8ul, 1024ul, 1025ul, 16384ul, 8ul}) {
    ++value;
    std::byte header[kHeaderBytes], other[kHeaderBytes];
    for (std::size_t i = 0; i < kHeaderBytes; ++i) header[i] = static_cast<std::byte>(value + static_cast<int>(i));
    std::memcpy(header + kContextOffset, &kContext, sizeof kContext);
    std::memcpy(other, header, sizeof other);
    other[kHeaderBytes - 1] ^= std::byte{1};
    const std::vector<std::byte> payload(bytes + 1, static_cast<std::byte>(value));
    void* handle = nullptr;
    EXPECT_EQ(pair.right->take(0, header, bytes, handle), nullptr);  // nothing has come
    ASSERT_TRUE(pair.left->send_all(header, payload.data(), bytes));
    EXPECT_EQ(pair.right->take(0, other, bytes, handle), nullptr);
    EXPECT_EQ(pair.right->take(0, header, bytes + 1, handle), nullptr);
    const std::byte* taken = pair.right->take(0, header, bytes, handle);
    ASSERT_NE(taken, nullptr);
    EXPECT_EQ(std::memcmp(taken, payload.data(), bytes), 0);
    EXPECT_TRUE(pair.right->release(handle));
    EXPECT_FALSE(pair.poll());  // it is gone

    ASSERT_TRUE(pair.left->send_all(header, payload.data(), bytes));  // and what was not taken is shown
    EXPECT_EQ(pair.right->take(0, other, bytes, handle), nullptr);
    const std::size_t shown = pair.frames.sizes.size();
    EXPECT_TRUE(pair.poll());
    ASSERT_EQ(pair.frames.sizes.size(), shown + 1);
    EXPECT_EQ(pair.frames.sizes.back(), bytes);
    EXPECT_EQ(std::memcmp(pair.frames.last_header.data(), header, kHeaderBytes), 0);
  }
}

TEST(ShmGroup, TheShortWayGivesRoomBack) {
  Pair pair;
  REQUIRE_SHM(pair);
  std::byte header[kHeaderBytes]{};
  std::memcpy(header + kContextOffset, &kContext, sizeof kContext);
  const std::vector<std::byte> payload(16384);
  for (std::size_t bytes : {std::size_t{8}, payload.size()}) {
    for (int round = 0; round < 3; ++round) {
      std::size_t sent = 0;
      while (sent <= kMostSlots && pair.left->send_all(header, payload.data(), bytes)) ++sent;
      EXPECT_GE(sent, kFirstSlots);
      EXPECT_LE(sent, kMostSlots);
      std::vector<void*> handles(sent);
      for (void*& handle : handles) ASSERT_NE(pair.right->take(0, header, bytes, handle), nullptr);
      EXPECT_FALSE(pair.left->send_all(header, payload.data(), bytes));
      for (void* handle : handles) EXPECT_TRUE(pair.right->release(handle));
    }
  }
}

TEST(ShmGroup, CountersWrapAround) {
  set_first_number(0u - 2 * kMostSlots);
  Pair pair;
  set_first_number(0);
  REQUIRE_SHM(pair);
  for (std::uint32_t i = 0; i < 6 * kMostSlots; ++i) {
    const int value = static_cast<int>(i % 200);
    ASSERT_TRUE(pair.send(i % 2 == 0 ? 20 : 2000, value));
    ASSERT_TRUE(pair.poll());
    ASSERT_EQ(pair.frames.sizes.size(), i + 1);
    ASSERT_EQ(pair.frames.first.back(), value);
    ASSERT_FALSE(pair.poll());
  }
}

TEST(ShmGroup, WithoutSlotsOnlySmallFrames) {
  Pair pair(false);
  REQUIRE_SHM(pair);
  EXPECT_TRUE(pair.send(kMailboxBytes, 1));
  EXPECT_FALSE(pair.send(kMailboxBytes + 1, 1));
  EXPECT_TRUE(pair.poll());
}

TEST(ShmGroup, NonsenseOfANeighbourIsHarmless) {
  Pair pair;
  REQUIRE_SHM(pair);
  Lane& lane = pair.window->lane(0, 1);
  // A slot that does not exist: the frame is lost. A length beyond the slot: nothing of it is
  // shown.
  ASSERT_TRUE(pair.send(2000, 1));
  lane.parcels[0].slot = 1u << 30;
  pair.poll();
  EXPECT_TRUE(pair.frames.sizes.empty());
  ASSERT_TRUE(pair.send(2000, 1));
  lane.parcels[1].bytes = 0xffffffff;
  pair.poll();
  ASSERT_EQ(pair.frames.sizes.size(), 1u);
  EXPECT_EQ(pair.frames.sizes[0], 0u);
  // The same of a mailbox, and bits for words that a header does not have.
  ASSERT_TRUE(pair.send(20, 1));
  lane.mailbox.slots[0].bytes = 0xffff;
  lane.mailbox.slots[0].changed = 0xffff;
  pair.poll();
  EXPECT_TRUE(pair.frames.sizes.size() == 1 || pair.frames.sizes[1] == 0);
  // A count of frames taken that was never sent: the mailbox counts as full or empty, nothing more.
  for (std::uint32_t taken : {0x80000000u, 0xffffffffu, 12345u}) {
    lane.mailbox.taken.store(taken);
    for (int i = 0; i < 20; ++i) (void)pair.send(20, 1);
    pair.poll();
  }
}

TEST(ShmGroup, ProcessThatHasEndedIsKnown) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_GT(child, 0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  {
    Pair pair(true, child);
    REQUIRE_SHM(pair);
    EXPECT_TRUE(pair.left->dead(1)) << "it has ended, though its parent has not asked for it";
  }
  {
    Pair pair(true, getpid());
    REQUIRE_SHM(pair);
    EXPECT_FALSE(pair.left->dead(1));
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  Pair pair(true, child);
  REQUIRE_SHM(pair);
  EXPECT_TRUE(pair.left->dead(1));
  EXPECT_FALSE(pair.left->dead(0));  // its number means nothing here
}

/// Sleeps that would outlast the limit of this program.
constexpr int kForEver = 2'000'000'000;

TEST(ShmGroup, SleepEndsWhenAFrameHasCome) {
  Pair pair;
  REQUIRE_SHM(pair);
  ASSERT_TRUE(pair.send(8, 1));
  pair.right->sleep(kForEver);
  EXPECT_TRUE(pair.poll());

  for (std::size_t bytes : {8ul, 8000ul}) {
    std::thread sleeper([&] { pair.right->sleep(kForEver); });
    while (pair.window->desk(1).asleep.load() == 0) std::this_thread::yield();
    ASSERT_TRUE(pair.send(bytes, 1));
    sleeper.join();
    EXPECT_TRUE(pair.poll());
  }
  pair.right->sleep(1000);
  EXPECT_FALSE(pair.right->has_frame());
}

}  // namespace
}  // namespace wring::transport
