// SPDX-License-Identifier: BSD-3-Clause
// test_hierarchical.cpp - the algorithm hierarchical among nodes that this host only pretends to
// have.
//
// Usage: mpiexec -n P test_hierarchical PLACEMENT, a name of ../common/placements.hpp. Every rank
// sets WRING_NODE for itself before it calls anything.
#include <mpi.h>
#include <wring.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "../common/expected.hpp"
#include "../common/mpi_check.hpp"
#include "../common/placements.hpp"
#include "../common/plan_check.hpp"
#include "../sim/sim.hpp"
#include "runtime/runtime.hpp"

namespace {

using wring::Dtype;
using wring::algorithm::Layout;
using wring::algorithm::Nodes;
using wring::test::Guarded;

int g_rank, g_size;
Nodes g_nodes;  // as they should be found

struct Named {
  const char* name;
  MPIX_Codec codec;
};
const Named kCodecs[] = {{"none", MPIX_CODEC_NONE},
                         {"fp16", MPIX_CODEC_FP16},
                         {"bf16", MPIX_CODEC_BF16},
                         {"int8", MPIX_CODEC_INT8},
                         {"int4", MPIX_CODEC_INT4}};

bool use(const char* algorithm) {
  return wring::runtime::set_algorithm(MPI_COMM_WORLD, algorithm).ok();
}

double wave(int rank, std::uint64_t i) {
  return std::sin(0.01 * static_cast<double>(i) + rank) * (1 + rank);
}

void nodes_are_found() {
  CHECK(use("auto"), "auto");
  float in = 1, out = 0;
  CHECK_SUCCESS(
      MPIX_Allreduce_compressed(&in, &out, 1, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE, MPI_COMM_WORLD));
  CHECK(out == static_cast<float>(g_size), "%g", static_cast<double>(out));
  const auto info = wring::runtime::last_call(MPI_COMM_WORLD);
  CHECK(info.problem.nodes == g_nodes, "%d nodes", info.problem.layout().nodes());
}

/// Success, the same bytes on all ranks, and every value within its bound.
void reduce(Dtype type, MPI_Datatype mpi_type, std::size_t n, bool average, bool in_place,
            const Named& codec) {
  const std::size_t each = wring::size_of(type);
  Guarded<std::byte> send(n * each), recv(n * each);
  std::byte* input = in_place ? recv.data() : send.data();
  for (std::size_t i = 0; i < n; ++i) wring::sim::save(type, wave(g_rank, i), input + i * each);
  CHECK_SUCCESS(MPIX_Allreduce_compressed(
      in_place ? MPI_IN_PLACE : send.data(), recv.data(), static_cast<int>(n), mpi_type,
      average ? WRING_AVG : MPI_SUM, codec.codec, MPI_COMM_WORLD));
  const std::string name =
      std::string(codec.name) + ", " + std::to_string(n) + " x " + wring::name_of(type);
  CHECK(recv.guards_whole() && send.guards_whole(), "%s", name.c_str());
  CHECK(wring::test::same_everywhere(recv.data(), recv.bytes()), "%s", name.c_str());
  const auto info = wring::runtime::last_call(MPI_COMM_WORLD);
  CHECK(info.compressed && std::string(info.choice.algorithm->name) == "hierarchical", "%s",
        name.c_str());
  if (!info.compressed) return;
  const Layout layout(g_size, g_nodes);
  CHECK(info.choice.codec.codec->name == std::string(layout.nodes() == 1 ? "none" : codec.name),
        "%s: %s", name.c_str(), info.choice.codec.codec->name);
  const auto expected = wring::test::expect(info.problem, info.choice, [&](int r, std::uint64_t i) {
    std::byte bytes[8];
    wring::sim::save(type, wave(r, i), bytes);
    return wring::sim::load(type, bytes);
  });
  for (std::size_t i = 0; i < n; ++i) {
    const double got = wring::sim::load(type, recv.data() + i * each);
    CHECK(wring::test::within(got, expected.exact[i], expected.bound[i]),
          "%s: element %zu is %.17g, not %.17g +- %g", name.c_str(), i, got, expected.exact[i],
          expected.bound[i]);
  }
}

void values() {
  CHECK(use("hierarchical"), "hierarchical");
  const std::pair<Dtype, MPI_Datatype> types[] = {{Dtype::f32, MPI_FLOAT},
                                                  {Dtype::f64, MPI_DOUBLE},
                                                  {Dtype::f16, WRING_FLOAT16},
                                                  {Dtype::bf16, WRING_BFLOAT16}};
  std::size_t turn = 0;
  for (const Named& codec : kCodecs) {
    for (const std::size_t n : {1, 7, 1000, 20011}) {
      for (const auto& [type, mpi_type] : types) {
        ++turn;
        reduce(type, mpi_type, n, turn % 3 == 0, turn % 2 == 0, codec);
      }
    }
  }
}

void integers_are_exact() {
  CHECK(use("hierarchical"), "hierarchical");
  std::vector<int> in(5003), out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<int>(i) * (g_rank % 2 ? 1 : -1) + g_rank;
  CHECK_SUCCESS(MPIX_Allreduce_compressed(in.data(), out.data(), static_cast<int>(in.size()),
                                          MPI_INT, MPI_MAX, MPIX_CODEC_INT8, MPI_COMM_WORLD));
  const int last_odd = g_size % 2 == 0 ? g_size - 1 : g_size - 2;
  const int last_even = g_size % 2 == 0 ? g_size - 2 : g_size - 1;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const int x = static_cast<int>(i);
    CHECK(out[i] == std::max(x + last_odd, last_even - x), "element %zu is %d", i, out[i]);
  }
}

void plans() {
  MPI_Info info = MPI_INFO_NULL;
  CHECK_SUCCESS(MPI_Info_create(&info));
  CHECK_SUCCESS(MPI_Info_set(info, "wring_algorithm", "hierarchical"));
  for (const Named& codec : {kCodecs[0], kCodecs[2], kCodecs[3]}) {
    for (const int n : {5, 70000}) {
      wring::test::SumPlan plan(n, codec.codec, MPI_COMM_WORLD, n == 5, info);
      CHECK_SUCCESS(plan.code());
      CHECK(wring::test::description_of(plan.plan).find("hierarchical") != std::string::npos, "%s",
            wring::test::description_of(plan.plan).c_str());
      for (double value : {1, 4, 2}) {
        plan.fill(value);
        CHECK_SUCCESS(MPIX_Plan_start(plan.plan));
        CHECK_SUCCESS(MPIX_Plan_wait(plan.plan));
        plan.check(codec.name);
      }
    }
  }
  CHECK_SUCCESS(MPI_Info_free(&info));
}

void parts_of_nodes() {
  // Communicators with other nodes: every second rank.
  MPI_Comm half = MPI_COMM_NULL;
  CHECK_SUCCESS(MPI_Comm_split(MPI_COMM_WORLD, g_rank % 2, -g_rank, &half));
  int size = 1;
  MPI_Comm_size(half, &size);
  CHECK(wring::runtime::set_algorithm(half, "hierarchical").ok(), "hierarchical");
  std::vector<float> in(3000, 1), out(in.size());
  for (const Named& codec : kCodecs) {
    CHECK_SUCCESS(MPIX_Allreduce_compressed(in.data(), out.data(), static_cast<int>(in.size()),
                                            MPI_FLOAT, MPI_SUM, codec.codec, half));
    for (float x : out)
      CHECK(x == static_cast<float>(size), "%s: %g", codec.name, static_cast<double>(x));
  }
  CHECK_SUCCESS(MPI_Comm_free(&half));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  wring::test::Cases cases(1, argv);
  g_rank = cases.rank();
  g_size = cases.size();
  const wring::test::Placement* placement = nullptr;
  for (const auto& p : wring::test::kPlacements) {
    if (argc > 1 && argv[1] == std::string(p.name)) placement = &p;
  }
  if (placement == nullptr) {
    std::fprintf(stderr, "usage: test_hierarchical PLACEMENT\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
  }
  setenv("WRING_NODE", ("node" + std::to_string(placement->node(g_rank))).c_str(), 1);
  g_nodes = wring::test::nodes_of(*placement, g_size);
  cases.run("NodesAreFound", nodes_are_found);
  cases.run("Values", values);
  cases.run("IntegersAreExact", integers_are_exact);
  cases.run("Plans", plans);
  cases.run("PartsOfNodes", parts_of_nodes);
  return cases.finish();
}
