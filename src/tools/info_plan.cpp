// SPDX-License-Identifier: BSD-3-Clause
// info_plan.cpp - the tuning table that a problem gets, from the command line and the environment.
#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "base/config.hpp"
#include "plan/table.hpp"
#include "tools/info.hpp"
#include "transport/transport.hpp"

namespace wring::tools {
namespace {

struct TypeName {
  const char* name;
  Dtype dtype;
  std::uint32_t bytes;
};
constexpr TypeName kTypes[] = {
    {"float", Dtype::f32, 4},     {"double", Dtype::f64, 8},    {"fp16", Dtype::f16, 2},
    {"bf16", Dtype::bf16, 2},     {"int8", Dtype::opaque, 1},   {"int16", Dtype::opaque, 2},
    {"int32", Dtype::opaque, 4},  {"int64", Dtype::opaque, 8},  {"uint8", Dtype::opaque, 1},
    {"uint16", Dtype::opaque, 2}, {"uint32", Dtype::opaque, 4}, {"uint64", Dtype::opaque, 8},
};

plan::Settings settings_from_environment() {
  const Config& c = config();
  plan::Settings settings;
  settings.segment_bytes = c.segment;
  settings.checksum = c.checksum;
  if (c.algorithm != "auto") {
    settings.algorithm = algorithm::find(c.algorithm);
    if (settings.algorithm == nullptr)
      throw std::invalid_argument("WRING_ALGORITHM=\"" + c.algorithm + "\" is not an algorithm");
  }
  if (Status status = plan::parse_rules(c.tune_rules, settings.rules); status.is_error()) {
    throw std::invalid_argument(std::string("WRING_TUNE_RULES: ") + status.what());
  }
  if (!c.tune_file.empty()) {
    std::string text;
    Status status = plan::read_text(c.tune_file, text);
    if (status.ok()) status = plan::load_table(text, settings.table);
    if (!status.ok()) throw std::invalid_argument(std::string("WRING_TUNE_FILE: ") + status.what());
  }
  const transport::Transport* t =
      c.transport == "auto" ? transport::all().front() : transport::find(c.transport.c_str());
  if (t == nullptr)
    throw std::invalid_argument("WRING_TRANSPORT=\"" + c.transport + "\" is not a transport");
  settings.max_payload = t->caps().max_payload;
  if (c.shm) settings.network.short_way.most = transport::kShortBytes;  // where all ranks share a node
  return settings;
}

plan::Problem problem_of(const PlanRequest& request) {
  const auto* type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                  [&](const TypeName& t) { return request.type == t.name; });
  if (type == std::end(kTypes))
    throw std::invalid_argument("--type: \"" + request.type + "\" is not a type of wring_perf");
  const bool ordered = request.op == "min" || request.op == "max" || request.op == "prod";
  if (request.op != "sum" && request.op != "avg" && !ordered) {
    throw std::invalid_argument("--op: \"" + request.op +
                                "\" is not one of sum, avg, min, max, prod");
  }
  if (request.op == "avg" && type->dtype == Dtype::opaque) {
    throw std::invalid_argument("--op avg needs a floating-point type, not " + request.type);
  }
  plan::Problem problem{.count = 0,
                        .dtype = type->dtype,
                        .element_bytes = type->bytes,
                        .op = Op::other,
                        .opaque_id = 0,
                        .size = request.ranks,
                        .codec = {}};
  if (type->dtype != Dtype::opaque && !ordered)
    problem.op = request.op == "avg" ? Op::avg : Op::sum;
  if (problem.op == Op::other) problem.dtype = Dtype::opaque;
  if (Status status = codec::parse(request.codec, problem.codec); status.is_error()) {
    throw std::invalid_argument(std::string("--codec: ") + status.what());
  }
  return problem;
}

}  // namespace

void print_plan(const PlanRequest& request) {
  plan::Problem problem = problem_of(request);
  plan::Settings settings = settings_from_environment();
  int per_node = 1;
  if (Status status = plan::parse_network(request.net, settings.network, per_node);
      status.is_error()) {
    throw std::invalid_argument(std::string("--net: ") + status.what());
  }
  problem.nodes = algorithm::Nodes::blocks(problem.size, per_node);
  if (problem.layout().nodes() > 1) settings.network.short_way.most = 0;
  if (request.ranks == 1) {
    if (request.json) throw std::invalid_argument("--json: one rank needs no table");
    std::printf("one rank: the input is the result\n");
    return;
  }
  const plan::Table table = plan::make_table(problem, settings);
  if (request.json) {
    const std::string text = plan::to_json(table);
    if (text.empty()) throw std::invalid_argument("--json: this build has no JSON");
    std::fputs(text.c_str(), stdout);
    return;
  }
  const algorithm::Layout layout = problem.layout();
  const plan::Network& network = settings.network;
  const plan::Link& link = layout.nodes() == 1 ? network.inside_node : network.between_nodes;
  const std::string nodes =
      layout.mixed() ? " on " + std::to_string(layout.nodes()) + " nodes" : "";
  std::printf("%d ranks%s, %s, %s, codec %s; each %s's link: latency %s, %.4g GB/s, overhead %s\n",
              request.ranks, nodes.c_str(), request.type.c_str(), request.op.c_str(),
              codec::to_string(problem.codec).c_str(), layout.mixed() ? "node" : "rank",
              format_seconds(link.latency).c_str(), link.bandwidth / 1e9,
              format_seconds(link.overhead).c_str());
  std::fputs(plan::to_text(table).c_str(), stdout);
}

}  // namespace wring::tools
