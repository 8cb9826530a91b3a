// SPDX-License-Identifier: BSD-3-Clause
// check.hpp - compares the result of an all-reduce with the exact one.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "runtime/runtime.hpp"
#include "tools/data.hpp"

namespace wring::tools {

/// What was called, with which data, and what came out.
struct Checked {
  const Data& data;
  const Element& element;
  Operator op;
  MPI_Comm comm;
  std::uint64_t count;
  const void* send;  ///< null if it may have changed: in place
  std::uint64_t send_hash;  ///< of its bytes before the call
  const void* recv;
  bool intact;  ///< what lies beside recv is as it was
  runtime::CallInfo info;
};

/// The same on all ranks.
struct Verdict {
  double max_error =
      0;             ///< largest error of an element; infinite if one is not finite and should be
  double bound = 0;  ///< largest bound of an element
  double bias = 0;   ///< mean of result - exact
  bool same_bytes = true;  ///< on all ranks
  std::uint64_t wrong =
      0;  ///< elements beyond their bound, or written where none should be, over all ranks
};

/// Tells buffers apart.
std::uint64_t hash_bytes(const void* data, std::uint64_t bytes) noexcept;

/// For calls with the same data, element, operator and communicator.
class Checker {
 public:
  Checker();
  ~Checker();
  /// Collective.
  Verdict check(const Checked& call);

 private:
  struct Kept;
  std::unique_ptr<Kept> kept_;
};

}  // namespace wring::tools
