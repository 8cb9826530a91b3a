// SPDX-License-Identifier: BSD-3-Clause
// element.hpp - the element types and operators that wring_perf measures.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace wring::tools {

/// 16-bit values as they lie in memory.
struct Fp16 {
  std::uint16_t bits;
};
struct Bf16 {
  std::uint16_t bits;
};

enum class Form : std::uint8_t { f16, bf16, f32, f64, i8, u8, i16, u16, i32, u32, i64, u64 };

struct Element {
  const char* name;  ///< in --type
  Form form;
  std::size_t bytes;
  bool floating;
  double highest;  ///< largest finite value; 0 for integers
};

std::span<const Element> elements() noexcept;
/// By name, "fp32" and "fp64" included; null if there is none.
const Element* find_element(std::string_view name) noexcept;
/// Wring's own datatypes for 16-bit floating point, which plain MPI cannot reduce.
MPI_Datatype mpi_type(const Element& element) noexcept;
/// Whether MPI_Allreduce can reduce it.
inline bool known_to_mpi(const Element& e) noexcept {
  return e.form != Form::f16 && e.form != Form::bf16;
}

enum class Operator : std::uint8_t { sum, avg, min, max, prod };

struct OperatorName {
  const char* name;
  Operator op;
};
std::span<const OperatorName> operators() noexcept;
const char* name_of(Operator op) noexcept;
/// WRING_AVG for avg.
MPI_Op mpi_op(Operator op) noexcept;

/// Calls f with a value of the C++ type of that form.
template <class F>
auto with_form(Form form, F&& f) {
  switch (form) {
    case Form::f16:
      return f(Fp16{});
    case Form::bf16:
      return f(Bf16{});
    case Form::f32:
      return f(float{});
    case Form::f64:
      return f(double{});
    case Form::i8:
      return f(std::int8_t{});
    case Form::u8:
      return f(std::uint8_t{});
    case Form::i16:
      return f(std::int16_t{});
    case Form::u16:
      return f(std::uint16_t{});
    case Form::i32:
      return f(std::int32_t{});
    case Form::u32:
      return f(std::uint32_t{});
    case Form::i64:
      return f(std::int64_t{});
    case Form::u64:
      break;
  }
  return f(std::uint64_t{});
}

/// Values rounded to the type, to nearest even for floating point; integers keep their low bits.
void narrow(const double* in, std::size_t n, Fp16* out) noexcept;
void narrow(const double* in, std::size_t n, Bf16* out) noexcept;
template <class T>
void narrow(const double* in, std::size_t n, T* out) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      out[i] = static_cast<T>(in[i]);
    } else {
      out[i] = static_cast<T>(static_cast<std::int64_t>(in[i]));
    }
  }
}

/// Exact values of floating-point elements.
void widen(const Fp16* in, std::size_t n, double* out) noexcept;
void widen(const Bf16* in, std::size_t n, double* out) noexcept;
template <class T, class Wide>
void widen(const T* in, std::size_t n, Wide* out) noexcept {
  for (std::size_t i = 0; i < n; ++i) out[i] = in[i];
}

}  // namespace wring::tools
