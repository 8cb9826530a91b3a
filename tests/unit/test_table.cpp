// SPDX-License-Identifier: BSD-3-Clause
// test_table.cpp - tuning tables as text (golden files), as tuning files and back, and links as
// text.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "plan/select.hpp"
#include "plan/table.hpp"
#include "plan_problems.hpp"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

namespace wring::plan {
namespace {

constexpr std::uint64_t kAnyBytes = 8;  // tables are for all counts

/// Settings for those links. Problems say themselves how many ranks share a node.
Settings settings_of(const char* net) {
  Settings s;
  int ranks_per_node = 1;
  EXPECT_TRUE(parse_network(net, s.network, ranks_per_node).ok());
  EXPECT_EQ(ranks_per_node, 1);
  return s;
}

/// The file of that name in tests/golden, or what an update run makes of it.
void expect_golden(const std::string& name, const std::string& text) {
  const char* source = std::getenv("srcdir");
  const std::string path = std::string(source ? source : ".") + "/tests/golden/" + name;
  if (std::getenv("WRING_UPDATE_GOLDEN")) std::ofstream(path, std::ios::binary) << text;
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path;
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(in), {})) << path;
}

TEST(TableGolden, Choices) {
  const struct {
    const char* file;
    Problem problem;
    const char* net;
  } cases[] = {
      {"plan_2_fp32_none.txt", sum_of_bytes(2, kAnyBytes, "none"), ""},
      {"plan_4_fp32_none.txt", sum_of_bytes(4, kAnyBytes, "none"), ""},
      {"plan_16_fp32_none.txt", sum_of_bytes(16, kAnyBytes, "none"), ""},
      {"plan_16_bf16_none.txt", sum_of_bytes(16, kAnyBytes, "none", Dtype::bf16), ""},
      {"plan_16_fp32_bf16.txt", sum_of_bytes(16, kAnyBytes, "bf16"), ""},
      {"plan_12_fp64_int8.txt", sum_of_bytes(12, kAnyBytes, "int8", Dtype::f64), ""},
      {"plan_4_fp32_int8_1gbit.txt", sum_of_bytes(4, kAnyBytes, "int8"), "lat=5us,bw=1Gbit/s"},
      {"plan_4_fp32_int8_fast.txt", sum_of_bytes(4, kAnyBytes, "int8"), "lat=1us,bw=100GB/s"},
      {"plan_4096_fp32_none.txt", sum_of_bytes(4096, kAnyBytes, "none"), "lat=2us,bw=12.5GB/s"},
      {"plan_3000_fp32_int4.txt", sum_of_bytes(3000, kAnyBytes, "int4"), "lat=2us,bw=12.5GB/s"},
      {"plan_4x4_fp32_none.txt", on_nodes(sum_of_bytes(16, kAnyBytes, "none"), 4), ""},
      {"plan_4x4_fp32_bf16.txt", on_nodes(sum_of_bytes(16, kAnyBytes, "bf16"), 4), ""},
      {"plan_4x4_bf16_none.txt", on_nodes(sum_of_bytes(16, kAnyBytes, "none", Dtype::bf16), 4), ""},
      {"plan_16x4_fp32_int8_fast.txt", on_nodes(sum_of_bytes(64, kAnyBytes, "int8"), 4), "lat=2us,bw=12.5GB/s"},
  };
  for (const auto& c : cases) {
    const Table table = make_table(c.problem, settings_of(c.net));
    expect_golden(c.file, to_text(table));
  }
}

TEST(Table, CoversEverySizeOnceWithWhatChooseSays) {
  Settings settings = settings_of("");
  ASSERT_TRUE(parse_rules("100-1000:tree;5m-6m:ring+none", settings.rules).ok());
  Problem p = sum_of_bytes(5, kAnyBytes, "int8");
  const Table table = make_table(p, settings);
  std::uint64_t next = 0;
  for (const Table::Entry& e : table.entries) {
    EXPECT_EQ(e.min_bytes, next);
    EXPECT_LT(e.min_bytes, e.max_bytes);
    next = e.max_bytes;
    for (const std::uint64_t bytes : {std::max<std::uint64_t>(4, e.min_bytes), e.max_bytes - 4}) {
      if (bytes > 1 << 30) continue;
      p.count = bytes / 4;
      const Choice c = choose(p, settings);
      EXPECT_EQ(c.algorithm, e.choice.algorithm) << bytes;
      EXPECT_EQ(c.codec, e.choice.codec) << bytes;
      EXPECT_EQ(c.segment_bytes, e.choice.segment_bytes) << bytes;
    }
  }
  EXPECT_EQ(next, ~std::uint64_t{0});
  EXPECT_NE(to_text(table).find("tuning rule of the user"), std::string::npos);
}

TEST(Network, AsText) {
  Network n;
  int ranks = 1;
  ASSERT_TRUE(parse_network("lat=2us,bw=12.5GB/s,overhead=300ns,node=8", n, ranks).ok());
  EXPECT_DOUBLE_EQ(n.between_nodes.latency, 2e-6);
  EXPECT_DOUBLE_EQ(n.between_nodes.bandwidth, 12.5e9);
  EXPECT_DOUBLE_EQ(n.between_nodes.overhead, 300e-9);
  EXPECT_EQ(ranks, 8);
  ASSERT_TRUE(parse_network("bw=1Gbit/s", n, ranks).ok());
  EXPECT_DOUBLE_EQ(n.between_nodes.latency, 2e-6);
  EXPECT_DOUBLE_EQ(n.between_nodes.bandwidth, 125e6);
  EXPECT_DOUBLE_EQ(n.between_nodes.overhead, 300e-9);
  ASSERT_TRUE(parse_network("lat=0.004ms", n, ranks).ok());
  EXPECT_EQ(n.between_nodes.overhead, n.between_nodes.latency / 4);
  const Network before = n;
  for (const char* bad :
       {"lat", "lat=", "lat=2", "lat=-2us", "lat=2GB/s", "bw=2us", "bw=0GB/s", "latency=2us",
        "lat=2us,bw=x", "lat=nanus", "node=0", "node=1.5", "=2us"}) {
    const Status status = parse_network(bad, n, ranks);
    EXPECT_EQ(status.code(), Code::invalid_arg) << bad;
    EXPECT_EQ(n, before) << bad;
    EXPECT_EQ(ranks, 8) << bad;
  }
}

#if HAVE_JSON

TEST(TuningFile, WhatIsWrittenIsRead) {
  const Problem p = sum_of_bytes(16, kAnyBytes, "bf16");
  const Table table = make_table(p, settings_of("lat=2us,bw=12.5GB/s"));
  Settings from_file;  // of another network: the file decides
  ASSERT_TRUE(load_table(to_json(table), from_file.table).ok());
  ASSERT_EQ(from_file.table.size(), table.entries.size());
  for (std::size_t i = 0; i < table.entries.size(); ++i) {
    Problem q = p;
    q.count = std::max<std::uint64_t>(1, table.entries[i].min_bytes / 4);
    const Choice c = choose(q, from_file);
    EXPECT_EQ(c.algorithm, table.entries[i].choice.algorithm);
    EXPECT_EQ(c.codec, table.entries[i].choice.codec);
    EXPECT_EQ(c.segment_bytes, table.entries[i].choice.segment_bytes);
    EXPECT_STREQ(c.reason, "tuning table of the user");
  }
  // It is for these ranks, type and codec only.
  for (const Problem& other :
       {sum_of_bytes(15, kAnyBytes, "bf16"), sum_of_bytes(16, kAnyBytes, "bf16", Dtype::f64), sum_of_bytes(16, kAnyBytes, "int8")}) {
    EXPECT_STRNE(choose(other, from_file).reason, "tuning table of the user");
  }
}

std::string file_of(const std::string& entry) {
  return "{\n  \"format\": \"wring-tuning\", \"version\": 1,\n  \"tables\": [\n    {\"ranks\": 4,\n"
         "     \"entries\": [\n      {\"from\": 0, \"to\": 10, \"algorithm\": \"tree\"},\n      " +
         entry + "\n     ]}\n  ]\n}\n";
}

TEST(TuningFile, RulesComeFirstAndExactCallsStayExact) {
  Settings s;
  ASSERT_TRUE(
      load_table(file_of(R"({"from": 10, "algorithm": "ring", "codec": "int8", "segment": 4096})"),
                 s.table)
          .ok());
  ASSERT_EQ(s.table.size(), 2u);
  Problem p = sum_of_bytes(4, kAnyBytes, "none");
  p.count = 1000;
  EXPECT_STREQ(choose(p, s).algorithm->name, "ring");
  EXPECT_STREQ(choose(p, s).codec.codec->name, "none");
  EXPECT_EQ(make_plan(p, s, 0).geometry.segment, 1024u);
  ASSERT_TRUE(parse_rules("0-inf:direct", s.rules).ok());
  EXPECT_STREQ(choose(p, s).algorithm->name, "direct");
}

TEST(TuningFile, FaultsAreNamedWithLineAndReason) {
  const struct {
    std::string text, line, reason;
  } bad[] = {
      {"", "line 1", "not JSON"},
      {"{\n\"format\": \"wring-tuning\",\n\"version\": 1,\n\"tables\": [}", "line 4", "not JSON"},
      {"[]", "line 1", "not an object"},
      {"{\"version\": 1,\n\"tables\": []}", "line 1", "has no member \"format\""},
      {"{\"format\": \"x\",\n\"version\": 1, \"tables\": []}", "line 1", "format"},
      {"{\"format\": \"wring-tuning\",\n\"version\": 2, \"tables\": []}", "line 2", "version"},
      {"{\"format\": \"wring-tuning\",\n\"version\": 1,\n\"tables\": 7}", "line 3",
       "tables is not an array"},
      {file_of(R"({"from": 0, "algorithm": "rign"})"), "line 7",
       "tables[0].entries[1].algorithm is not an algorithm"},
      {file_of(R"({"from": 0, "algorithm": 3})"), "line 7", "is not a string"},
      {file_of(R"({"algorithm": "ring"})"), "line 7", "has no member \"from\""},
      {file_of(R"({"from": -1, "algorithm": "ring"})"), "line 7", "from is not a whole number"},
      {file_of(R"({"from": 1.5, "algorithm": "ring"})"), "line 7", "from is not a whole number"},
      {file_of("{\"from\": 8,\n\"to\": 8, \"algorithm\": \"ring\"}"), "line 8", "to is not above"},
      {file_of("{\"from\": 8,\n\"algorithm\": \"ring\",\n\"codec\": \"int9\"}"), "line 9", "int9"},
      {file_of("{\"from\": 8, \"algorithm\": \"ring\",\n\"segments\": 8}"), "line 8",
       "segments is not known"},
      {file_of("7"), "line 7", "entries[1] is not an object"},
      {"{\"format\": \"wring-tuning\", \"version\": 1, \"tables\": [{\"type\": \"a \\\" "
       "]\",\n\"entries\": []}]}",
       "line 1", "is not one of"},
      {"{\"format\": \"wring-tuning\", \"version\": 1, \"tables\": [{\"ranks\": 2, \"entries\": "
       "[]},\n"
       "{\"codec\": \"int8\", \"network\": {\"a\": [1, {}, \"}\"]},\n\"ranks\": 0, \"entries\": "
       "[]}]}",
       "line 3", "tables[1].ranks is not a number of ranks"},
  };
  for (const auto& b : bad) {
    std::vector<Rule> rules(1);
    const Status status = load_table(b.text, rules);
    EXPECT_EQ(status.code(), Code::invalid_arg) << b.text;
    EXPECT_EQ(std::string(status.what()).rfind(b.line + ":", 0), 0u) << status.what() << "\nin\n"
                                                                     << b.text;
    EXPECT_NE(std::string(status.what()).find(b.reason), std::string::npos) << status.what();
    EXPECT_EQ(rules.size(), 1u) << "output changed on failure";
  }
}

TEST(TuningFile, EveryCutIsRefused) {
  const std::string whole = to_json(make_table(sum_of_bytes(3, kAnyBytes, "int8"), {}));
  for (std::size_t n = 0; n + 2 < whole.size(); n += 7) {
    std::vector<Rule> rules;
    EXPECT_EQ(load_table(whole.substr(0, n), rules).code(), Code::invalid_arg) << n;
  }
}

#endif

TEST(TuningFile, MissingFileIsNamed) {
  std::string text = "as before";
  const Status status = read_text("/no/such/file.json", text);
  EXPECT_EQ(status.code(), Code::invalid_arg);
  EXPECT_NE(std::string(status.what()).find("/no/such/file.json"), std::string::npos);
  EXPECT_EQ(text, "as before");
}

}  // namespace
}  // namespace wring::plan
