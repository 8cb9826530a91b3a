// SPDX-License-Identifier: BSD-3-Clause
// net_meter.cpp - counts the bytes that all hosts of a communicator put on the network.
#include "net_meter.hpp"

#include <fstream>

namespace fashion {

NetMeter::NetMeter(const std::string& device, MPI_Comm comm) : comm_(comm) {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int rank = 0;
  MPI_Comm_rank(host, &rank);
  MPI_Comm_free(&host);
  if (rank == 0) path_ = "/sys/class/net/" + device + "/statistics/tx_bytes";

  int readable = !device.empty() && (path_.empty() || std::ifstream(path_).good());
  MPI_Allreduce(MPI_IN_PLACE, &readable, 1, MPI_INT, MPI_MIN, comm);
  counting_ = readable != 0;
}

std::uint64_t NetMeter::read() const {
  std::uint64_t bytes = 0;
  if (counting_ && !path_.empty()) std::ifstream(path_) >> bytes;
  return bytes;
}

std::optional<std::uint64_t> NetMeter::total() const {
  std::uint64_t bytes = 0;
  MPI_Allreduce(&sent_, &bytes, 1, MPI_UINT64_T, MPI_SUM, comm_);
  return counting_ ? std::optional(bytes) : std::nullopt;
}

}  // namespace fashion
