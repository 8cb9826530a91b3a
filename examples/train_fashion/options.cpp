// SPDX-License-Identifier: BSD-3-Clause
// options.cpp - the command line.
#include "options.hpp"

#include <getopt.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>

namespace fashion {

const char* const kUsage =
    "Usage: mpirun -n RANKS train_fashion [OPTION]...\n"
    "Trains a network on Fashion-MNIST, the images of each step shared out over the ranks.\n"
    "\n"
    "  --method METHOD   how gradients are averaged: mpi (MPI_Allreduce), or a codec for\n"
    "                    MPIX_Allreduce_compressed: none, bf16, int8, int4, ... (default bf16);\n"
    "                    int8+plans and so on: in parts, by plans started in back-propagation\n"
    "  --epochs N        passes over the training images (default 5)\n"
    "  --batch N         images in one step, over all ranks (default 256)\n"
    "  --lr X            learning rate at the start; it falls to 0 in a line (default 0.08)\n"
    "  --seed N          seed of the first weights and of the order of images (default 1)\n"
    "  --max-steps N     stop after N steps\n"
    "  --data DIR        where the data are (default /usr/share/datasets/fashion-mnist)\n"
    "  --json FILE       append a JSON object for each epoch and one for the run to FILE;\n"
    "                    without it the latter goes to standard output\n"
    "  --net-device DEV  count what each host sends on DEV\n"
    "  --quiet           no progress on standard error\n"
    "  --help            this text\n";

namespace {

std::uint64_t parse_count(const std::string& name, const char* text, std::uint64_t lowest) {
  char* end = nullptr;
  errno = 0;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (end == text || *end != '\0' || *text == '-' || errno != 0 || value < lowest ||
      value > std::uint64_t{std::numeric_limits<int>::max()}) {
    throw std::invalid_argument("--" + name + " takes a whole number of at least " +
                                std::to_string(lowest) + ", not '" + text + "'");
  }
  return value;
}

double parse_rate(const std::string& name, const char* text) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != '\0' || !std::isfinite(value) || value <= 0.0) {
    throw std::invalid_argument("--" + name + " takes a number above 0, not '" + text + "'");
  }
  return value;
}

}  // namespace

Options parse_options(int argc, char** argv) {
  enum { method = 256, epochs, batch, lr, seed, max_steps, data, json, net_device, quiet, help };
  static const option known[] = {{"method", required_argument, nullptr, method},
                                 {"epochs", required_argument, nullptr, epochs},
                                 {"batch", required_argument, nullptr, batch},
                                 {"lr", required_argument, nullptr, lr},
                                 {"seed", required_argument, nullptr, seed},
                                 {"max-steps", required_argument, nullptr, max_steps},
                                 {"data", required_argument, nullptr, data},
                                 {"json", required_argument, nullptr, json},
                                 {"net-device", required_argument, nullptr, net_device},
                                 {"quiet", no_argument, nullptr, quiet},
                                 {"help", no_argument, nullptr, help},
                                 {nullptr, 0, nullptr, 0}};
  Options options;
  opterr = 0;  // one rank, not each, says what is wrong
  for (int at = optind;; at = optind) {
    int index = -1;
    const int found = getopt_long(argc, argv, ":", known, &index);
    if (found == -1) break;
    const std::string name = index >= 0 ? known[index].name : "";
    switch (found) {
      case method:
        options.method = optarg;
        break;
      case epochs:
        options.epochs = parse_count(name, optarg, 1);
        break;
      case batch:
        options.batch = parse_count(name, optarg, 1);
        break;
      case lr:
        options.rate = parse_rate(name, optarg);
        break;
      case seed:
        options.seed = parse_count(name, optarg, 0);
        break;
      case max_steps:
        options.max_steps = parse_count(name, optarg, 1);
        break;
      case data:
        options.data = optarg;
        break;
      case json:
        options.json = optarg;
        break;
      case net_device:
        options.net_device = optarg;
        break;
      case quiet:
        options.quiet = true;
        break;
      case help:
        options.help = true;
        break;
      case ':':
        throw std::invalid_argument(std::string(argv[at]) + " takes a value");
      default:
        throw std::invalid_argument(std::string("unknown option ") + argv[at]);
    }
  }
  if (optind < argc) throw std::invalid_argument(std::string("unexpected ") + argv[optind]);
  return options;
}

}  // namespace fashion
