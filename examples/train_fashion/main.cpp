// SPDX-License-Identifier: BSD-3-Clause
// main.cpp - trains a network on Fashion-MNIST with gradients averaged by Wring or by plain MPI.
#include <mpi.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "average.hpp"
#include "idx.hpp"
#include "options.hpp"
#include "report.hpp"
#include "training.hpp"

namespace fashion {
namespace {

constexpr int kFailed = 1;
constexpr int kBadUse = 2;

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// Collective: runs `work` on every rank. If any fails, the first of them says why, and all return
/// false: no rank goes on to wait for one that has stopped.
bool all_manage(const std::function<void()>& work) {
  std::string error;
  try {
    work();
  } catch (const std::exception& e) {
    error = e.what();
    if (error.empty()) error = "failed";
  }
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int failed = error.empty() ? ranks : world_rank();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (failed == world_rank()) {
    std::fprintf(stderr, "train_fashion: rank %d: %s\n", failed, error.c_str());
  }
  return failed == ranks;
}

void check(const Dataset& train, const Dataset& test) {
  if (train.pixels != test.pixels) throw std::runtime_error("training and test images differ");
  for (const Dataset* data : {&train, &test}) {
    for (const std::uint8_t label : data->labels) {
      if (label > 9) throw std::runtime_error("a label is above 9: this is not Fashion-MNIST");
    }
  }
}

int run(int argc, char** argv) {
  Options options;
  if (!all_manage([&] { options = parse_options(argc, argv); })) {
    if (world_rank() == 0) std::fputs(kUsage, stderr);
    return kBadUse;
  }
  if (options.help) {
    if (world_rank() == 0) std::fputs(kUsage, stdout);
    return 0;
  }
  std::unique_ptr<Average> average;
  if (!all_manage([&] { average = std::make_unique<Average>(options.method); })) return kBadUse;

  Dataset train;
  Dataset test;
  std::unique_ptr<Report> report;
  if (!all_manage([&] {
        train = read_dataset(options.data, "train");
        test = read_dataset(options.data, "t10k");
        check(train, test);
        int ranks = 1;
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
        if (world_rank() == 0) report = std::make_unique<Report>(options, average->name(), ranks);
      })) {
    return kFailed;
  }

  Training training(options, *average, train, test, MPI_COMM_WORLD);
  Progress progress;
  while (!training.done()) {
    if (!all_manage([&] {
          progress = training.epoch();
          if (report) report->epoch(progress);
        })) {
      return kFailed;
    }
  }
  const Times times = training.times();
  const bool told = all_manage([&] {
    if (report) report->result(progress, times, training.parameters());
  });
  return told ? 0 : kFailed;
}

}  // namespace
}  // namespace fashion

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = fashion::run(argc, argv);
  MPI_Finalize();
  return status;
}
