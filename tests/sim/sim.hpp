// SPDX-License-Identifier: BSD-3-Clause
// sim.hpp - N ranks in one process: sessions over the loop transport, run by a seeded scheduler.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/half.hpp"
#include "runtime/session.hpp"
#include "transport/hooks.hpp"
#include "transport/loop.hpp"

namespace wring::sim {

/// What one rank brings to a call; ranks of a correct call differ in data only.
struct Call {
  plan::Problem problem;
  plan::Settings settings;
  std::vector<std::byte> data;  ///< contribution, in the problem's type
  bool in_place = false;
};

/// What one rank has after a call.
struct Outcome {
  Code code = Code::internal;
  std::string what;
  std::vector<std::byte> result;
  runtime::Counters counters;
};

using Decorate = std::function<std::unique_ptr<transport::Channel>(int rank, std::unique_ptr<transport::Channel>)>;

/// Notes the end of a start.
struct Over final : runtime::Completion {
  bool over = false;
  Code code = Code::ok;
  std::string what;
  void completed(Status status) noexcept override {
    over = true;
    code = status.code();
    what = status.what();
  }
};

/// A communicator of `size` >= 2 simulated ranks.
class World {
 public:
  World(int size, std::uint64_t seed, bool checksum = false, const Decorate& decorate = {})
      : fabric_(size, seed), random_(seed ^ 0x5eed) {
    for (int r = 0; r < size; ++r) {
      sessions_.push_back(std::make_unique<runtime::Session>(r, size, 0x1234567890abcdefu, checksum));
      auto channel = fabric_.open(r, *sessions_.back());
      if (decorate) channel = decorate(r, std::move(channel));
      sessions_.back()->attach(std::move(channel));
    }
  }

  /// Notices that are still on their way arrive, as in MPI_Finalize.
  ~World() {
    for (int round = 0; round < 1000; ++round) {
      bool telling = false;
      for (const auto& session : sessions_) telling = telling || session->telling();
      if (!telling) break;
      for (const auto& session : sessions_) (void)session->progress();
    }
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Runs one call on all ranks to its end. When nothing moves any more although ranks still wait, they
  /// get the error that a time-out gives.
  std::vector<Outcome> run(const std::vector<Call>& calls) {
    const auto size = sessions_.size();
    struct Rank {
      std::unique_ptr<plan::Plan> plan;
      std::unique_ptr<runtime::Execution> execution;
      Over waiter;
      std::vector<std::byte> sent;  // the caller's send buffer; must not change
      bool begun = false, over = false;
    };
    std::vector<Rank> ranks(size);
    std::vector<Outcome> outcomes(size);
    std::size_t left = size;
    int idle_rounds = 0;
    while (left > 0) {
      bool moved = false;
      for (std::size_t turn = 0; turn < size; ++turn) {
        const std::size_t r = random_() % size;
        Rank& rank = ranks[r];
        Outcome& out = outcomes[r];
        runtime::Session& session = *sessions_[r];
        if (!rank.begun) {
          rank.begun = moved = true;
          const Call& call = calls[r];
          constexpr std::size_t kGuard = 64;
          out.result.assign(call.data.size() + 2 * kGuard, std::byte{0xa5});
          if (call.problem.count == 0) {
            session.start_empty(session.calls());
            out.code = Code::ok;
            rank.over = true;
            --left;
            continue;
          }
          rank.plan = std::make_unique<plan::Plan>(plan::make_plan(call.problem, call.settings, static_cast<int>(r)));
          rank.execution = std::make_unique<runtime::Execution>(*rank.plan, session.channel(), device::host_pool(),
                                                                0x1234567890abcdefu);
          rank.sent = call.data;
          std::byte* recv = out.result.data() + kGuard;
          if (call.in_place) std::memcpy(recv, call.data.data(), call.data.size());
          const void* send = call.in_place ? static_cast<const void*>(recv) : rank.sent.data();
          session.start(session.calls(), *rank.execution, send, recv, {}, rank.waiter);
          continue;
        }
        if (rank.over) {
          moved = session.progress() || moved;  // late frames of others, aborts
          continue;
        }
        moved = session.progress() || moved;
        if (!rank.waiter.over) continue;
        out.code = rank.waiter.code;
        out.what = rank.waiter.what;
        out.counters = rank.execution->counters();
        check_memory(calls[r], rank.sent, out);
        rank.over = moved = true;
        --left;
      }
      idle_rounds = moved || fabric_.in_flight() > 0 ? 0 : idle_rounds + 1;
      if (idle_rounds > 50) {
        for (std::size_t r = 0; r < size; ++r) {
          if (ranks[r].begun && !ranks[r].over) {
            runtime::Execution& execution = *ranks[r].execution;
            sessions_[r]->fail_all(execution, fail(Code::timeout, 0, "rank %zu waits for %s", r, execution.waiting_for().c_str()));
          }
        }
        idle_rounds = 0;
      }
    }
    return outcomes;
  }

  runtime::Session& session(int rank) { return *sessions_[static_cast<std::size_t>(rank)]; }
  transport::LoopFabric& fabric() { return fabric_; }

 private:
  /// Guards around the result and the send buffer are as they were; cuts the guards off.
  static void check_memory(const Call& call, const std::vector<std::byte>& sent, Outcome& out) {
    const std::size_t guard = (out.result.size() - call.data.size()) / 2;
    for (std::size_t i = 0; i < guard; ++i) {
      if (out.result[i] != std::byte{0xa5} || out.result[out.result.size() - 1 - i] != std::byte{0xa5}) {
        out.code = Code::internal;
        out.what = "memory beside the receive buffer was written";
      }
    }
    if (sent != call.data) {
      out.code = Code::internal;
      out.what = "the send buffer was written";
    }
    out.result.erase(out.result.begin(), out.result.begin() + static_cast<std::ptrdiff_t>(guard));
    out.result.resize(call.data.size());
  }

  transport::LoopFabric fabric_;
  std::vector<std::unique_ptr<runtime::Session>> sessions_;
  std::mt19937_64 random_;
};

// --- values -----------------------------------------------------------------------------------------

inline double load(Dtype t, const std::byte* at) {
  switch (t) {
    case Dtype::f64: { double x; std::memcpy(&x, at, 8); return x; }
    case Dtype::f32: { float x; std::memcpy(&x, at, 4); return x; }
    case Dtype::f16: { std::uint16_t x; std::memcpy(&x, at, 2); return kernels::decode16<kernels::Fp16, float>(x); }
    case Dtype::bf16: { std::uint16_t x; std::memcpy(&x, at, 2); return kernels::decode16<kernels::Bf16, float>(x); }
    case Dtype::opaque: break;
  }
  return 0;
}

inline void save(Dtype t, double value, std::byte* at) {
  switch (t) {
    case Dtype::f64: std::memcpy(at, &value, 8); return;
    case Dtype::f32: { const auto x = static_cast<float>(value); std::memcpy(at, &x, 4); return; }
    case Dtype::f16: { const auto x = kernels::encode16<kernels::Fp16, double>(value); std::memcpy(at, &x, 2); return; }
    case Dtype::bf16: { const auto x = kernels::encode16<kernels::Bf16, double>(value); std::memcpy(at, &x, 2); return; }
    case Dtype::opaque: return;
  }
}

}  // namespace wring::sim
