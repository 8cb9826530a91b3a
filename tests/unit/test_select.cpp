// SPDX-License-Identifier: BSD-3-Clause
// test_select.cpp - the cost model's choices and predictions, against what was measured.
#include <gtest/gtest.h>

#include <chrono>

#include "plan/select.hpp"
#include "plan_problems.hpp"

namespace wring::plan {
namespace {

std::string name_of_choice(const Choice& c) {
  return std::string(c.algorithm->name) + " + " + c.codec.codec->name;
}

/// The hosts of docs/performance.md: links of 1 Gbit/s, of which headers of tcp and IP take 3 %;
/// two hosts share a processor where there are four.
Settings gigabit(double sharing) {
  Settings s;
  s.network.between_nodes.bandwidth = 0.97 * 125e6;
  s.processor.sharing = sharing;
  return s;
}

TEST(Select, BuiltInDefaults) {
  for (int size : {2, 4, 8, 16, 32, 64}) {
    for (const char* codec : {"none", "bf16", "int8", "int4"}) {
      for (std::uint64_t bytes : {8u, 1024u, 8192u}) {
        const bool few = size == 4 && bytes > 8;  // two frames more, and a round less
        EXPECT_EQ(name_of_choice(choose(sum_of_bytes(size, bytes, codec), {})),
                  few ? "one_shot + none" : "recursive_doubling + none")
            << size << " ranks, " << bytes << ' ' << codec;
      }
    }
    for (std::uint64_t bytes : {std::uint64_t{64} << 20, std::uint64_t{1} << 30}) {
      SCOPED_TRACE(testing::Message() << size << " ranks, " << bytes);
      EXPECT_EQ(name_of_choice(choose(sum_of_bytes(size, bytes, "none"), {})), "ring + none");
      EXPECT_EQ(name_of_choice(choose(sum_of_bytes(size, bytes, "none", Dtype::f64), {})),
                "ring + none");
      EXPECT_EQ(name_of_choice(choose(sum_of_bytes(size, bytes, "none", Dtype::f16), {})),
                "direct + none");
      EXPECT_EQ(name_of_choice(choose(sum_of_bytes(size, bytes, "none", Dtype::bf16), {})),
                "direct + none");
      for (const char* codec : {"fp16", "bf16", "int8", "int4"}) {
        EXPECT_EQ(name_of_choice(choose(sum_of_bytes(size, bytes, codec), {})),
                  std::string("direct + ") + codec);
      }
    }
  }
}

TEST(Select, PredictionsAgreeWithMeasurements) {
  const struct {
    int hosts;
    std::uint64_t bytes;
    const char* codec;
    double milliseconds;
  } measured[] = {
      {4, 64 << 20, "none", 829}, {4, 64 << 20, "bf16", 414},  {4, 64 << 20, "int8", 212},
      {4, 64 << 20, "int4", 116}, {4, 8 << 20, "none", 101.5}, {4, 8 << 20, "int8", 26.6},
      {4, 2 << 20, "none", 25.2}, {4, 2 << 20, "int8", 6.5},   {2, 64 << 20, "none", 542},
      {2, 64 << 20, "int8", 140},
  };
  for (const auto& m : measured) {
    const Choice c = choose(sum_of_bytes(m.hosts, m.bytes, m.codec), gigabit(m.hosts / 2));
    EXPECT_NEAR(c.seconds * 1e3, m.milliseconds, 0.05 * m.milliseconds)
        << m.hosts << " hosts, " << m.bytes << ' ' << m.codec;
  }
  EXPECT_NEAR(choose(sum_of_bytes(2, 8, "none"), gigabit(1)).seconds, 10.4e-6, 1e-6);
}

TEST(Select, CostsGrowWithTheMessage) {
  for (int size : {2, 5, 16}) {
    for (const char* codec : {"none", "int8"}) {
      const Problem p = sum_of_bytes(size, 4, codec);
      const Settings settings;
      CostModel model(p, settings);
      for (const algorithm::Algorithm* a : algorithm::all()) {
        double last = 0;
        for (std::uint64_t bytes = 8; bytes <= 1 << 30; bytes += bytes / 4) {
          const double now = model.seconds({a, p.codec, 128 << 10}, bytes);
          EXPECT_GE(now, last * (1 - 1e-9))
              << a->name << ", " << size << " ranks, " << bytes << ' ' << codec;
          last = now;
        }
      }
    }
  }
}

TEST(Select, ShortWayIsWorthMoreThanSlices) {
  Settings s;
  for (const int size : {2, 3, 4, 8}) {
    Problem p = sum_of_bytes(size, 4096, "none");
    p.nodes = algorithm::Nodes::blocks(size, size);
    const Candidate one_shot{algorithm::find("one_shot"), p.codec, 128 << 10}, ring{algorithm::find("ring"), p.codec, 128 << 10};
    s.network.short_way.most = 0;
    CostModel without(p, s);
    const double before = without.seconds(one_shot, 4096), ring_before = without.seconds(ring, 4096);
    s.network.short_way.most = 4096;
    CostModel with(p, s);
    EXPECT_LT(with.seconds(one_shot, 4096), before) << size;
    EXPECT_EQ(with.seconds(ring, 4096), ring_before) << size;
    EXPECT_EQ(with.seconds(one_shot, 8192), without.seconds(one_shot, 8192)) << "is too long for it";
    // Checksums have to be computed on the way.
    s.checksum = true;
    EXPECT_EQ(CostModel(p, s).seconds(one_shot, 4096), before);
    s.checksum = false;
    if (size == 2) {
      EXPECT_EQ(name_of_choice(choose(p, s)), "recursive_doubling + none");
    }
  }
}

TEST(Select, SaysWhenRawWouldWin) {
  Settings fast;
  fast.network.between_nodes = {.latency = 1e-6, .bandwidth = 50e9, .overhead = 0.2e-6};
  Problem p = sum_of_bytes(4, 64 << 20, "bf16");
  const Choice asked = choose(p, fast);
  EXPECT_EQ(name_of_choice(asked), "direct + bf16") << "the request is the caller's";
  EXPECT_LT(asked.raw_seconds, asked.seconds);
  EXPECT_NE(make_plan(p, fast, 0).describe().find("raw would take"), std::string::npos);
  EXPECT_EQ(make_plan(p, gigabit(1), 0).describe().find("raw would take"), std::string::npos);
  // Where the codec is a mere permission, raw goes.
  p.codec.optional = true;
  EXPECT_EQ(choose(p, fast).codec.codec->name, std::string("none"));
  EXPECT_EQ(choose(p, gigabit(1)).codec.codec->name, std::string("bf16"));
  // Under an algorithm that the user has set, too.
  fast.algorithm = algorithm::find("ring");
  EXPECT_EQ(choose(p, fast).codec.codec->name, std::string("none"));
  p.codec.optional = false;
  EXPECT_EQ(choose(p, fast).codec.codec->name, std::string("bf16"));
  p.codec.optional = true;
  EXPECT_NE(make_plan(p, gigabit(1), 0).detail,
            make_plan(sum_of_bytes(4, 64 << 20, "bf16"), gigabit(1), 0).detail);
}

TEST(Select, LossyCodecsRoundTwiceAtMost) {
  for (int size = 2; size <= 40; ++size) {
    for (std::uint64_t bytes = 1 << 20; bytes <= 64 << 20; bytes *= 8) {
      const Choice c = choose(sum_of_bytes(size, bytes, "int8"), {});
      EXPECT_TRUE(c.codec.lossy());
      EXPECT_LE(c.algorithm->lossy_hops(size), 2) << size << " ranks, " << bytes;
    }
  }
}

TEST(Select, ManyRanksWithShortSharesGoRaw) {
  // 4096 ranks, each with 256 bytes of the vector: two frames for every rank beat no latency.
  const Problem p = sum_of_bytes(4096, 1 << 20, "int8");
  const Choice c = choose(p, {});
  EXPECT_STREQ(c.codec.codec->name, "none");
  EXPECT_NE(std::string(c.reason).find("raw"), std::string::npos);
  EXPECT_TRUE(choose(sum_of_bytes(4096, 1 << 30, "int8"), {}).codec.lossy());
}

TEST(Select, RanksOfANodeShareItsLink) {
  Settings direct;
  direct.algorithm = algorithm::find("direct");
  const Problem p = sum_of_bytes(16, 1 << 24, "none");
  EXPECT_NEAR(choose(on_nodes(p, 4), direct).seconds / choose(p, direct).seconds, 4 * 12 / 15.0,
              0.2);
  EXPECT_LT(choose(on_nodes(sum_of_bytes(4, 1 << 24, "none"), 4), {}).seconds,
            0.5 * choose(sum_of_bytes(4, 1 << 24, "none"), {}).seconds)
      << "four ranks are all of one node";
}

TEST(Select, HierarchicalWhereRanksShareNodes) {
  for (int nodes : {2, 4, 8}) {
    for (int ranks : {2, 4, 8}) {
      for (const char* codec : {"bf16", "int8"}) {
        const Problem p = sum_of_bytes(nodes * ranks, 64 << 20, codec);
        SCOPED_TRACE(testing::Message() << nodes << " nodes of " << ranks << ' ' << codec);
        const Choice on = choose(on_nodes(p, ranks), {});
        EXPECT_EQ(name_of_choice(on), std::string("hierarchical + ") + codec);
        // Each link carries what one rank alone on a node would send.
        const Choice alone = choose(sum_of_bytes(nodes, 64 << 20, codec), {});
        EXPECT_LT(on.seconds, 1.2 * alone.seconds);
        // Where nodes make no difference, neither does it.
        EXPECT_EQ(name_of_choice(choose(p, {})), std::string("direct + ") + codec);
        EXPECT_EQ(name_of_choice(choose(on_nodes(p, nodes * ranks), {})),
                  std::string("direct + ") + codec);
      }
    }
  }
  for (const Rule& rule : shortlist(sum_of_bytes(8, 1 << 20, "int8"), {})) {
    EXPECT_STRNE(rule.algorithm->name, "hierarchical");
  }
  bool listed = false;
  for (const Rule& rule : shortlist(on_nodes(sum_of_bytes(8, 1 << 20, "int8"), 4), {})) {
    listed = listed || rule.algorithm == algorithm::find("hierarchical");
  }
  EXPECT_TRUE(listed);
}

TEST(Select, SegmentOfTheUserIsTaken) {
  Settings s;
  s.segment_bytes = 40000;
  EXPECT_EQ(choose(sum_of_bytes(4, 1 << 24, "none"), s).segment_bytes, 40000u);
  EXPECT_EQ(make_plan(sum_of_bytes(4, 1 << 24, "none"), s, 1).geometry.segment, 10000u);
}

TEST(Select, IsCheap) {
  // Well below a millisecond where nothing disturbs; a wide margin for sanitizers and busy
  // machines.
  const Problem p = sum_of_bytes(64, 1 << 20, "none");
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) EXPECT_NE(choose(p, {}).algorithm, nullptr);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count() / 10, 0.1);
}

}  // namespace
}  // namespace wring::plan
