// SPDX-License-Identifier: BSD-3-Clause
// measure.hpp - times one combination of size, type, codec and algorithm.
#pragma once

#include <mpi.h>
#include <wring.h>

#include <cstdint>
#include <optional>
#include <string>

#include "tools/check.hpp"
#include "tools/options.hpp"

namespace wring::tools {

/// One line of the table. What was not measured is empty.
struct Row {
  std::uint64_t bytes = 0, count = 0;
  const Element* element = nullptr;
  std::string codec;       ///< as asked for
  std::string used_codec;  ///< name of the one that ran; empty if none did
  std::string algorithm;   ///< that ran; empty if none did
  std::optional<std::uint64_t> segment, raw_bytes, wire_bytes;
  std::string transport, device;
  double seconds = 0;  ///< median over calls of the slowest rank
  std::optional<double> mpi_seconds;
  std::optional<double> predicted_seconds;  ///< by the plan
  std::optional<Verdict> verdict;
};

/// The buffers of one element type and the calls on them. Send buffer: this rank's input, which
/// does not depend on the size of the message, so it is made once; receive buffer between guards.
class Bench {
 public:
  /// Allocates for messages of up to max_bytes; throws std::bad_alloc.
  Bench(const Options& options, const Data& data, const Element& element, std::uint64_t max_bytes,
        MPI_Comm comm);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  /// Collective. Fills all of `row` from its bytes, element and codec; false on all ranks after an
  /// MPI error, which has been printed.
  bool run(MPIX_Codec codec, Row& row);

 private:
  struct Times;
  void prepare(std::uint64_t bytes, bool last) noexcept;
  int make_plan(MPIX_Codec codec);
  int call(MPIX_Codec codec);
  int call_wring(MPIX_Codec codec, double& seconds);
  int call_mpi(double& seconds);
  int time_calls(MPIX_Codec codec, std::uint64_t bytes, Times& times);
  bool intact(std::uint64_t bytes) const noexcept;

  const Options& options_;
  const Data& data_;
  const Element& element_;
  MPI_Comm comm_;
  int rank_ = 0, size_ = 1;
  bool baseline_;
  std::byte* send_ = nullptr;
  std::byte* recv_ = nullptr;  // behind the first guard
  std::uint64_t count_ = 0;
  MPIX_Plan plan_ = MPIX_PLAN_NULL;
  Checker checker_;
};

}  // namespace wring::tools
