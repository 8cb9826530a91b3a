// SPDX-License-Identifier: BSD-3-Clause
// plan.cpp - MPIX_Allreduce_compressed_init and MPIX_Plan_*.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "api/entry.hpp"
#include "api/public.hpp"
#include "api/text.hpp"
#include "runtime/runtime.hpp"

using wring::Arg;
using wring::Code;
using wring::Status;
using wring::api::mpi_entry;
using wring::api::null_argument;
using wring::runtime::CodecHandle;
using wring::runtime::PlanHandle;

namespace {

Status bad_number() { return {Code::invalid_arg, "the number of plans is negative", static_cast<int>(Arg::count)}; }

PlanHandle handle_of(MPIX_Plan plan) { return reinterpret_cast<PlanHandle>(plan); }

/// A function of one plan: its errors go through the handler of the plan's communicator.
template <class Body>
int plan_entry(MPIX_Plan plan, const char* function, Body&& body) {
  return mpi_entry([&] { return wring::runtime::plan_comm(handle_of(plan)); }, function, body);
}

Status create(const wring::runtime::Arguments& a, MPI_Info info, MPIX_Plan* plan) {
  if (plan == nullptr) return null_argument();
  PlanHandle handle = 0;
  WRING_TRY(wring::runtime::create_plan(a, info, handle));
  *plan = reinterpret_cast<MPIX_Plan>(handle);
  return {};
}

}  // namespace

extern "C" int MPIX_Allreduce_compressed_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                                              MPI_Op op, MPIX_Codec codec, MPI_Comm comm, MPI_Info info,
                                              MPIX_Plan* plan) {
  return mpi_entry(comm, "MPIX_Allreduce_compressed_init", [&] {
    return create({sendbuf, recvbuf, count, datatype, op, reinterpret_cast<CodecHandle>(codec), comm}, info, plan);
  });
}

extern "C" int MPIX_Allreduce_compressed_init_c(const void* sendbuf, void* recvbuf, MPI_Count count,
                                                MPI_Datatype datatype, MPI_Op op, MPIX_Codec codec, MPI_Comm comm,
                                                MPI_Info info, MPIX_Plan* plan) {
  return mpi_entry(comm, "MPIX_Allreduce_compressed_init_c", [&] {
    return create({sendbuf, recvbuf, count, datatype, op, reinterpret_cast<CodecHandle>(codec), comm}, info, plan);
  });
}

extern "C" int MPIX_Plan_start(MPIX_Plan plan) {
  return plan_entry(plan, "MPIX_Plan_start", [&] { return wring::runtime::start_plan(handle_of(plan)); });
}

extern "C" int MPIX_Plan_startall(int n, MPIX_Plan plans[]) {
  MPIX_Plan current = MPIX_PLAN_NULL;
  return mpi_entry([&] { return wring::runtime::plan_comm(handle_of(current)); }, "MPIX_Plan_startall", [&]() -> Status {
    if (n < 0) return bad_number();
    if (n > 0 && plans == nullptr) return null_argument();
    for (int i = 0; i < n; ++i) {
      current = plans[i];
      WRING_TRY(wring::runtime::start_plan(handle_of(current)));
    }
    return {};
  });
}

extern "C" int MPIX_Plan_wait(MPIX_Plan plan) {
  return plan_entry(plan, "MPIX_Plan_wait", [&] { return wring::runtime::wait_plan(handle_of(plan)); });
}

extern "C" int MPIX_Plan_waitall(int n, MPIX_Plan plans[]) {
  MPIX_Plan failed = MPIX_PLAN_NULL;
  return mpi_entry([&] { return wring::runtime::plan_comm(handle_of(failed)); }, "MPIX_Plan_waitall", [&]() -> Status {
    if (n < 0) return bad_number();
    if (n > 0 && plans == nullptr) return null_argument();
    Status first;
    std::string text;  // of the first error, which later waits may write over
    for (int i = 0; i < n; ++i) {
      if (plans[i] == MPIX_PLAN_NULL) continue;
      const Status status = wring::runtime::wait_plan(handle_of(plans[i]));
      if (!status.is_error() || first.is_error()) continue;
      failed = plans[i];
      text = status.what();
      first = status;
    }
    return first.is_error() ? wring::fail(first.code(), first.detail(), "%s", text.c_str()) : first;
  });
}

extern "C" int MPIX_Plan_test(MPIX_Plan plan, int* flag) {
  return plan_entry(plan, "MPIX_Plan_test", [&]() -> Status {
    if (flag == nullptr) return null_argument();
    bool over = false;
    const Status status = wring::runtime::test_plan(handle_of(plan), over);
    *flag = over;
    return status;
  });
}

extern "C" int MPIX_Plan_request(MPIX_Plan plan, MPI_Request* request) {
  return plan_entry(plan, "MPIX_Plan_request", [&] {
    return wring::runtime::request_plan(handle_of(plan), request, wring::api::make_code);
  });
}

extern "C" int MPIX_Plan_describe(MPIX_Plan plan, char* buf, int* len) {
  return plan_entry(plan, "MPIX_Plan_describe", [&]() -> Status {
    WRING_TRY(wring::api::check_out(buf, len));
    std::string text;
    WRING_TRY(wring::runtime::describe_plan(handle_of(plan), text));
    wring::api::copy_out(text, buf, len);
    return {};
  });
}

extern "C" int MPIX_Plan_get_stats(MPIX_Plan plan, MPIX_Stats* stats) {
  return plan_entry(plan, "MPIX_Plan_get_stats", [&]() -> Status {
    if (stats == nullptr) return null_argument();
    if (stats->size < sizeof stats->size) return {Code::invalid_arg, "stats->size must be sizeof(MPIX_Stats)", static_cast<int>(Arg::other)};
    wring::runtime::PlanStats s;
    WRING_TRY(wring::runtime::plan_stats(handle_of(plan), s));
    MPIX_Stats out{};
    out.size = stats->size;
    out.starts = static_cast<long long>(s.starts);
    out.raw_bytes = static_cast<long long>(s.raw_bytes);
    out.wire_bytes = static_cast<long long>(s.wire_bytes);
    out.frames = static_cast<long long>(s.frames);
    out.escapes = static_cast<long long>(s.escapes);
    out.seconds_total = s.seconds_total;
    out.seconds_encode = s.seconds_encode;
    out.seconds_decode = s.seconds_decode;
    out.seconds_wire = std::max(0.0, s.seconds_total - s.seconds_encode - s.seconds_decode);
    out.max_error = out.bias = std::nan("");
    std::memcpy(stats, &out, std::min(stats->size, sizeof out));
    return {};
  });
}

extern "C" int MPIX_Plan_free(MPIX_Plan* plan) {
  return plan_entry(plan != nullptr ? *plan : MPIX_PLAN_NULL, "MPIX_Plan_free", [&]() -> Status {
    if (plan == nullptr) return null_argument();
    WRING_TRY(wring::runtime::free_plan(handle_of(*plan)));
    *plan = MPIX_PLAN_NULL;
    return {};
  });
}
