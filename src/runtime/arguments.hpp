// SPDX-License-Identifier: BSD-3-Clause
// arguments.hpp - the arguments that all forms of the all-reduce share, and what is wrong with them.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "runtime/datatype.hpp"
#include "runtime/runtime.hpp"

namespace wring::runtime {

class Process;

inline Status bad(Arg arg, const char* what) { return {Code::invalid_arg, what, static_cast<int>(arg)}; }

/// Buffers of `bytes` > 0 bytes of a type without gaps.
Status check_buffers(const void* send, const void* recv, std::uint64_t bytes);
/// Everything that a rank can see for itself but the communicator; says how the call is reduced.
Status examine(const Arguments& a, Reduction& out);
/// Whether comm is an inter-communicator, which Wring's own types and operators cannot use.
Status examine_inter(const Process& process, const Arguments& a, const Reduction& reduction, bool& inter);

/// One rank alone: the result is the input, bit for bit.
void run_alone(const void* send, void* recv, std::uint64_t bytes);

}  // namespace wring::runtime
