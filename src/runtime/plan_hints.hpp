// SPDX-License-Identifier: BSD-3-Clause
// plan_hints.hpp - what an MPI_Info says about a plan.
#pragma once

#include <mpi.h>

#include "plan/plan.hpp"

namespace wring::runtime {

/// Values of the keys that Wring knows, as text; fixed size, so that rank 0's can be sent to all. Empty: not
/// given.
struct PlanHints {
  char algorithm[64] = "";
  char segment[32] = "";
  char progress[16] = "";
  char tune_rules[1024] = "";

  /// Reads info, which may be MPI_INFO_NULL. invalid_arg (info) for a value that is too long.
  Status read(MPI_Info info);
  /// Names of the hints that differ, for a warning; empty if none does.
  std::string differences(const PlanHints& others) const;
  /// Changes settings. invalid_arg (info) with key, value and reason for one that makes no sense.
  Status apply(plan::Settings& settings) const;
  bool wants_thread() const;
};

}  // namespace wring::runtime
