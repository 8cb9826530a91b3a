// SPDX-License-Identifier: BSD-3-Clause
// test_trace.cpp - where timelines go, and that they are JSON.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/trace.hpp"

namespace wring {
namespace {

TEST(Trace, EveryRankHasItsFile) {
  EXPECT_EQ(trace::file_of("run.json", 3), "run.3.json");
  EXPECT_EQ(trace::file_of("/a.b/run", 3), "/a.b/run.3");
  EXPECT_EQ(trace::file_of("/a.b/.run", 3), "/a.b/.run.3");
  EXPECT_EQ(trace::file_of("%r/run.json", 12), "12/run.json");
}

TEST(Trace, SaysThatItCannotWrite) { EXPECT_FALSE(trace::write("/nowhere/run.json", 0)); }

TEST(Trace, WritesWhatPerfettoReads) {
  trace::record({.name = "direct", .begin = 1, .end = 1.5, .lane = 2, .start = 3, .tile = 0, .peer = -1, .bytes = 4096, .row = trace::Span::Row::starts});
  trace::record({.name = "send", .begin = 1.1, .end = 1.2, .lane = 2, .start = 3, .tile = 7, .peer = 1, .bytes = 64, .row = trace::Span::Row::steps});
  const std::string pattern = testing::TempDir() + "/trace.json", name = trace::file_of(pattern, 5);
  ASSERT_TRUE(trace::write(pattern, 5));
  std::ifstream file(name);
  const auto all = nlohmann::json::parse(file);
  unlink(name.c_str());
  std::vector<nlohmann::json> spans;
  for (const auto& event : all.at("traceEvents")) {
    EXPECT_EQ(event.at("pid"), 5);
    if (event.at("ph") == "X") spans.push_back(event);
  }
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].at("name"), "direct");
  EXPECT_NEAR(spans[0].at("ts").get<double>(), 1e6, 1e-3);
  EXPECT_NEAR(spans[0].at("dur").get<double>(), 5e5, 1e-3);
  EXPECT_FALSE(spans[0].at("args").contains("peer"));
  EXPECT_EQ(spans[1].at("args").at("tile"), 7);
  EXPECT_EQ(spans[1].at("args").at("peer"), 1);
  EXPECT_NE(spans[0].at("tid"), spans[1].at("tid"));
}

}  // namespace
}  // namespace wring
