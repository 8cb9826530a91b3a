// SPDX-License-Identifier: BSD-3-Clause
// test_simulate.cpp - simulated times against textbook formulae, and against each other.
#include <gtest/gtest.h>

#include "codec/frame.hpp"
#include "common/placements.hpp"
#include "plan/simulate.hpp"
#include "plan/staging.hpp"

namespace wring::plan {
namespace {

constexpr double kNever = 1e30;  // as a rate: costs nothing
constexpr Processor kFree{.copy_rate = kNever, .add_rate = kNever, .sharing = 1};
constexpr Link kLink{.latency = 5e-6, .bandwidth = 1e9, .overhead = 0};
constexpr double kHeader = static_cast<double>(codec::kHeaderBytes);

codec::Spec spec_of(const char* text) {
  codec::Spec spec;
  EXPECT_TRUE(codec::parse(text, spec).ok());
  return spec;
}

struct Scenario {
  const char* algorithm;
  int size;
  std::uint64_t bytes;  ///< of fp32
  const char* codec = "none";
  std::uint64_t segment = 1 << 20;  ///< bytes; a whole slice unless said otherwise
  std::uint32_t depth = 4;
  Link link = kLink;  ///< between nodes
  Processor processor = kFree;
  bool all = false;               ///< simulate every rank
  std::uint32_t tiles = 1 << 20;  ///< simulated one by one
  algorithm::Nodes nodes{};
};

Prediction predict(const Scenario& run) {
  const algorithm::Algorithm& a = *algorithm::find(run.algorithm);
  const Problem problem{.count = run.bytes / 4,
                        .dtype = Dtype::f32,
                        .element_bytes = 4,
                        .op = Op::sum,
                        .opaque_id = 0,
                        .size = run.size,
                        .codec = spec_of(run.codec),
                        .nodes = run.nodes};
  const algorithm::Layout layout = problem.layout();
  const Geometry g = cut(problem.count, problem.codec.block(), a.slices(layout), run.segment / 4);
  Network network;
  network.between_nodes = run.link;
  return simulate(Cast(a, layout, run.all),
                  {.problem = problem,
                   .codec = problem.codec,
                   .geometry = g,
                   .depth = std::min(run.depth, g.tiles),
                   .network = network,
                   .processor = run.processor},
                  run.tiles);
}

double seconds(const Scenario& run) { return predict(run).seconds; }

constexpr double wire(double bytes) { return (bytes + kHeader) / kLink.bandwidth; }

TEST(Simulate, TextbookCostsOfOneTile) {
  constexpr double kTiny = 1e-12;
  for (int log = 1; log <= 6; ++log) {
    const int p = 1 << log;
    for (std::uint64_t bytes : {std::uint64_t{4096}, std::uint64_t{1} << 18}) {
      SCOPED_TRACE(testing::Message() << p << " ranks, " << bytes << " bytes");
      const double n = static_cast<double>(bytes), slice = n / p, l = kLink.latency;
      EXPECT_NEAR(seconds({"recursive_doubling", p, bytes}), log * (l + wire(n)), kTiny);
      EXPECT_NEAR(seconds({"one_shot", p, bytes}), l + (p - 1) * wire(n), kTiny);
      EXPECT_NEAR(seconds({"tree", p, bytes}), 2 * log * (l + wire(n)), kTiny);
      EXPECT_NEAR(seconds({"ring", p, bytes}), 2 * (p - 1) * (l + wire(slice)), kTiny);
      EXPECT_NEAR(seconds({"direct", p, bytes}), 2 * (l + (p - 1) * wire(slice)), kTiny);
      // Slices of one round are on their way while the first of them is in the next.
      const double rounds = 2 * (log * l + (p - 1) * wire(slice));
      EXPECT_LE(seconds({"rabenseifner", p, bytes}), rounds + kTiny);
      EXPECT_GE(seconds({"rabenseifner", p, bytes}),
                2 * log * l + 2 * (p - 1) * wire(slice) - rounds / 2);
    }
  }
}

TEST(Simulate, OverheadAndComputationAreThoseOfTheProcessor) {
  // Two ranks exchange the whole vector: send, receive, add, store.
  const Link link{.latency = 5e-6, .bandwidth = 1e9, .overhead = 2e-6};
  const Processor processor{.copy_rate = 4e9, .add_rate = 2e9, .sharing = 1};
  const double expected = 2e-6 + wire(4096) + 5e-6 + 2e-6 + 4096 / 2e9 + 4096 / 4e9;
  Scenario run{"recursive_doubling", 2, 4096};
  run.link = link;
  run.processor = processor;
  EXPECT_NEAR(seconds(run), expected, 1e-12);
  EXPECT_NEAR(predict(run).work, 4e-6 + 4096 / 2e9 + 4096 / 4e9, 1e-12);
  run.processor.sharing = 3;
  EXPECT_NEAR(seconds(run), expected + 2 * (4e-6 + 4096 / 2e9 + 4096 / 4e9), 1e-12);
}

TEST(Simulate, LongMessagesFillTheWire) {
  const double bytes = 64 << 20;
  for (int p : {2, 4, 8, 16}) {
    const double bound = 2 * (p - 1) * bytes / p / kLink.bandwidth;
    for (const char* a : {"ring", "rabenseifner", "direct"}) {
      const double t = seconds({a, p, 64 << 20, "none", 1 << 17});
      EXPECT_GE(t, bound) << a << ", " << p << " ranks";
      EXPECT_LE(t, 1.03 * bound) << a << ", " << p << " ranks";
    }
  }
}

TEST(Simulate, CodecsShortenTheWire) {
  const double raw = seconds({"direct", 4, 64 << 20, "none", 1 << 17});
  EXPECT_NEAR(raw / seconds({"direct", 4, 64 << 20, "bf16", 1 << 17, 8}), 2, 0.05);
  EXPECT_NEAR(raw / seconds({"direct", 4, 64 << 20, "int8", 1 << 17, 8}), 3.87, 0.2);
  // On a link as fast as memory they do not pay.
  Scenario fast{"direct", 4, 64 << 20, "none", 1 << 17};
  fast.link.bandwidth = 50e9;
  fast.processor = {};
  Scenario encoded = fast;
  encoded.codec = "bf16";
  EXPECT_GT(seconds(encoded), seconds(fast));
}

TEST(Simulate, OneRankStandsForAll) {
  for (const algorithm::Algorithm* a : algorithm::all()) {
    for (int p : {2, 3, 4, 5, 6, 7, 8, 12, 16, 17}) {
      // Slices of equal length: the shortcut takes all for as long as the longest.
      const auto unit = static_cast<std::uint64_t>(4 * 128 * p);
      for (const std::uint64_t bytes : {unit, (std::uint64_t{1} << 22) / unit * unit}) {
        for (const char* codec : {"none", "int8"}) {
          Scenario run{a->name, p, bytes, codec, 1 << 16};
          run.link.overhead = 1e-6;
          run.processor = {};
          const double one = seconds(run);
          run.all = true;
          const double all = seconds(run);
          SCOPED_TRACE(testing::Message()
                       << a->name << ", " << p << " ranks, " << bytes << ' ' << codec);
          double near = 1e-9;
          // Ranks of direct, and of hierarchical, add the same frames in other places.
          if (a == algorithm::find("direct") || a->symmetry == algorithm::Symmetry::grid)
            near = 0.01;
          // Pairs are taken to wait for pairs, while ranks without one begin at once.
          if (a->symmetry == algorithm::Symmetry::exchange && (p & (p - 1)) != 0) {
            near = bytes == unit ? 0.35 : 0.06;
          }
          EXPECT_NEAR(one, all, near * all);
        }
      }
    }
  }
}

TEST(Simulate, RanksOfANodeShareItsLink) {
  const double n = 1 << 20, l = kLink.latency;
  // One rank of each node sends to the next: the link is its own.
  Scenario ring{"ring", 16, 1 << 20};
  ring.all = true;
  const double alone = seconds(ring);
  ring.nodes = algorithm::Nodes::blocks(16, 4);
  EXPECT_LE(seconds(ring), alone);
  EXPECT_GE(seconds(ring), 2 * 15 * wire(n / 16));
  // All four send to all ranks of the other nodes, twice, one after another.
  Scenario direct{"direct", 16, 1 << 20};
  for (const bool all : {false, true}) {
    direct.all = all;
    direct.nodes = algorithm::Nodes::blocks(16, 4);
    EXPECT_GE(seconds(direct), 2 * 4 * 12 * wire(n / 16));
    EXPECT_LE(seconds(direct), 1.1 * 2 * (l + 4 * 12 * wire(n / 16)));
  }
  // Round robin, every rank sends to another node.
  ring.nodes = test::nodes_of({"", [](int rank) { return rank % 4; }, false}, 16);
  EXPECT_NEAR(seconds(ring) / (2 * 15 * (l + 4 * wire(n / 16))), 1, 0.05);
}

TEST(Simulate, HierarchicalSendsBetweenNodesWhatOneRankWould) {
  // Inside nodes memory is as good as free here.
  for (int nodes : {2, 4}) {
    for (int ranks : {2, 4}) {
      for (const bool all : {false, true}) {
        Scenario run{"hierarchical", nodes * ranks, 64 << 20, "none", 1 << 17};
        run.nodes = algorithm::Nodes::blocks(nodes * ranks, ranks);
        run.link.bandwidth = 1e8;
        run.all = all;
        const double bound = 2.0 * (nodes - 1) / nodes * (64 << 20) / run.link.bandwidth;
        EXPECT_GE(seconds(run), bound) << nodes << " nodes of " << ranks;
        EXPECT_LE(seconds(run), 1.05 * bound) << nodes << " nodes of " << ranks;
        Scenario few = run;
        few.algorithm = "direct";
        EXPECT_GT(seconds(few), 0.9 * ranks * bound);
        // Only what is between nodes is encoded.
        run.codec = "int8";
        EXPECT_NEAR(bound / seconds(run), 3.87, 0.4) << nodes << " nodes of " << ranks;
      }
    }
  }
}

TEST(Simulate, OneRankStandsForNodes) {
  for (const algorithm::Algorithm* a : algorithm::all()) {
    for (const auto& [p, ranks] :
         {std::pair{4, 2}, {8, 2}, {8, 4}, {16, 4}, {32, 8}, {12, 4}, {7, 3}}) {
      for (const std::uint64_t bytes : {std::uint64_t{1} << 14, std::uint64_t{1} << 22}) {
        for (const char* codec : {"none", "int8"}) {
          Scenario run{a->name, p, bytes, codec, 1 << 16};
          run.link.overhead = 1e-6;
          run.processor = {};
          run.nodes = algorithm::Nodes::blocks(p, ranks);
          const double one = seconds(run);
          run.all = true;
          const double all = seconds(run);
          SCOPED_TRACE(testing::Message() << a->name << ", " << p << " ranks, " << ranks
                                          << " on a node, " << bytes << ' ' << codec);
          // Short frames of ranks that share a link need not come together. Of pairs, one half
          // sends what all are taken to send.
          double near = bytes < 1 << 20 ? 0.3 : 0.1;
          if (a->symmetry == algorithm::Symmetry::exchange && (p & (p - 1)) != 0) near = 1;
          EXPECT_NEAR(one, all, near * all);
        }
      }
    }
  }
}

TEST(Simulate, RemainingTilesGoAtThePaceOfTheBusiest) {
  for (const algorithm::Algorithm* a : algorithm::all()) {
    for (int p : {2, 4, 7, 8}) {
      for (const char* codec : {"none", "int8"}) {
        for (double bandwidth : {1e8, 1e9, 2e10}) {
          Scenario run{a->name, p, 64 << 20, codec, 1 << 17};
          run.link = {.latency = 8e-6, .bandwidth = bandwidth, .overhead = 1e-6};
          run.processor = {};
          const double full = seconds(run);
          SCOPED_TRACE(testing::Message()
                       << a->name << ", " << p << " ranks, " << codec << ", " << bandwidth);
          for (std::uint32_t tiles : {1u, 8u}) {
            run.tiles = tiles;
            // Where ranks do not all do the same, they are busy at different times.
            const bool folded = a->symmetry == algorithm::Symmetry::exchange && (p & (p - 1)) != 0;
            const bool tree = a->symmetry == algorithm::Symmetry::none;
            EXPECT_NEAR(seconds(run), full, (tree ? 0.25 : folded ? 0.08 : 0.05) * full) << tiles;
          }
        }
      }
    }
  }
}

TEST(Simulate, MoreBytesSlowerLinksAndMoreOverheadNeverHelp) {
  for (const algorithm::Algorithm* a : algorithm::all()) {
    for (int p : {2, 5, 16}) {
      Scenario run{a->name, p, 1 << 20, "none", 1 << 16};
      run.link.overhead = 1e-6;
      run.processor = {};
      const double base = seconds(run);
      const auto worse = [&](auto&& change) {
        Scenario other = run;
        change(other);
        EXPECT_GT(seconds(other), base) << a->name << ", " << p << " ranks";
      };
      worse([](Scenario& r) { r.bytes *= 2; });
      worse([](Scenario& r) { r.link.latency *= 2; });
      worse([](Scenario& r) { r.link.bandwidth /= 2; });
      worse([](Scenario& r) { r.link.overhead *= 4; });
      worse([](Scenario& r) { r.processor.sharing = 8; });
    }
  }
}

}  // namespace
}  // namespace wring::plan
