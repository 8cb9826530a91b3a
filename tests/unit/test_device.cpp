// SPDX-License-Identifier: BSD-3-Clause
// test_device.cpp - the host device and the pool of staging buffers.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "device/device.hpp"

namespace wring::device {
namespace {

TEST(Device, HostOwnsWhatNobodyElseOwns) {
  int x = 0;
  EXPECT_STREQ(owner_of(&x).name, "host");
  EXPECT_EQ(all().back(), &host());
  EXPECT_STREQ(owner_of(nullptr).name, "host");
}

TEST(Pool, GivesTheSameBufferAgain) {
  Pool pool(host());
  std::byte* a = pool.acquire(1000);
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a) % 64, 0u);
  std::memset(a, 1, 1000);
  const std::size_t footprint = pool.footprint();
  EXPECT_GE(footprint, 1000u);
  EXPECT_LE(footprint, 2048u);
  pool.release(a, 1000);
  EXPECT_EQ(pool.acquire(1024), a);
  EXPECT_EQ(pool.footprint(), footprint);
  pool.release(a, 1024);
  pool.trim();
  EXPECT_EQ(pool.footprint(), 0u);
}

TEST(Pool, TwoHoldersHaveTwoBuffers) {
  Pool pool(host());
  std::byte* a = pool.acquire(4096);
  std::byte* b = pool.acquire(4096);
  EXPECT_NE(a, b);
  pool.release(a, 4096);
  pool.release(b, 4096);
}

TEST(Pool, SaysSoWhenThereIsNoMemory) {
  static constexpr auto none = [](std::size_t) noexcept -> void* { return nullptr; };
  Device empty = host();
  empty.allocate = none;
  Pool pool(empty);
  EXPECT_EQ(pool.acquire(64), nullptr);
  EXPECT_EQ(pool.acquire(std::size_t{1} << 60), nullptr);
  EXPECT_EQ(pool.footprint(), 0u);
}

}  // namespace
}  // namespace wring::device
