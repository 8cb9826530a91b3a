// SPDX-License-Identifier: BSD-3-Clause
// check.cpp - exact reductions, chunk by chunk, and their comparison with results.
//
// Every rank makes the inputs of all ranks (data.hpp), reduces them in a wider type (long double
// for double, modular arithmetic for integers) and compares. Ranks first agree on whether their
// results are the same bytes: if so, each looks at its share of the elements and speaks for all
// ranks, so that a check costs as much as making one rank's input; if not, each looks at its whole
// result. What the elements of the share should be is kept for the next row of as many elements.
#include "tools/check.hpp"

#include <algorithm>
#include <any>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

namespace wring::tools {
namespace {

constexpr std::uint64_t kChunk = 16384;
/// Memory of a rank for what is kept.
constexpr std::uint64_t kKeepBytes = std::uint64_t{512} << 20;

/// Elements whose bounds go together.
std::uint64_t block_of(const runtime::CallInfo& info) {
  return info.compressed ? info.choice.codec.block() : 1;
}

/// Sums over the elements that this rank has looked at.
struct Partial {
  double max_error = 0, bound = 0, signed_error = 0;
  std::uint64_t wrong = 0, seen = 0;

  void add(double error, double allowed) {
    ++seen;
    signed_error += error;
    const double size = std::isnan(error) ? HUGE_VAL : std::abs(error);
    max_error = std::max(max_error, size);
    bound = std::max(bound, allowed);
    if (!(size <= allowed)) ++wrong;
  }
};

/// Integers: what the operator does to bits.
template <class T>
requires std::is_integral_v<T>
class Exact {
 public:
  /// What n elements should be.
  struct Sums {
    explicit Sums(std::size_t n) : exact(n) {}
    static constexpr std::size_t kBytes = sizeof(T);  ///< for each element
    std::vector<T> exact;
  };

  Exact(const Checked& call, int size, std::size_t chunk) : call_(call), size_(size), input_(chunk) {}

  /// Elements [first, first + n), which `sums` has from `at` on.
  void reduce(std::uint64_t first, std::size_t n, Sums& sums, std::size_t at) {
    T* exact = &sums.exact[at];
    for (int r = 0; r < size_; ++r) {
      call_.data.fill(call_.element, r, first, n, input_.data());
      for (std::size_t i = 0; i < n; ++i) exact[i] = r == 0 ? input_[i] : combine(exact[i], input_[i]);
    }
  }

  void compare(std::uint64_t first, std::size_t n, const Sums& sums, std::size_t at, Partial& out) const {
    const T* result = static_cast<const T*>(call_.recv) + first;
    for (std::size_t i = 0; i < n; ++i) {
      // Through long double, which holds all 64 bits: the difference itself may overflow.
      const auto error = static_cast<long double>(result[i]) - static_cast<long double>(sums.exact[at + i]);
      out.add(static_cast<double>(error), 0);
    }
  }

 private:
  T combine(T a, T b) const {
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    switch (call_.op) {
      case Operator::min:
        return std::min(a, b);
      case Operator::max:
        return std::max(a, b);
      case Operator::prod:
        return static_cast<T>(x * y);
      case Operator::sum:
      case Operator::avg:
        break;
    }
    return static_cast<T>(x + y);
  }

  const Checked& call_;
  int size_;
  std::vector<T> input_;
};

/// Unit roundoff of a type and half its smallest number, for products, which are rounded to the
/// type after each multiplication.
struct Rounding {
  double unit, half_least;
};
constexpr Rounding rounding_of(Form form) {
  switch (form) {
    case Form::f16:
      return {0x1p-11, 0x1p-25};
    case Form::bf16:
      return {0x1p-8, 0x1p-134};
    case Form::f32:
      return {0x1p-24, 0x1p-150};
    default:
      return {0x1p-53, 0x1p-1074};
  }
}

/// Floating point: in Wide, with the published bound.
template <class T, class Wide>
class Inexact {
 public:
  /// What n elements should be, and the magnitudes that bounds are made of.
  struct Sums {
    explicit Sums(std::size_t n) : exact(n), abs(n), max(n) {}
    static constexpr std::size_t kBytes = sizeof(Wide) + 2 * sizeof(double);  ///< for each element
    std::vector<Wide> exact;
    std::vector<double> abs, max;
  };

  Inexact(const Checked& call, int size, std::size_t chunk)
      : call_(call),
        size_(size),
        bound_(call.info.compressed ? std::optional<plan::ErrorBound>(std::in_place, call.info.problem, call.info.choice)
                                    : std::nullopt),
        block_(block_of(call.info)),
        input_(chunk),
        wide_(chunk) {}

  /// Elements [first, first + n), which `sums` has from `at` on. first is a multiple of the block.
  void reduce(std::uint64_t first, std::size_t n, Sums& sums, std::size_t at) {
    std::fill_n(&sums.abs[at], n, call_.op == Operator::prod ? 1 : 0);
    std::fill_n(&sums.max[at], n, 0);
    for (int r = 0; r < size_; ++r) {
      call_.data.fill(call_.element, r, first, n, input_.data());
      widen(input_.data(), n, wide_.data());
      for (std::size_t i = 0; i < n; ++i) add(wide_[i], sums.exact[at + i], sums.abs[at + i], r == 0);
      add_block_maxima(n, &sums.max[at]);
    }
  }

  void compare(std::uint64_t first, std::size_t n, const Sums& sums, std::size_t at, Partial& out) {
    widen(static_cast<const T*>(call_.recv) + first, n, wide_.data());
    for (std::size_t i = 0; i < n; ++i) {
      Wide exact = sums.exact[at + i];
      if (call_.op == Operator::avg) exact /= size_;
      judge(wide_[i], exact, bound(sums.abs[at + i], sums.max[at + i], static_cast<double>(exact)), out);
    }
  }

 private:
  void add(Wide x, Wide& exact, double& sum_abs, bool first_rank) const {
    const double size = std::abs(static_cast<double>(x));
    switch (call_.op) {
      case Operator::sum:
      case Operator::avg:
        exact = first_rank ? x : exact + x;
        break;
      // NaN: kept, and any result is accepted; which operand MPI returns then is its own business.
      case Operator::min:
        exact = first_rank || x < exact || x != x ? x : exact;
        break;
      case Operator::max:
        exact = first_rank || x > exact || x != x ? x : exact;
        break;
      case Operator::prod:
        exact = first_rank ? x : exact * x;
        break;
    }
    if (call_.op == Operator::prod) {
      sum_abs *= std::max(1.0, size);  // what later factors make of an earlier error
    } else {
      sum_abs += size;
    }
  }

  void add_block_maxima(std::size_t n, double* sums) const {
    for (std::size_t begin = 0; begin < n; begin += block_) {
      const std::size_t end = std::min<std::size_t>(n, begin + block_);
      double largest = 0;
      for (std::size_t i = begin; i < end; ++i) {
        const double size = std::abs(static_cast<double>(wide_[i]));
        if (std::isfinite(size)) largest = std::max(largest, size);
      }
      for (std::size_t i = begin; i < end; ++i) sums[i] += largest;
    }
  }

  double bound(double sum_abs, double sum_max, double exact) const {
    if (size_ == 1 || call_.op == Operator::min || call_.op == Operator::max) return 0;
    if (call_.op == Operator::prod) {
      const Rounding r = rounding_of(call_.element.form);
      const double relative = std::expm1(size_ * std::log1p(r.unit));
      return std::abs(exact) * relative + size_ * r.half_least * sum_abs * (1 + relative);
    }
    return bound_ ? (*bound_)(sum_abs, sum_max, exact) : 0;
  }

  void judge(Wide result, Wide exact, double allowed, Partial& out) const {
    if (!std::isfinite(exact)) {
      const bool ordered = call_.op == Operator::min || call_.op == Operator::max;
      const bool right = std::isnan(exact) ? std::isnan(result) || ordered : result == exact;
      ++out.seen;
      if (!right) ++out.wrong, out.max_error = HUGE_VAL;
      return;
    }
    // Too large for the type: Inf of the same sign is right, and so is the largest finite value.
    if (std::isinf(result) &&
        std::abs(static_cast<double>(exact)) + allowed >= call_.element.highest &&
        std::signbit(result) == std::signbit(exact)) {
      ++out.seen;
      return;
    }
    out.add(static_cast<double>(result - exact), allowed);
  }

  const Checked& call_;
  int size_;
  std::optional<plan::ErrorBound> bound_;
  std::uint64_t block_;
  std::vector<T> input_;
  std::vector<Wide> wide_;
};

template <class T>
struct ReducerOf {
  using Type = Inexact<T, double>;
};
template <>
struct ReducerOf<double> {
  using Type = Inexact<double, long double>;
};
template <class T>
requires std::is_integral_v<T>
struct ReducerOf<T> {
  using Type = Exact<T>;
};

bool all_same(MPI_Comm comm, const void* data, std::uint64_t bytes) {
  const std::uint64_t mine = hash_bytes(data, bytes);
  std::uint64_t both[2] = {mine, ~mine}, least[2];
  MPI_Allreduce(both, least, 2, MPI_UINT64_T, MPI_MIN, comm);
  return least[0] == ~least[1];
}

/// Elements of the send buffer that are not what they were.
std::uint64_t changed(const Checked& call, int rank, std::uint64_t chunk) {
  const std::size_t each = call.element.bytes;
  if (call.send == nullptr || hash_bytes(call.send, call.count * each) == call.send_hash) return 0;
  const auto* at = static_cast<const std::byte*>(call.send);
  std::vector<std::byte> made(chunk * each);
  std::uint64_t wrong = 0;
  for (std::uint64_t first = 0; first < call.count; first += chunk) {
    const auto n = static_cast<std::size_t>(std::min(chunk, call.count - first));
    call.data.fill(call.element, rank, first, n, made.data());
    if (std::memcmp(made.data(), at + first * each, n * each) == 0) continue;
    for (std::size_t i = 0; i < n; ++i) {
      wrong += std::memcmp(&made[i * each], at + (first + i) * each, each) != 0;
    }
  }
  return wrong;
}

}  // namespace

std::uint64_t hash_bytes(const void* data, std::uint64_t bytes) noexcept {
  // Four lanes, so that multiplications overlap.
  constexpr std::size_t kLanes = 4;
  const auto* at = static_cast<const unsigned char*>(data);
  std::uint64_t lanes[kLanes] = {bytes, 1, 2, 3};
  const auto take = [](std::uint64_t& h, std::uint64_t word) {
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
  };
  for (; bytes >= 8 * kLanes; bytes -= 8 * kLanes, at += 8 * kLanes) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      std::uint64_t word;
      std::memcpy(&word, at + 8 * i, 8);
      take(lanes[i], word);
    }
  }
  for (; bytes > 0; --bytes, ++at) take(lanes[0], *at);
  for (std::size_t i = 1; i < kLanes; ++i) take(lanes[0], lanes[i]);
  return lanes[0];
}

/// Sums over a rank's share of the elements, and what they hold for.
struct Checker::Kept {
  std::uint64_t count, block;
  std::any sums;
};

Checker::Checker() = default;
Checker::~Checker() = default;

Verdict Checker::check(const Checked& call) {
  int rank = 0, size = 1;
  MPI_Comm_rank(call.comm, &rank);
  MPI_Comm_size(call.comm, &size);

  Verdict verdict;
  verdict.same_bytes = all_same(call.comm, call.recv, call.count * call.element.bytes);
  const std::uint64_t block = block_of(call.info);
  const std::uint64_t chunk = std::max(block, kChunk / block * block);
  const std::uint64_t chunks = call.count / chunk + (call.count % chunk != 0);
  const auto stride = static_cast<std::uint64_t>(verdict.same_bytes ? size : 1);
  const auto begin = static_cast<std::uint64_t>(verdict.same_bytes ? rank : 0);

  Partial mine;
  with_form(call.element.form, [&](auto zero) {
    using Reducer = typename ReducerOf<decltype(zero)>::Type;
    using Sums = typename Reducer::Sums;
    const auto longest = static_cast<std::size_t>(std::min(chunk, call.count));
    const auto share = static_cast<std::size_t>((chunks + stride - 1) / stride * longest);
    const bool known = verdict.same_bytes && kept_ != nullptr && kept_->count == call.count && kept_->block == block;
    // The rows with the most elements are those that take long.
    const bool keeps = verdict.same_bytes && share * Sums::kBytes <= kKeepBytes && (kept_ == nullptr || kept_->count <= call.count);
    if (keeps && !known) {
      kept_.reset();
      kept_ = std::make_unique<Kept>(Kept{call.count, block, std::make_any<Sums>(share)});
    }
    std::optional<Sums> passing;
    if (!keeps) passing.emplace(longest);
    Sums& sums = keeps ? *std::any_cast<Sums>(&kept_->sums) : *passing;
    Reducer reducer(call, size, longest);
    std::size_t at = 0;
    for (std::uint64_t c = begin; c < chunks; c += stride, at += keeps ? longest : 0) {
      const std::uint64_t first = c * chunk;
      const auto n = static_cast<std::size_t>(std::min(chunk, call.count - first));
      if (!known) reducer.reduce(first, n, sums, at);
      reducer.compare(first, n, sums, at, mine);
    }
  });
  if (verdict.same_bytes) mine.wrong *= static_cast<std::uint64_t>(size);
  mine.wrong += changed(call, rank, chunk) + (call.intact ? 0 : 1);

  const double largest[2] = {mine.max_error, mine.bound};
  double all_largest[2];
  MPI_Allreduce(largest, all_largest, 2, MPI_DOUBLE, MPI_MAX, call.comm);
  const std::uint64_t counts[2] = {mine.wrong, mine.seen};
  std::uint64_t all_counts[2];
  MPI_Allreduce(counts, all_counts, 2, MPI_UINT64_T, MPI_SUM, call.comm);
  double signed_error = 0;
  MPI_Allreduce(&mine.signed_error, &signed_error, 1, MPI_DOUBLE, MPI_SUM, call.comm);

  verdict.max_error = all_largest[0];
  verdict.bound = all_largest[1];
  verdict.wrong = all_counts[0];
  verdict.bias = all_counts[1] ? signed_error / static_cast<double>(all_counts[1]) : 0;
  return verdict;
}

}  // namespace wring::tools
