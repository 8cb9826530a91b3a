// SPDX-License-Identifier: BSD-3-Clause
// probe.cpp - measures latency and bandwidth between a communicator's ranks, for the cost model.
//
// Calls like the caller's own are timed: small ones in as many rounds as the ranks' logarithm, then one around a
// ring that is long enough for token buckets and congestion windows not to hide the link. Times are those of the
// slowest rank; rank 0 makes the result everybody's. Communicators of the same shape in one process are alike: only the
// first is measured.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "runtime/bootstrap.hpp"
#include "runtime/communicator.hpp"

namespace wring::runtime {
namespace {

constexpr int kCandidateCalls = 3;
constexpr int kSmallCalls = 12, kLargeCalls = 3;  // the first makes connections
constexpr std::uint64_t kSmallCount = 2;  // 8 bytes
/// What a rank sends and receives to have its bandwidth measured: 20 ms at 1 Gbit/s.
constexpr std::uint64_t kBandwidthBytes = 2 * 1024 * 1024;
/// The share of a round that the processor of either side has; measured times do not tell (plan::Network's own
/// figures have it).
constexpr double kOverheadShare = 1.0 / 3;

/// What a memory shared by the ranks of a host is worth at least, whatever other programs made of the measurement.
constexpr double kSlowestRoundInside = 5e-6, kLeastBandwidthInside = 1e9;

/// Communicators with equal shapes are taken to be alike.
using Shape = std::tuple<int, int, int, const char*>;  // ranks, nodes, most ranks on one node, transport
struct Known {
  std::mutex mutex;
  std::map<Shape, MeasuredLinks> links;
};
Known& known() {
  static Known k;
  return k;
}

/// Rounds of recursive doubling in which frames cross between nodes; all where there is one node only. The
/// others are so much faster that they do not count.
int slow_rounds(const algorithm::Layout& layout) {
  // With ranks beside a power of two a round is added at either end.
  const int size = layout.size();
  const int rounds = algorithm::ceil_log2(static_cast<unsigned>(size)) + ((size & (size - 1)) == 0 ? 0 : 1);
  if (!layout.mixed()) return rounds;
  int slow = 0;
  for (int mask = 1; mask < size; mask *= 2) {
    for (int r = 0; r < size; ++r) {
      if ((r ^ mask) >= size || layout.share_a_node(r, r ^ mask)) continue;
      ++slow;
      break;
    }
  }
  return slow;
}

/// Ranks whose next one is on another node; all where there is one node only.
struct RingCrossings {
  int all = 0, of_a_node = 0;  ///< of that with the most
};
RingCrossings ring_crossings(const algorithm::Layout& layout) {
  if (!layout.mixed()) return {layout.size(), 1};
  RingCrossings out;
  std::vector<int> of_node(static_cast<std::size_t>(layout.nodes()));
  for (int r = 0; r < layout.size(); ++r) {
    if (layout.share_a_node(r, (r + 1) % layout.size())) continue;
    ++out.all;
    out.of_a_node = std::max(out.of_a_node, ++of_node[static_cast<std::size_t>(layout.node_of(r))]);
  }
  return out;
}

/// To the next power of 2^(1/2): what differs from run to run by chance should not change choices.
double rounded(double value) { return std::exp2(std::round(2 * std::log2(value)) / 2); }

}  // namespace

/// Seconds of the fastest of several calls one after another, each as long as its slowest rank took: what else the machine
/// does is none of a link's properties.
Status Communicator::time_calls(const plan::Problem& problem, const plan::Settings& settings, OpaqueReduce opaque, int calls,
                                double& seconds) {
  CallPlan plan{plan::make_plan(problem, settings, rank_), {}};
  std::vector<std::byte> values(problem.bytes());
  std::vector<double> mine, slowest(static_cast<std::size_t>(calls));
  WRING_TRY(process_.meet(own_comm_));
  probing_ = true;
  Status status;
  for (int i = 0; i < calls && status.ok(); ++i) {
    const double begin = now();
    status = run(plan, values.data(), values.data(), opaque);
    mine.push_back(now() - begin);
  }
  probing_ = false;
  last_ = nullptr;
  WRING_TRY(status);
  WRING_TRY(mpi_status(PMPI_Allreduce(mine.data(), slowest.data(), calls, MPI_DOUBLE, MPI_MAX, own_comm_), "MPI_Allreduce"));
  seconds = *std::min_element(slowest.begin(), slowest.end());
  return {};
}

Status Communicator::measure_links(MeasuredLinks& links) {
  const codec::Codec* none = codec::all().front();
  plan::Problem problem{.count = kSmallCount, .dtype = Dtype::f32, .element_bytes = 4, .op = Op::sum, .opaque_id = 0,
                        .size = size_, .codec = {.codec = none, .params = none->defaults},
                        .nodes = nodes_};
  const algorithm::Layout layout = problem.layout();
  plan::Settings settings = settings_;
  double small = 0, large = 0;
  const plan::ShortWay& short_way = settings_.network.short_way;
  // What goes the short way says nothing about other frames: of two ranks the tree does not.
  const bool by_tree = short_way.most > 0 && size_ == 2;
  settings.algorithm = algorithm::find(by_tree ? "tree" : "recursive_doubling");
  WRING_TRY(time_calls(problem, settings, {}, kSmallCalls, small));
  const int rounds = by_tree ? 2 : slow_rounds(layout);
  double round = rounded(small / rounds);

  const auto ranks = static_cast<std::uint64_t>(size_);
  problem.count = kBandwidthBytes * ranks / (2 * (ranks - 1)) / sizeof(float);
  settings.algorithm = algorithm::find("ring");
  WRING_TRY(time_calls(problem, settings, {}, kLargeCalls, large));
  // Of the hops around the ring those between nodes count, and a node's link carries the frames of all its
  // ranks that send to another.
  const RingCrossings crossings = ring_crossings(layout);
  const double wire = std::max(large - 2.0 * (size_ - 1) * crossings.all / size_ * round, large / 2);
  double bandwidth = rounded(crossings.of_a_node * static_cast<double>(kBandwidthBytes) / wire);
  if (one_host_) {
    round = std::min(round, kSlowestRoundInside);
    bandwidth = std::max(bandwidth, kLeastBandwidthInside);
  }
  // The time of a processor that ranks share was measured as it is shared.
  const double sharing = settings_.processor.sharing;
  links.all = {.latency = round * (1 - 2 * kOverheadShare), .bandwidth = bandwidth, .overhead = round * kOverheadShare / sharing};
  if (short_way.most == 0) return {};
  problem.count = kSmallCount;
  settings.algorithm = algorithm::find("one_shot");
  WRING_TRY(time_calls(problem, settings, {}, kSmallCalls, small));
  // One latency, and a frame to and from each of the others, for which the processor only copies a line.
  const double overhead = std::min(short_way.link.overhead, links.all.overhead), frames = 2.0 * (size_ - 1);
  small = std::min(rounded(small), rounds * kSlowestRoundInside);
  links.short_way = {.latency = std::max(small - frames * overhead * sharing, overhead), .bandwidth = bandwidth, .overhead = overhead};
  return {};
}

Status Communicator::measure_network() {
  plan::Network& network = settings_.network;
  const algorithm::Layout layout(size_, nodes_);
  const Shape shape{size_, layout.nodes(), layout.ranks_on(layout.largest()), transport_->name};
  MeasuredLinks links;
  int measured = 0;
  {
    std::lock_guard lock(known().mutex);
    if (const auto it = known().links.find(shape); it != known().links.end()) {
      links = it->second;
      measured = 1;
    }
  }
  // Rank 0 says whether to measure: others may have been in communicators that it was not in.
  WRING_TRY(mpi_status(PMPI_Bcast(&measured, 1, MPI_INT, 0, own_comm_), "MPI_Bcast"));
  if (!measured) WRING_TRY(measure_links(links));
  WRING_TRY(mpi_status(PMPI_Bcast(&links, sizeof links, MPI_BYTE, 0, own_comm_), "MPI_Bcast"));
  const plan::Link& link = links.all;
  (layout.nodes() == 1 ? network.inside_node : network.between_nodes) = link;
  network.short_way.link = links.short_way;
  std::lock_guard lock(known().mutex);
  known().links[shape] = links;
  if (rank_ == 0 && !measured) {
    log(LogLevel::info, "measured between %d ranks over %s: latency %.2f us, overhead %.2f us, bandwidth %.3f GB/s", size_,
        transport_->name, link.latency * 1e6, link.overhead * 1e6, link.bandwidth * 1e-9);
  }
  return {};
}

/// With WRING_TUNE=measure, before the first call of a size class: times what the model finds promising.
Status Communicator::tune(const plan::Problem& problem, OpaqueReduce opaque) {
  const auto known = [&](const std::vector<plan::Rule>& rules) {
    return std::any_of(rules.begin(), rules.end(), [&](const plan::Rule& r) { return plan::applies(r, problem); });
  };
  if (tune_ != Tune::measure || size_ == 1 || settings_.algorithm != nullptr || known(settings_.rules) || known(settings_.table) ||
      known(settings_.measured)) {
    return {};
  }
  plan::Rule best;
  double least = 0;
  for (const plan::Rule& candidate : plan::shortlist(problem, settings_)) {
    plan::Settings settings = settings_;
    settings.measured = {candidate};
    double seconds = 0;
    WRING_TRY(time_calls(problem, settings, opaque, kCandidateCalls, seconds));
    if (best.algorithm != nullptr && seconds >= least) continue;
    least = seconds;
    best = candidate;
  }
  const auto low = std::bit_floor(problem.bytes());
  best.min_bytes = low;
  best.max_bytes = 2 * low;
  best.size = problem.size;
  best.dtype = problem.dtype;
  best.asked = problem.codec;
  settings_.measured.push_back(best);
  return {};
}

}  // namespace wring::runtime
