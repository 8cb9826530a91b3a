// SPDX-License-Identifier: BSD-3-Clause
// measure.cpp - runs and times calls.
//
// All ranks meet in a barrier before each call, and a call's time is that of its slowest rank; with
// --baseline, calls of Wring and of MPI take turns, so that both see the same machine. Times are
// gathered after the last call.
#include "tools/measure.hpp"

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "device/device.hpp"
#include "runtime/runtime.hpp"

namespace wring::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kGuard{0x5a};
/// What a result that nobody writes looks like: no number near any sum.
constexpr std::byte kUnwritten{0xa5};

/// Timed calls if nothing is said: many of small messages, whose times vary most.
constexpr std::int64_t kMostCalls = 1000, kLeastCalls = 5;
constexpr std::uint64_t kManyBytes = 64 * 1024;
/// A row's calls shall take about so long at most, as far as the least number of calls allows.
constexpr double kRowSeconds = 2;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::byte* allocate(std::uint64_t bytes) {
  constexpr std::size_t kPage = 4096;
  void* memory = std::aligned_alloc(kPage, (bytes + kPage) / kPage * kPage);
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

double median_of_slowest(std::vector<double>& mine, MPI_Comm comm) {
  std::vector<double> slowest(mine.size());
  MPI_Reduce(mine.data(), slowest.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_MAX, 0,
             comm);
  const std::size_t half = slowest.size() / 2;
  std::nth_element(slowest.begin(), slowest.begin() + static_cast<std::ptrdiff_t>(half),
                   slowest.end());
  if (slowest.size() % 2) return slowest[half];
  return (slowest[half] +
          *std::max_element(slowest.begin(), slowest.begin() + static_cast<std::ptrdiff_t>(half))) /
         2;
}

}  // namespace

struct Bench::Times {
  std::vector<double> wring, mpi;
};

Bench::Bench(const Options& options, const Data& data, const Element& element,
             std::uint64_t max_bytes, MPI_Comm comm)
    : options_(options),
      data_(data),
      element_(element),
      comm_(comm),
      baseline_(options.baseline && known_to_mpi(element) && max_bytes / element.bytes <= INT_MAX) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &size_);
  send_ = allocate(max_bytes);
  try {
    // The guard in front takes a page, so that buffers are aligned as large ones usually are.
    recv_ = allocate(max_bytes + 2 * 4096) + 4096;
  } catch (...) {
    std::free(send_);
    throw;
  }
  data_.fill(element_, rank_, 0, static_cast<std::size_t>(max_bytes / element.bytes), send_);
}

Bench::~Bench() {
  std::free(send_);
  std::free(recv_ - 4096);
}

/// Before a call: its input and, before the last one of a check, its output.
void Bench::prepare(std::uint64_t bytes, bool last) noexcept {
  if (options_.in_place) {
    std::memcpy(recv_, send_, bytes);
  } else if (last) {
    std::memset(recv_, static_cast<int>(kUnwritten), bytes);
  }
}

int Bench::make_plan(MPIX_Codec codec) {
  const void* input = options_.in_place ? MPI_IN_PLACE : send_;
  return MPIX_Allreduce_compressed_init_c(input, recv_, static_cast<MPI_Count>(count_),
                                          mpi_type(element_), mpi_op(options_.op), codec, comm_,
                                          MPI_INFO_NULL, &plan_);
}

int Bench::call(MPIX_Codec codec) {
  const void* input = options_.in_place ? MPI_IN_PLACE : send_;
  MPI_Datatype type = mpi_type(element_);
  MPI_Op op = mpi_op(options_.op);
  const auto count = static_cast<MPI_Count>(count_);
  switch (options_.form) {
    case CallForm::plan: {
      const int code = MPIX_Plan_start(plan_);
      return code == MPI_SUCCESS ? MPIX_Plan_wait(plan_) : code;
    }
    case CallForm::nonblocking: {
      MPI_Request request = MPI_REQUEST_NULL;
      const int code =
          MPIX_Iallreduce_compressed_c(input, recv_, count, type, op, codec, comm_, &request);
      return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
    }
    case CallForm::blocking:
      break;
  }
  if (count_ > INT_MAX) {
    return MPIX_Allreduce_compressed_c(input, recv_, count, type, op, codec, comm_);
  }
  return MPIX_Allreduce_compressed(input, recv_, static_cast<int>(count_), type, op, codec, comm_);
}

int Bench::call_wring(MPIX_Codec codec, double& seconds) {
  MPI_Barrier(comm_);
  const auto begin = Clock::now();
  const int code = call(codec);
  seconds = since(begin);
  return code;
}

int Bench::call_mpi(double& seconds) {
  const void* input = options_.in_place ? MPI_IN_PLACE : send_;
  const bool average = options_.op == Operator::avg;
  MPI_Op op = average ? MPI_SUM : mpi_op(options_.op);
  MPI_Barrier(comm_);
  const auto begin = Clock::now();
  const int code =
      MPI_Allreduce(input, recv_, static_cast<int>(count_), mpi_type(element_), op, comm_);
  if (average) {
    // As programs average that have nothing better.
    const auto scale = [this](auto* values) {
      using T = std::remove_pointer_t<decltype(values)>;
      const T factor = T{1} / static_cast<T>(size_);
      for (std::uint64_t i = 0; i < count_; ++i) values[i] *= factor;
    };
    element_.form == Form::f64 ? scale(reinterpret_cast<double*>(recv_))
                               : scale(reinterpret_cast<float*>(recv_));
  }
  seconds = since(begin);
  return code;
}

int Bench::time_calls(MPIX_Codec codec, std::uint64_t bytes, Times& times) {
  std::int64_t warmup = options_.warmup, calls = options_.iterations;
  if (warmup < 0) warmup = bytes <= kManyBytes ? 10 : 2;
  double wring = 0, mpi = 0;
  const auto both = [&](bool last) {
    if (baseline_) {
      prepare(bytes, false);
      if (const int code = call_mpi(mpi); code != MPI_SUCCESS) return code;
    }
    prepare(bytes, last && options_.check);
    return call_wring(codec, wring);
  };
  for (std::int64_t i = 0; i < warmup; ++i) {
    if (const int code = both(false); code != MPI_SUCCESS) return code;
  }
  if (calls < 0) {
    calls = std::max(kLeastCalls, bytes <= kManyBytes
                                      ? kMostCalls
                                      : static_cast<std::int64_t>(kMostCalls * kManyBytes / bytes));
    // The slowest rank's last warm-up decides for all.
    double each = wring + mpi;
    MPI_Allreduce(MPI_IN_PLACE, &each, 1, MPI_DOUBLE, MPI_MAX, comm_);
    if (each > 0)
      calls = std::min(calls, std::max(kLeastCalls, static_cast<std::int64_t>(kRowSeconds / each)));
  }
  for (std::int64_t i = 0; i < calls; ++i) {
    if (const int code = both(i == calls - 1); code != MPI_SUCCESS) return code;
    times.wring.push_back(wring);
    if (baseline_) times.mpi.push_back(mpi);
  }
  return MPI_SUCCESS;
}

bool Bench::intact(std::uint64_t bytes) const noexcept {
  const auto whole = [](const std::byte* guard) {
    return std::all_of(guard, guard + kGuardBytes, [](std::byte b) { return b == kGuard; });
  };
  return whole(recv_ - kGuardBytes) && whole(recv_ + bytes);
}

bool Bench::run(MPIX_Codec codec, Row& row) {
  count_ = row.count;
  const std::uint64_t bytes = row.bytes;
  std::memset(recv_ - kGuardBytes, static_cast<int>(kGuard), kGuardBytes);
  std::memset(recv_ + bytes, static_cast<int>(kGuard), kGuardBytes);

  const std::uint64_t send_hash = options_.check ? hash_bytes(send_, bytes) : 0;
  Times times;
  int code = options_.form == CallForm::plan ? make_plan(codec) : MPI_SUCCESS;
  if (code == MPI_SUCCESS) code = time_calls(codec, bytes, times);
  if (code != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    std::fprintf(stderr, "wring_perf: rank %d: %s\n", rank_, text);
    return false;
  }
  row.seconds = median_of_slowest(times.wring, comm_);
  if (!times.mpi.empty()) row.mpi_seconds = median_of_slowest(times.mpi, comm_);

  const runtime::CallInfo info =
      plan_ != MPIX_PLAN_NULL
          ? runtime::last_start(reinterpret_cast<runtime::PlanHandle>(plan_))
          : runtime::last_call(comm_);
  if (plan_ != MPIX_PLAN_NULL) MPIX_Plan_free(&plan_);
  row.transport = info.transport;
  row.device = device::owner_of(recv_).name;
  if (info.compressed) {
    row.algorithm = info.choice.algorithm->name;
    row.used_codec = info.choice.codec.codec->name;
    row.segment = info.segment_bytes;
    if (info.choice.seconds > 0) row.predicted_seconds = info.choice.seconds;
    const std::uint64_t mine[2] = {info.raw_bytes, info.wire_bytes};
    std::uint64_t all[2] = {};
    MPI_Reduce(mine, all, 2, MPI_UINT64_T, MPI_SUM, 0, comm_);
    row.raw_bytes = all[0];
    row.wire_bytes = all[1];
  }
  if (options_.check) {
    row.verdict = checker_.check({.data = data_,
                                  .element = element_,
                                  .op = options_.op,
                                  .comm = comm_,
                                  .count = count_,
                                  .send = options_.in_place ? nullptr : send_,
                                  .send_hash = send_hash,
                                  .recv = recv_,
                                  .intact = intact(bytes),
                                  .info = info});
  }
  return true;
}

}  // namespace wring::tools
