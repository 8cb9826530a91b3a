// SPDX-License-Identifier: BSD-3-Clause
// codec.hpp - interface of the codec room: what the bytes of a payload mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/dtype.hpp"
#include "base/status.hpp"
#include "kernels/kernels.hpp"

namespace wring::codec {

/// Parameters of a codec, as parsed from its specification. A codec uses those that it names.
struct Params {
  std::uint32_t block = 0;     ///< elements per block; 0 where the codec has no blocks
  bool stochastic = false;     ///< rounding=stochastic instead of nearest
  std::uint64_t seed = 0;      ///< of stochastic rounding
  bool operator==(const Params&) const = default;
};

/// What an encode may depend on besides its input: where in the job it happens. Two encodes of one
/// call differ in (rank, step, first element), two calls in start. Counters are added to.
struct Env {
  const kernels::Kernels* kernels = nullptr;
  std::uint32_t rank = 0;
  std::uint32_t step = 0;   ///< which encode of the schedule
  std::uint64_t start = 0;  ///< how many times the plan ran before
  std::uint64_t escapes = 0;     ///< OUT: blocks sent raw
  std::uint64_t overflows = 0;   ///< OUT: finite values that became infinities
};

/// A run of accumulator values: n elements of type real (float or double), the first of which is
/// element `first` of the caller's vector. `first` is a multiple of the codec's block.
struct ConstValues {
  const void* data;
  Real real;
  std::size_t n;
  std::uint64_t first;
};
struct Values {
  void* data;
  Real real;
  std::size_t n;
  std::uint64_t first;
};

/// Error of one rounding, as published: |decode(encode(x)) - x| <= relative * m + absolute, where
/// m is |x|, or the largest magnitude of x's block if of_block_max.
struct ErrorModel {
  double relative = 0;
  double absolute = 0;
  bool of_block_max = false;
};

/// What a codec costs and saves on the host, for predictions: bytes of accumulators per second on one
/// processor, 0 where nothing is done, and accumulator bytes per payload byte of data that do not
/// escape.
struct CostModel {
  double encode_rate = 0;
  double decode_rate = 0;  ///< decode and decode_add
  double ratio = 1;
};

/// A codec: one file of this room exports one constant object of this type, listed in codecs.def.
/// Functions are pure but for env's counters, never wait, allocate or throw, and may be called from
/// any thread. Payloads begin at multiples of 8 bytes in memory, values at multiples of their size.
struct Codec {
  const char* name;      ///< as in a specification
  const char* summary;   ///< one line for wring_info and the documentation
  const char* params;    ///< parameters and their values, "" if none: "block=8..16384,rounding=..."
  std::uint8_t wire_id;  ///< in frame headers; never reused
  bool lossy;            ///< false: decode(encode(x)) is x, bit for bit

  /// Parameters that a bare name stands for.
  Params defaults;
  /// Sets one parameter; invalid_arg for a name that is not this codec's, or a bad value.
  Status (*set)(Params& params, std::string_view name, std::string_view value) noexcept;
  /// Appends ":name=value,..." with every parameter of this codec, in a fixed order.
  void (*print)(const Params& params, std::string& out);

  /// Most bytes that encode writes for n elements; exact for some input. Monotonic in n.
  std::size_t (*max_encoded_bytes)(const Params& params, Real real, std::size_t n) noexcept;
  /// Writes the payload of in to out, which holds max_encoded_bytes; returns its size.
  std::size_t (*encode)(const Params& params, Env& env, ConstValues in, std::byte* out) noexcept;
  /// Reads a payload of out.n elements into out. Checks every length: corrupt_frame if payload is
  /// not what encode can have written, out then being undefined.
  Status (*decode)(const Params& params, const kernels::Kernels& kernels,
                   std::span<const std::byte> payload, Values out) noexcept;
  /// out[i] = sw * decoded[i] + sx * x[i], as kernels' add (canonical NaN); x has out's type and
  /// may be out's memory. sw, sx: powers of two.
  Status (*decode_add)(const Params& params, const kernels::Kernels& kernels,
                       std::span<const std::byte> payload, double sw, const void* x, double sx,
                       Values out) noexcept;
  ErrorModel (*error_model)(const Params& params, Real real) noexcept;
  CostModel (*cost_model)(const Params& params, Real real) noexcept;
};

/// A codec with its parameters: what a handle of the public interface stands for.
struct Spec {
  const Codec* codec = nullptr;
  Params params;
  /// "auto:...": the codec is what may be used, not what must be: raw where raw is faster.
  bool optional = false;

  /// Elements at whose multiples a vector may be cut: the block, or 1.
  std::size_t block() const noexcept { return params.block ? params.block : 1; }
  bool lossy() const noexcept { return codec->lossy; }
  bool operator==(const Spec&) const = default;
};

/// All codecs of this build, in the order of codecs.def; the first is `none`.
std::span<const Codec* const> all() noexcept;
/// Codec of that name or wire id; null if there is none.
const Codec* find(std::string_view name) noexcept;
const Codec* find(std::uint8_t wire_id) noexcept;

/// Parses "[auto:]name[:parameter=value,...]"; "auto" alone allows nothing but raw. The error text
/// quotes the specification and marks the place:
/// `codec spec "int8:blok=3": unknown parameter "blok" at character 6 (block, rounding, seed)`.
Status parse(std::string_view text, Spec& out);
/// Canonical form: parse(to_string(s)) == s.
std::string to_string(const Spec& spec);
/// 32-bit hash of the canonical form, the same on every machine: frames carry it.
std::uint32_t hash(const Spec& spec);

}  // namespace wring::codec
