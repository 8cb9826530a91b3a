// SPDX-License-Identifier: BSD-3-Clause
// test_status.cpp - Status, fail() and WRING_TRY.
#include "base/status.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace wring {
namespace {

static_assert(sizeof(Status) <= 16);

TEST(Status, DefaultIsOk) {
  Status s;
  EXPECT_TRUE(s.ok());
  EXPECT_FALSE(s.again());
  EXPECT_FALSE(s.is_error());
}

TEST(Status, AgainIsNeitherOkNorAnError) {
  EXPECT_FALSE(kAgain.ok());
  EXPECT_TRUE(kAgain.again());
  EXPECT_FALSE(kAgain.is_error());
}

TEST(Status, FailKeepsCodeDetailAndFormattedText) {
  Status s = fail(Code::mismatch, 7, "rank %d: count %llu", 3, 12ULL);
  EXPECT_TRUE(s.is_error());
  EXPECT_EQ(s.code(), Code::mismatch);
  EXPECT_EQ(s.detail(), 7);
  EXPECT_STREQ(s.what(), "rank 3: count 12");
}

TEST(Status, FailCutsLongTexts) {
  std::string text(2000, 'x');
  Status s = fail(Code::internal, 0, "%s", text.c_str());
  EXPECT_EQ(std::string(s.what()), std::string(511, 'x'));
}

TEST(Status, FailUsesABufferOfEachThread) {
  Status mine = fail(Code::internal, 0, "mine");
  std::thread([] { (void)fail(Code::internal, 0, "other"); }).join();
  EXPECT_STREQ(mine.what(), "mine");
}

Status pass_on(Status s, bool& reached) {
  WRING_TRY(s);
  reached = true;
  return {};
}

TEST(Status, TryReturnsWhatIsNotOkAndGoesOnOtherwise) {
  bool reached = false;
  EXPECT_EQ(pass_on(Status(Code::no_memory, "none left"), reached).code(), Code::no_memory);
  EXPECT_FALSE(reached);
  EXPECT_TRUE(pass_on(kAgain, reached).again());
  EXPECT_FALSE(reached);
  EXPECT_TRUE(pass_on({}, reached).ok());
  EXPECT_TRUE(reached);
}

}  // namespace
}  // namespace wring
