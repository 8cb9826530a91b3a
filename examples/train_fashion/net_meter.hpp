// SPDX-License-Identifier: BSD-3-Clause
// net_meter.hpp - counts the bytes that all hosts of a communicator put on the network.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>

namespace fashion {

/// Reads the kernel's counter of a network device, hence everything that the host sends there,
/// headers and acknowledgements included, whoever sends it. One rank counts for each host.
class NetMeter {
 public:
  /// Collective. An empty device, or one that some host lacks, makes a meter that counts nothing.
  NetMeter(const std::string& device, MPI_Comm comm);

  /// What is sent between start and stop counts. Local.
  void start() { before_ = read(); }
  void stop() { sent_ += read() - before_; }

  /// Collective: the bytes so far, over all hosts, if they are counted.
  std::optional<std::uint64_t> total() const;

 private:
  std::uint64_t read() const;

  MPI_Comm comm_;
  std::string path_;  // of the counter; empty where another rank counts
  bool counting_ = false;
  std::uint64_t before_ = 0;
  std::uint64_t sent_ = 0;
};

}  // namespace fashion
