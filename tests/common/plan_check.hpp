// SPDX-License-Identifier: BSD-3-Clause
// plan_check.hpp - plans over guarded buffers whose sums are known, for test programs with several
// ranks.
#pragma once

#include <mpi.h>
#include <wring.h>

#include <cmath>
#include <string>
#include <vector>

#include "mpi_check.hpp"

namespace wring::test {

/// A plan that sums floats. Element i of rank r is value * (r + 1) * (1 + i % 7): with a power of
/// two as value every sum is exact with all codecs whose significand has 8 bits, up to 8 ranks.
class SumPlan {
 public:
  /// Collective. Errors of the creation are in code().
  SumPlan(int n, MPIX_Codec codec, MPI_Comm comm = MPI_COMM_WORLD, bool in_place = false,
          MPI_Info info = MPI_INFO_NULL)
      : send_(static_cast<std::size_t>(n)), recv_(send_.size()), in_place_(in_place) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    tolerance_ = codec == MPIX_CODEC_INT8 ? 0.02 : codec == MPIX_CODEC_INT4 ? 0.5 : 0;
    fill(-2);  // what the buffers hold now must not matter
    code_ = MPIX_Allreduce_compressed_init(in_place ? MPI_IN_PLACE : send_.data(), recv_.data(), n,
                                           MPI_FLOAT, MPI_SUM, codec, comm, info, &plan);
  }
  SumPlan(const SumPlan&) = delete;
  SumPlan& operator=(const SumPlan&) = delete;
  ~SumPlan() {
    if (plan != MPIX_PLAN_NULL) CHECK_SUCCESS(MPIX_Plan_free(&plan));
  }

  MPIX_Plan plan = MPIX_PLAN_NULL;

  int code() const { return code_; }
  float first() { return recv_[0]; }
  Guarded<float>& result() { return recv_; }

  /// The input of the next start, and rubbish where the result will be.
  void fill(double value) {
    value_ = value;
    for (std::size_t i = 0; i < send_.size(); ++i) {
      (in_place_ ? recv_ : send_)[i] = input(i);
      if (!in_place_) recv_[i] = -1;
    }
  }

  /// The result, the guards, and that the input is as it was.
  void check(const char* where) {
    std::size_t wrong = 0, first_wrong = 0, written = 0;
    for (std::size_t i = 0; i < recv_.size(); ++i) {
      const double exact = value_ * size_ * (size_ + 1) / 2 * static_cast<double>(1 + i % 7);
      const double most = value_ * size_ * (size_ + 1) / 2 * 7;
      if (!(std::abs(recv_[i] - exact) <= tolerance_ * std::abs(most)) && wrong++ == 0)
        first_wrong = i;
      if (!in_place_) written += send_[i] != input(i);
    }
    CHECK(wrong == 0, "%s: %zu of %zu elements are wrong; element %zu is %g, value %g", where,
          wrong, recv_.size(), first_wrong,
          recv_.size() ? static_cast<double>(recv_[first_wrong]) : 0, value_);
    CHECK(written == 0, "%s: the send buffer was written", where);
    CHECK(recv_.guards_whole() && send_.guards_whole(), "%s: guards", where);
  }

 private:
  float input(std::size_t i) const {
    return static_cast<float>(value_ * (rank_ + 1) * static_cast<double>(1 + i % 7));
  }

  Guarded<float> send_, recv_;
  bool in_place_;
  int rank_ = 0, size_ = 1, code_ = 0;
  double value_ = 0, tolerance_ = 0;
};

inline MPIX_Stats stats_of(MPIX_Plan plan) {
  MPIX_Stats stats;
  std::memset(&stats, 0x5a, sizeof stats);
  stats.size = sizeof stats;
  CHECK_SUCCESS(MPIX_Plan_get_stats(plan, &stats));
  return stats;
}

inline std::string description_of(MPIX_Plan plan) {
  int len = 0;
  CHECK_SUCCESS(MPIX_Plan_describe(plan, nullptr, &len));
  std::string text(static_cast<std::size_t>(len), '?');
  CHECK_SUCCESS(MPIX_Plan_describe(plan, text.data(), &len));
  text.resize(text.size() - 1);
  return text;
}

/// Whether MPI's own calls move every start on, not just those that look at one of its requests:
/// Open MPI's do, and a progress thread does it for any MPI.
inline bool moves_on_in_any_call() {
#ifdef OPEN_MPI
  return true;
#else
  return false;  // nor with a thread of Wring's, which may complete no request below MPI_THREAD_MULTIPLE
#endif
}

#define CHECK_CLASS(call, expected)                                                            \
  do {                                                                                         \
    const int code_ = (call);                                                                  \
    CHECK(code_ != MPI_SUCCESS && ::wring::test::error_class(code_) == (expected),             \
          "%s gives %d: %s", #call, code_, ::wring::test::error_text(code_));                  \
  } while (false)

}  // namespace wring::test
