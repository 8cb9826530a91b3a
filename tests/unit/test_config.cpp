// SPDX-License-Identifier: BSD-3-Clause
// test_config.cpp - the table of environment variables and the sizes in it.
#include "base/config.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <set>
#include <string>

namespace wring {
namespace {

constexpr std::uint64_t kInf = std::numeric_limits<std::uint64_t>::max();

/// Sets an environment variable for the life of the object.
class ScopedEnv {
 public:
  ScopedEnv(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old, had_ = true;
    setenv(name, value, 1);
  }
  ~ScopedEnv() {
    if (had_) {
      setenv(name_, old_.c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  ScopedEnv(const ScopedEnv&) = delete;
  ScopedEnv& operator=(const ScopedEnv&) = delete;

 private:
  const char* name_;
  std::string old_;
  bool had_ = false;
};

TEST(ParseBytes, TakesPlainAndScaledNumbers) {
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("1000"), 1000u);
  EXPECT_EQ(parse_bytes("7b"), 7u);
  EXPECT_EQ(parse_bytes("4k"), 4096u);
  EXPECT_EQ(parse_bytes("4K"), 4096u);
  EXPECT_EQ(parse_bytes("64KiB"), 65536u);
  EXPECT_EQ(parse_bytes("64kb"), 65536u);
  EXPECT_EQ(parse_bytes("1m"), 1u << 20);
  EXPECT_EQ(parse_bytes("3g"), std::uint64_t{3} << 30);
  EXPECT_EQ(parse_bytes("inf"), kInf);
}

TEST(ParseBytes, RefusesAnythingElse) {
  for (const char* text : {"", " ", "k", "-1", "+1", "1.5k", "1t", "1kk", "4 k", "4k ", "0x10",
                           "bb", "1bb", "1biB", "infinite", "18446744073709551616"}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << '"' << text << '"';
  }
}

TEST(ParseBytes, RefusesWhatOverflowsWhenScaled) {
  EXPECT_EQ(parse_bytes("17179869183g"), std::uint64_t{17179869183} << 30);
  EXPECT_EQ(parse_bytes("17179869184g"), std::nullopt);
}

TEST(FormatBytes, GivesTheShortestExactForm) {
  EXPECT_EQ(format_bytes(0), "0");
  EXPECT_EQ(format_bytes(1000), "1000");
  EXPECT_EQ(format_bytes(1024), "1k");
  EXPECT_EQ(format_bytes(1025), "1025");
  EXPECT_EQ(format_bytes(4096), "4k");
  EXPECT_EQ(format_bytes(1536 * 1024), "1536k");
  EXPECT_EQ(format_bytes(1 << 20), "1m");
  EXPECT_EQ(format_bytes(std::uint64_t{5} << 30), "5g");
  EXPECT_EQ(format_bytes(kInf), "inf");
}

TEST(FormatBytes, IsReadBackByParseBytes) {
  for (std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1023},
                              std::uint64_t{1} << 63, kInf - 1, kInf}) {
    EXPECT_EQ(parse_bytes(format_bytes(bytes)), bytes);
  }
}

TEST(ConfigTable, RowsAreCompleteAndNamesUnique) {
  std::set<std::string> names;
  for (const ConfigVar& var : config_table()) {
    EXPECT_TRUE(std::string(var.name).starts_with("WRING_")) << var.name;
    EXPECT_TRUE(names.insert(var.name).second) << var.name << " is there twice";
    EXPECT_STRNE(var.doc, "") << var.name;
  }
  EXPECT_TRUE(names.contains("WRING_LOG"));
}

TEST(ReadConfig, DefaultsAreThoseOfTheTable) {
  for (const ConfigVar& var : config_table()) unsetenv(var.name);
  Config c = read_config();
  EXPECT_EQ(c.algorithm, "auto");
  EXPECT_EQ(c.segment, 0u);
  EXPECT_EQ(c.timeout, 0.0);
  EXPECT_FALSE(c.checksum);
}

TEST(ReadConfig, ValuesComeFromTheEnvironment) {
  ScopedEnv algorithm("WRING_ALGORITHM", "ring");
  ScopedEnv segment("WRING_SEGMENT", "256k");
  ScopedEnv timeout("WRING_TIMEOUT", "2.5");
  ScopedEnv checksum("WRING_CHECKSUM", "on");
  Config c = read_config();
  EXPECT_EQ(c.algorithm, "ring");
  EXPECT_EQ(c.segment, 256u * 1024);
  EXPECT_EQ(c.timeout, 2.5);
  EXPECT_TRUE(c.checksum);
}

TEST(ReadConfig, TextThatDoesNotParseWarnsAndKeepsTheDefault) {
  for (const char* bad : {"-1", "soon", "1s", "nan"}) {
    ScopedEnv timeout("WRING_TIMEOUT", bad);
    testing::internal::CaptureStderr();
    EXPECT_EQ(read_config().timeout, 0.0);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("WRING_TIMEOUT"), std::string::npos);
  }
}

TEST(ReadConfig, AnEmptyValueMeansTheDefaultWithoutAWarning) {
  ScopedEnv timeout("WRING_TIMEOUT", "");
  testing::internal::CaptureStderr();
  EXPECT_EQ(read_config().timeout, 0.0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(FormatSeconds, ThreeDigits) {
  for (const auto& [seconds, text] :
       {std::pair{0.0, "0.00 ns"}, {1e-9, "1.00 ns"}, {0.9994e-6, "999 ns"}, {0.9996e-6, "1.00 us"}, {12.34e-6, "12.3 us"},
        {9.996e-6, "10.0 us"}, {99.96e-3, "100 ms"}, {0.83, "830 ms"}, {1.5, "1.50 s"}, {12345.0, "12345 s"}}) {
    EXPECT_EQ(format_seconds(seconds), text);
  }
}

}  // namespace
}  // namespace wring
