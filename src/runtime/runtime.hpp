// SPDX-License-Identifier: BSD-3-Clause
// runtime.hpp - interface of the runtime room: the calls behind the public functions.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "codec/codec.hpp"
#include "plan/plan.hpp"

namespace wring::runtime {

// --- codec handles ----------------------------------------------------------------------------------

/// Handles are numbers that fit a pointer: the predefined ones below 16, others slot and generation, so
/// that a freed handle is recognised. Thread-safe, usable before MPI_Init.
using CodecHandle = std::uintptr_t;

Status create_codec(const char* spec, CodecHandle& out);
/// invalid_arg for a predefined, freed or null handle.
Status free_codec(CodecHandle handle);
/// The specification, which outlives the handle; null if the handle is not valid.
const codec::Spec* find_codec(CodecHandle handle) noexcept;

// --- the process ------------------------------------------------------------------------------------

/// not_initialized outside MPI_Init ... MPI_Finalize.
Status check_mpi() noexcept;
/// The datatypes and operator that Wring adds, made at first use; null handles if they cannot be had.
MPI_Datatype float16_type() noexcept;
MPI_Datatype bfloat16_type() noexcept;
MPI_Op avg_op() noexcept;

// --- the collective ---------------------------------------------------------------------------------

/// What the caller asks for.
struct Arguments {
  const void* send;
  void* recv;
  MPI_Count count;
  MPI_Datatype datatype;
  MPI_Op op;
  CodecHandle codec;
  MPI_Comm comm;
};

/// Makes an MPI error code with a text, without calling an error handler.
using MakeCode = int (*)(const char* function, Status status) noexcept;

/// MPIX_Allreduce_compressed. Collective, blocking. Status of code mpi_error: detail is the code of the
/// MPI function that failed, whose error handler has been called.
Status allreduce(const Arguments& a);
/// MPIX_Iallreduce_compressed. make_code is asked for the code of an error that the request ends with.
Status iallreduce(const Arguments& a, MPI_Request* request, MakeCode make_code);

// --- plans ------------------------------------------------------------------------------------------

using PlanHandle = std::uintptr_t;  ///< 0: none

/// MPIX_Allreduce_compressed_init. Collective.
Status create_plan(const Arguments& a, MPI_Info info, PlanHandle& out);
/// The communicator whose error handler hears of the plan's errors; MPI_COMM_NULL if it is gone, or there is
/// no such plan.
MPI_Comm plan_comm(PlanHandle plan) noexcept;
Status start_plan(PlanHandle plan);
/// Returns the error that the start ended with.
Status wait_plan(PlanHandle plan);
Status test_plan(PlanHandle plan, bool& over);
Status request_plan(PlanHandle plan, MPI_Request* request, MakeCode make_code);
Status free_plan(PlanHandle plan);
Status describe_plan(PlanHandle plan, std::string& out);

/// What a plan has done so far, on this rank.
struct PlanStats {
  std::uint64_t starts = 0, raw_bytes = 0, wire_bytes = 0, frames = 0, escapes = 0;
  double seconds_total = 0, seconds_encode = 0, seconds_decode = 0;
};
Status plan_stats(PlanHandle plan, PlanStats& out);

// --- for tools and tests ----------------------------------------------------------------------------

/// What the last call on a communicator did, on this rank.
struct CallInfo {
  bool compressed = false;  ///< ran in Wring; false: through MPI_Allreduce, or nothing to do
  plan::Problem problem;
  plan::Choice choice;
  std::uint64_t segment_bytes = 0;
  const char* transport = "";
  std::uint64_t raw_bytes = 0, wire_bytes = 0, frames = 0, escapes = 0, overflows = 0;
};
CallInfo last_call(MPI_Comm comm);
/// What the last start of a plan that has ended did.
CallInfo last_start(PlanHandle plan);

/// Uses that algorithm ("auto": choose) for all further calls on comm. Collective.
Status set_algorithm(MPI_Comm comm, const std::string& name);
/// Pretends that `start` calls have been made on comm. Collective.
Status set_next_start(MPI_Comm comm, std::uint32_t start);
/// The same for a plan, which must be inactive.
Status set_next_plan_start(PlanHandle plan, std::uint32_t start);

}  // namespace wring::runtime
