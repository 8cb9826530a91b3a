// SPDX-License-Identifier: BSD-3-Clause
// test_lanes.cpp - several plans and calls at once, which every rank makes, starts and frees in an order
// and at a time of its own (user cases A20, A22, A26, A35).
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "common/sim_cases.hpp"

namespace wring::sim {
namespace {

constexpr std::uint64_t kContext = 0x1234567890abcdefu;

/// The starts of one lane, in their order: of each the calls of all ranks. What is a plan's is started one
/// after another, with one execution; of calls several may run.
struct Stream {
  bool is_plan = true;
  std::vector<std::vector<Call>> starts;
};

/// Outcomes by stream, start and rank.
using Outcomes = std::vector<std::vector<std::vector<Outcome>>>;

class Ranks {
 public:
  Ranks(World& world, const std::vector<Stream>& streams, std::uint64_t seed)
      : world_(world), streams_(streams), random_(seed), size_(static_cast<int>(streams[0].starts[0].size())),
        ranks_(static_cast<std::size_t>(size_)) {
    for (const Stream& s : streams) {
      outcomes_.emplace_back(s.starts.size(), std::vector<Outcome>(ranks_.size()));
      most_left_ += s.starts.size() * ranks_.size();
    }
    for (Rank& r : ranks_) r.lanes.resize(streams.size());
  }

  std::uint32_t first_start = 0;  ///< number of the first start in each lane

  Outcomes run() {
    for (int r = 0; r < size_; ++r) world_.session(r).calls().next_start = first_start;
    for (int idle = 0; most_left_ > 0;) {
      const int r = static_cast<int>(random_() % ranks_.size());
      bool moved = random_() % 3 != 0 ? act(r) : false;
      moved = world_.session(r).progress() || moved;
      collect(r);
      idle = moved || world_.fabric().in_flight() > 0 ? 0 : idle + 1;
      if (idle < 200 * size_) continue;
      time_out();
      idle = 0;
    }
    // Late frames and notices, also for lanes that are closed.
    for (int quiet = 0; quiet < 50; ++quiet) {
      for (int r = 0; r < size_; ++r) {
        if (world_.session(r).progress()) quiet = 0;
      }
    }
    for (int r = 0; r < size_; ++r) {
      for (std::size_t s = 0; s < streams_.size(); ++s) close(r, s);
    }
    return outcomes_;
  }

 private:
  struct Run {
    std::size_t start = 0;
    std::unique_ptr<plan::Plan> plan;
    std::unique_ptr<runtime::Execution> execution;
    Over over;
    std::vector<std::byte> result;
    bool running = false;
  };
  struct OfLane {
    runtime::Lane* lane = nullptr;
    std::size_t next = 0;
    std::vector<std::unique_ptr<Run>> runs;
    bool closed = false;
  };
  struct Rank {
    std::vector<OfLane> lanes;
  };

  /// Something that the rank may do now, if it hits upon it; whether it did.
  bool act(int r) {
    const std::size_t s = random_() % streams_.size();
    const Stream& stream = streams_[s];
    Rank& rank = ranks_[static_cast<std::size_t>(r)];
    OfLane& mine = rank.lanes[s];
    if (mine.closed) return false;
    runtime::Session& session = world_.session(r);
    if (mine.lane == nullptr) {
      // Plans are made in the same order everywhere.
      for (std::size_t before = 0; before < s; ++before) {
        if (streams_[before].is_plan && rank.lanes[before].lane == nullptr) return false;
      }
      mine.lane = stream.is_plan ? &session.open_lane() : &session.calls();
      if (stream.is_plan) mine.lane->next_start = first_start;
      return true;
    }
    const auto running = std::count_if(mine.runs.begin(), mine.runs.end(), [](const auto& run) { return run->running; });
    if (mine.next == stream.starts.size()) {
      if (running > 0 || !stream.is_plan || random_() % 4 != 0) return false;
      close(r, s);
      return true;
    }
    if (running >= (stream.is_plan ? 1 : 3)) return false;
    start(r, s);
    return true;
  }

  void start(int r, std::size_t s) {
    const Stream& stream = streams_[s];
    OfLane& mine = ranks_[static_cast<std::size_t>(r)].lanes[s];
    const Call& call = stream.starts[mine.next][static_cast<std::size_t>(r)];
    runtime::Session& session = world_.session(r);
    if (!stream.is_plan || mine.runs.empty()) {
      Run& run = *mine.runs.emplace_back(std::make_unique<Run>());
      run.plan = std::make_unique<plan::Plan>(plan::make_plan(call.problem, call.settings, r));
      run.execution = std::make_unique<runtime::Execution>(*run.plan, session.channel(), device::host_pool(), kContext);
    }
    Run& run = *mine.runs.back();
    run.start = mine.next++;
    run.running = true;
    run.over = {};
    run.result.assign(call.data.size(), std::byte{0xa5});
    session.start(*mine.lane, *run.execution, call.data.data(), run.result.data(), {}, run.over);
  }

  void collect(int r) {
    Rank& rank = ranks_[static_cast<std::size_t>(r)];
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      for (auto& run : rank.lanes[s].runs) {
        if (!run->running || !run->over.over) continue;
        Outcome& out = outcomes_[s][run->start][static_cast<std::size_t>(r)];
        out.code = run->over.code;
        out.what = run->over.what;
        out.result = run->result;
        run->running = false;
        --most_left_;
      }
    }
  }

  /// Nothing moves: the earliest start of each lane that somebody waits in gets what a time-out gives.
  void time_out() {
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      std::size_t earliest = streams_[s].starts.size();
      const auto for_runs = [&](auto&& each) {
        for (int r = 0; r < size_; ++r) {
          for (auto& run : ranks_[static_cast<std::size_t>(r)].lanes[s].runs) {
            if (run->running) each(r, *run);
          }
        }
      };
      for_runs([&](int, Run& run) { earliest = std::min(earliest, run.start); });
      for_runs([&](int r, Run& run) {
        if (run.start != earliest) return;
        world_.session(r).fail_all(*run.execution, fail(Code::timeout, 0, "rank %d waits for %s", r, run.execution->waiting_for().c_str()));
      });
    }
  }

  void close(int r, std::size_t s) {
    OfLane& mine = ranks_[static_cast<std::size_t>(r)].lanes[s];
    if (mine.closed) return;
    mine.closed = true;
    if (streams_[s].is_plan && mine.lane != nullptr) world_.session(r).close_lane(*mine.lane);
    mine.runs.clear();
  }

  World& world_;
  const std::vector<Stream>& streams_;
  std::mt19937_64 random_;
  const int size_;
  std::vector<Rank> ranks_;
  Outcomes outcomes_;
  std::size_t most_left_ = 0;  ///< starts that have not ended, over all ranks
};

/// Four plans of different sizes, codecs and algorithms, and calls beside them, with other values in each
/// start.
std::vector<Stream> some_streams(int size, std::size_t starts, bool checksum = false) {
  const struct {
    std::uint64_t n;
    const char *codec, *algorithm;
  } kinds[] = {{1, "none", "recursive_doubling"}, {900, "bf16", "direct"}, {3000, "none", "ring"}, {700, "int8", "tree"}};
  std::vector<Stream> streams;
  for (const auto& k : kinds) {
    Stream& stream = streams.emplace_back();
    for (std::size_t i = 0; i < starts; ++i) {
      const auto value = [i](int r, std::uint64_t e) { return integers(r, e) * (1 + static_cast<double>(i % 3)); };
      stream.starts.push_back(calls_of(problem_of(size, k.n, Dtype::f32, Op::sum, spec_of(k.codec)), algorithm::find(k.algorithm), value));
    }
  }
  Stream& calls = streams.emplace_back();
  calls.is_plan = false;
  for (std::size_t i = 0; i < 2 * starts; ++i) {
    calls.starts.push_back(calls_of(problem_of(size, 1 + 400 * (i % 3), i % 2 ? Dtype::f32 : Dtype::f64, Op::sum, spec_of("none")), all_choices()[i % all_choices().size()], integers));
  }
  for (Stream& s : streams) {
    for (auto& start : s.starts) {
      for (Call& c : start) c.settings.checksum = checksum;
    }
  }
  return streams;
}

/// How many starts failed on some rank, with `code` or `other`; the others are right on all.
int count_failed(const std::vector<Stream>& streams, const Outcomes& outcomes, Code code, Code other = Code::ok) {
  int failed = 0;
  for (std::size_t s = 0; s < streams.size(); ++s) {
    for (std::size_t i = 0; i < streams[s].starts.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "stream " << s << ", start " << i);
      const auto& of_ranks = outcomes[s][i];
      if (std::all_of(of_ranks.begin(), of_ranks.end(), [](const Outcome& o) { return o.code == Code::ok; })) {
        expect_right(streams[s].starts[i], of_ranks);
        continue;
      }
      ++failed;
      for (std::size_t r = 0; r < of_ranks.size(); ++r) {
        const Outcome& o = of_ranks[r];
        EXPECT_TRUE(o.code == Code::ok || o.code == code || o.code == other) << "rank " << r << ": " << o.what;
      }
    }
  }
  return failed;
}

void expect_clean(World& world) {
  EXPECT_EQ(world.fabric().kept(), 0u);
  EXPECT_EQ(world.fabric().in_flight(), 0u);
}

TEST(Lanes, AnyOrderOnEveryRank) {
  for (int size = 2; size <= 8; ++size) {
    const auto streams = some_streams(size, 6);
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      SCOPED_TRACE(testing::Message() << size << " ranks, seed " << seed);
      World world(size, seed);
      Ranks ranks(world, streams, seed);
      EXPECT_EQ(count_failed(streams, ranks.run(), Code::ok), 0);
      expect_clean(world);
    }
  }
}

TEST(Lanes, DelayedFrames) {
  for (int size : {2, 3, 5, 8}) {
    const auto streams = some_streams(size, 4);
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE(testing::Message() << size << " ranks, seed " << seed);
      World world(size, seed, false, [&](int r, auto channel) {
        return transport::hook_delay(std::move(channel), seed * 100 + static_cast<std::uint64_t>(r), 40);
      });
      Ranks ranks(world, streams, seed);
      EXPECT_EQ(count_failed(streams, ranks.run(), Code::ok), 0);
      expect_clean(world);
    }
  }
}

TEST(A26, StartNumbersOfPlansWrapAround) {
  for (std::uint32_t first : {0xfffffffdu, 0x7ffffffdu}) {
    for (int size : {2, 3, 5}) {
      const auto streams = some_streams(size, 8);
      World world(size, first);
      Ranks ranks(world, streams, first);
      ranks.first_start = first;
      EXPECT_EQ(count_failed(streams, ranks.run(), Code::ok), 0);
      expect_clean(world);
    }
  }
}

TEST(Lanes, LostFrameEndsOneStart) {
  for (int size : {2, 3, 4, 7}) {
    const auto streams = some_streams(size, 4);
    for (std::uint64_t which = 0; which < 30; which += 3) {
      SCOPED_TRACE(testing::Message() << size << " ranks, frame " << which);
      World world(size, which + 5, false, [&](int r, auto channel) {
        return r == size - 1 ? transport::hook_drop(std::move(channel), which) : std::move(channel);
      });
      Ranks ranks(world, streams, which);
      EXPECT_EQ(count_failed(streams, ranks.run(), Code::timeout), 1);
      expect_clean(world);
    }
  }
}

TEST(Lanes, DamagedFrameIsAnErrorOfWhatRuns) {
  // Nobody can say which lane a damaged frame belonged to: what runs on its receiver fails, and the start
  // whose frame it was, if it begins only later. Nothing else, and no value is wrong.
  for (int size : {2, 3, 5}) {
    const auto streams = some_streams(size, 4, true);
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(testing::Message() << size << " ranks, seed " << seed);
      World world(size, seed, true, [&](int r, auto channel) {
        return r == 0 ? transport::hook_corrupt(std::move(channel), seed, seed) : std::move(channel);
      });
      Ranks ranks(world, streams, seed);
      const int failed = count_failed(streams, ranks.run(), Code::corrupt_frame, Code::timeout);
      EXPECT_GE(failed, 1);
      EXPECT_LE(failed, static_cast<int>(streams.size()) + 3);  // one a plan, three calls
      expect_clean(world);
    }
  }
}

TEST(A35, MismatchInOneLaneLeavesOthersAlone) {
  for (int size : {2, 3, 5, 8}) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      SCOPED_TRACE(testing::Message() << size << " ranks, seed " << seed);
      auto streams = some_streams(size, 4);
      const std::size_t odd_lane = seed % 4;
      const auto odd = static_cast<std::size_t>(seed % static_cast<std::uint64_t>(size));
      for (auto& start : streams[odd_lane].starts) {
        plan::Problem other = start[odd].problem;
        other.count += 11;
        start[odd] = calls_of(other, start[odd].settings.algorithm, integers)[odd];
      }
      World world(size, seed);
      Ranks ranks(world, streams, seed);
      auto outcomes = ranks.run();
      for (const auto& start : outcomes[odd_lane]) {
        for (std::size_t r = 0; r < start.size(); ++r) {
          EXPECT_EQ(start[r].code, Code::mismatch) << "rank " << r << ": " << start[r].what;
          EXPECT_NE(start[r].what.find("rank " + std::to_string(odd)), std::string::npos) << start[r].what;
        }
      }
      streams.erase(streams.begin() + static_cast<std::ptrdiff_t>(odd_lane));
      outcomes.erase(outcomes.begin() + static_cast<std::ptrdiff_t>(odd_lane));
      EXPECT_EQ(count_failed(streams, outcomes, Code::ok), 0);
      expect_clean(world);
    }
  }
}

/// A rank that has not made a plan yet keeps what others send for it; one that has freed it does not.
TEST(Lanes, FramesBeforeAndAfterAPlan) {
  World world(2, 7);
  const auto calls = calls_of(problem_of(2, 500, Dtype::f32, Op::sum, spec_of("none")), algorithm::find("direct"), integers);
  std::vector<std::byte> result[2];
  std::unique_ptr<plan::Plan> plans[2];
  std::unique_ptr<runtime::Execution> executions[2];
  runtime::Lane* lanes[2] = {};
  Over over[2];
  const auto make = [&](int r) {
    const auto i = static_cast<std::size_t>(r);
    lanes[r] = &world.session(r).open_lane();
    plans[r] = std::make_unique<plan::Plan>(plan::make_plan(calls[i].problem, calls[i].settings, r));
    executions[r] = std::make_unique<runtime::Execution>(*plans[r], world.session(r).channel(), device::host_pool(), kContext);
  };
  const auto begin = [&](int r) {
    const auto i = static_cast<std::size_t>(r);
    result[r].assign(calls[i].data.size(), std::byte{});
    over[r] = {};
    world.session(r).start(*lanes[r], *executions[r], calls[i].data.data(), result[r].data(), {}, over[r]);
  };
  const auto move = [&] {
    for (int i = 0; i < 200; ++i) {
      for (int r : {0, 1}) world.session(r).progress();
    }
  };
  make(0);
  begin(0);
  move();
  EXPECT_FALSE(over[0].over);
  EXPECT_GT(world.fabric().kept(), 0u) << "frames for a plan to come are not kept";
  make(1);
  begin(1);
  move();
  ASSERT_TRUE(over[0].over && over[1].over);
  EXPECT_EQ(over[1].code, Code::ok) << over[1].what;
  EXPECT_EQ(result[0], result[1]);
  EXPECT_EQ(world.fabric().kept(), 0u);

  // Rank 1 frees; rank 0, wrongly, starts once more: its frames are dropped, and nobody is hurt.
  executions[1].reset();
  world.session(1).close_lane(*lanes[1]);
  const auto dropped = world.session(1).dropped_frames();
  begin(0);
  move();
  EXPECT_FALSE(over[0].over);
  EXPECT_GT(world.session(1).dropped_frames(), dropped);
  EXPECT_EQ(world.fabric().kept(), 0u);
  world.session(0).fail_all(*executions[0], {Code::timeout, "nobody answers"});
  move();
  EXPECT_EQ(over[0].code, Code::timeout);

  // Lanes after it are not mixed up with it.
  make(0);
  make(1);
  begin(1);
  begin(0);
  move();
  ASSERT_TRUE(over[0].over && over[1].over);
  EXPECT_EQ(over[0].code, Code::ok) << over[0].what;
  EXPECT_EQ(result[0], result[1]);
}

/// A lane is closed while frames and notices for its next start wait there.
TEST(Lanes, ClosedWithFramesThatWait) {
  World world(2, 3);
  const auto calls = calls_of(problem_of(2, 500, Dtype::f32, Op::sum, spec_of("none")), nullptr, integers);
  const plan::Plan plan = plan::make_plan(calls[0].problem, calls[0].settings, 0);
  runtime::Execution execution(plan, world.session(0).channel(), device::host_pool(), kContext);
  runtime::Lane& mine = world.session(0).open_lane();
  runtime::Lane& theirs = world.session(1).open_lane();
  std::vector<std::byte> result(calls[0].data.size());
  Over over;
  world.session(0).start(mine, execution, calls[0].data.data(), result.data(), {}, over);
  const auto move = [&] {
    for (int i = 0; i < 100; ++i) {
      for (int r : {0, 1}) world.session(r).progress();
    }
  };
  move();
  world.session(0).fail_all(execution, {Code::timeout, "given up"});
  move();
  EXPECT_TRUE(over.over);
  EXPECT_GT(world.fabric().kept(), 0u);
  world.session(1).close_lane(theirs);
  EXPECT_EQ(world.fabric().kept(), 0u);
}

}  // namespace
}  // namespace wring::sim
