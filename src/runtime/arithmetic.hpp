// SPDX-License-Identifier: BSD-3-Clause
// arithmetic.hpp - what the steps of a program do to values, for one problem and codec.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/codec.hpp"
#include "plan/plan.hpp"

namespace wring::runtime {

/// Reduces types that Wring does not look into: inout[i] = in[i] op inout[i], in from the lower ranks.
struct OpaqueReduce {
  Status (*reduce)(void* context, const void* in, void* inout, std::size_t n) noexcept = nullptr;
  void* context = nullptr;
  bool calls_mpi = false;
};

/// How the bytes of an operand represent values.
enum class Form : std::uint8_t {
  typed,    ///< as in the caller's buffers
  real,     ///< accumulators; for fp32, fp64 and opaque types the same as typed
  encoded,  ///< a payload of the codec
};

struct View {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  Form form = Form::typed;
  int scale = 0;          ///< of a partial average, below
  bool finished = false;  ///< divided already
};

/// Partial averages carry a scale: their values are 2^-scale times the sum. It is 0, so that nothing
/// underflows, unless a sum of finite values would overflow; then, and before a lossy codec, whose range may
/// be smaller, it is that of an average, ceil(log2 ranks). Sums have scale 0. Stateless; nothing allocates.
class Arithmetic {
 public:
  Arithmetic(const plan::Problem& problem, const codec::Spec& spec, const kernels::Kernels& kernels);

  /// The form in which values of that content travel, raw: whatever the codec; and the payload size of n
  /// values, 0 if it varies.
  Form wire_form(codec::Content content, bool raw) const noexcept;
  std::size_t wire_bytes(codec::Content content, bool raw, std::size_t n) const noexcept;
  /// Bytes of n accumulators.
  std::size_t real_bytes(std::size_t n) const noexcept { return n * real_size_; }

  /// What every rank decodes from a frame is n values starting at element `first` of the vector.
  struct Place {
    std::uint64_t first;
    std::size_t n;
  };

  /// out (accumulators) = a + b, a from the lower ranks; ranks: how many contributions out holds. out may
  /// be the memory of a or b where those are of form real and the operator is not the average. Returns the
  /// scale of out in scale.
  Status combine(View a, View b, std::uint32_t ranks, Place place, std::byte* out, int& scale) const noexcept;
  /// The same for sums of n values of form real, for those who count nanoseconds.
  void add(const std::byte* a, const std::byte* b, std::size_t n, std::byte* out) const noexcept {
    if (real_ == Real::f64) {
      kernels_.f64.add(reinterpret_cast<const double*>(a), 1.0, reinterpret_cast<const double*>(b), 1.0, n, reinterpret_cast<double*>(out));
    } else {
      kernels_.f32.add(reinterpret_cast<const float*>(a), 1.0f, reinterpret_cast<const float*>(b), 1.0f, n, reinterpret_cast<float*>(out));
    }
  }
  /// Encodes v, the sum over `ranks` ranks; scratch holds real_bytes(n). Returns the scale in scale.
  std::size_t encode(codec::Env& env, View v, std::uint32_t ranks, Place place, std::byte* scratch,
                     std::byte* out, int& scale) const noexcept;
  /// Turns accumulators of that scale over all ranks into the sum or average, in place.
  void finish(std::byte* values, int scale, Place place) const noexcept;
  /// Rounds accumulators to the caller's type.
  void narrow(const std::byte* values, Place place, void* result) const noexcept;
  /// Decodes v to the caller's type; scratch holds real_bytes(n).
  Status store(View v, Place place, std::byte* scratch, void* result) const noexcept;

  void set_opaque(OpaqueReduce reduce) noexcept { opaque_ = reduce; }
  bool wide() const noexcept { return wide_; }

 private:
  template <class R>
  Status combine_real(View a, R sa, View b, R sb, Place place, R* out) const noexcept;
  template <class R>
  Status widen(View v, Place place, R* out) const noexcept;
  template <class R>
  const std::byte* rescale(View v, int scale, Place place, std::byte* scratch) const noexcept;
  template <class R>
  Status average(View a, View b, std::uint32_t ranks, Place place, R* out, int& scale) const noexcept;

  const plan::Problem& problem_;
  const codec::Spec& spec_;
  const kernels::Kernels& kernels_;
  OpaqueReduce opaque_;
  Real real_;
  bool wide_;  ///< accumulators have the caller's type
  std::size_t real_size_;
};

}  // namespace wring::runtime
