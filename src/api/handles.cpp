// SPDX-License-Identifier: BSD-3-Clause
// handles.cpp - Wring's datatypes and operator, and its version.
#include "api/entry.hpp"
#include "api/public.hpp"
#include "api/text.hpp"
#include "runtime/runtime.hpp"

using wring::api::mpi_entry;

// These return handles, not codes: they cannot throw, and give a null handle where there is none.
extern "C" MPI_Datatype WRING_Type_float16(void) { return wring::runtime::float16_type(); }
extern "C" MPI_Datatype WRING_Type_bfloat16(void) { return wring::runtime::bfloat16_type(); }
extern "C" MPI_Op WRING_Op_avg(void) { return wring::runtime::avg_op(); }

extern "C" int WRING_Get_version(int* major, int* minor, int* patch) {
  return mpi_entry(MPI_COMM_NULL, "WRING_Get_version", [&]() -> wring::Status {
    if (major == nullptr || minor == nullptr || patch == nullptr) {
      return wring::api::null_argument();
    }
    *major = WRING_VERSION_MAJOR;
    *minor = WRING_VERSION_MINOR;
    *patch = WRING_VERSION_PATCH;
    return {};
  });
}
