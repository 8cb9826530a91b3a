// SPDX-License-Identifier: BSD-3-Clause
// info.cpp - wring_info: what this build of Wring can do, and what it would choose. Needs no
// launcher.
#include "tools/info.hpp"

#include <wring_version.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace wring::tools {
namespace {

struct Wanted {
  bool version = false, environment = false, codecs = false, algorithms = false, transports = false,
       devices = false, plan = false;
  PlanRequest request;
  bool any() const {
    return version || environment || codecs || algorithms || transports || devices || plan;
  }
};

void declare(CLI::App& app, Wanted& w) {
  app.add_flag("--version", w.version, "versions, and what was built in");
  app.add_flag("--env", w.environment, "environment variables, with the values in force");
  app.add_flag("--codecs", w.codecs, "codecs, with parameters, sizes and errors");
  app.add_flag("--algorithms", w.algorithms, "algorithms");
  app.add_flag("--transports", w.transports, "transports, in order of preference");
  app.add_flag("--devices", w.devices, "kinds of memory");
  CLI::Option* plan =
      app.add_flag("--plan", w.plan, "what is chosen for each size of message, and why");
  app.add_option("-n", w.request.ranks, "with --plan: number of ranks")
      ->type_name("RANKS")
      ->check(CLI::Range(1, 65536))
      ->needs(plan)
      ->capture_default_str();
  app.add_option("--type", w.request.type, "with --plan: element type, as in wring_perf")
      ->needs(plan)
      ->capture_default_str();
  app.add_option("--op", w.request.op, "with --plan: operator, as in wring_perf")
      ->needs(plan)
      ->capture_default_str();
  app.add_option("--codec", w.request.codec, "with --plan: codec")
      ->needs(plan)
      ->capture_default_str();
  app.add_option("--net", w.request.net,
                 "with --plan: the links, lat=2us,bw=12.5GB/s[,overhead=500ns][,node=RANKS]")
      ->type_name("LINKS")
      ->needs(plan);
  app.add_flag("--json", w.request.json, "with --plan: as a file for WRING_TUNE_FILE")->needs(plan);
}

int run(int argc, char** argv) {
  CLI::App app("Shows what this build of Wring can do, and what it would choose.", "wring_info");
  Wanted w;
  declare(app, w);
  try {
    app.parse(argc, argv);
    if (!w.any()) std::printf("wring %s\n\n%s", WRING_VERSION, app.help().c_str());
    bool first = true;
    const auto show = [&first](bool wanted, auto&& print) {
      if (!wanted) return;
      if (!first) std::printf("\n");
      first = false;
      print();
    };
    show(w.version, print_version);
    show(w.environment, print_environment);
    show(w.codecs, print_codecs);
    show(w.algorithms, print_algorithms);
    show(w.transports, print_transports);
    show(w.devices, print_devices);
    show(w.plan, [&] { print_plan(w.request); });
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
  } catch (const std::exception& e) {  // CLI::ParseError is one
    std::fprintf(stderr, "wring_info: %s\nTry 'wring_info --help'.\n", e.what());
    return 2;
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace wring::tools

int main(int argc, char** argv) { return wring::tools::run(argc, argv); }
