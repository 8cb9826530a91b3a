// SPDX-License-Identifier: BSD-3-Clause
// element.cpp - the tables of element types and operators.
#include "tools/element.hpp"

#include <wring.h>

#include <cfloat>

#include "kernels/kernels.hpp"

namespace wring::tools {
namespace {

constexpr Element kElements[] = {
    {"float", Form::f32, 4, true, FLT_MAX}, {"double", Form::f64, 8, true, DBL_MAX},
    {"fp16", Form::f16, 2, true, 65504},    {"bf16", Form::bf16, 2, true, 0x1.fep127},
    {"int8", Form::i8, 1, false, 0},        {"uint8", Form::u8, 1, false, 0},
    {"int16", Form::i16, 2, false, 0},      {"uint16", Form::u16, 2, false, 0},
    {"int32", Form::i32, 4, false, 0},      {"uint32", Form::u32, 4, false, 0},
    {"int64", Form::i64, 8, false, 0},      {"uint64", Form::u64, 8, false, 0},
};

constexpr OperatorName kOperators[] = {
    {"sum", Operator::sum}, {"avg", Operator::avg},   {"min", Operator::min},
    {"max", Operator::max}, {"prod", Operator::prod},
};

}  // namespace

std::span<const Element> elements() noexcept { return kElements; }

const Element* find_element(std::string_view name) noexcept {
  if (name == "fp32") name = "float";
  if (name == "fp64") name = "double";
  for (const Element& e : kElements) {
    if (name == e.name) return &e;
  }
  return nullptr;
}

MPI_Datatype mpi_type(const Element& element) noexcept {
  switch (element.form) {
    case Form::f16:
      return WRING_FLOAT16;
    case Form::bf16:
      return WRING_BFLOAT16;
    case Form::f32:
      return MPI_FLOAT;
    case Form::f64:
      return MPI_DOUBLE;
    case Form::i8:
      return MPI_INT8_T;
    case Form::u8:
      return MPI_UINT8_T;
    case Form::i16:
      return MPI_INT16_T;
    case Form::u16:
      return MPI_UINT16_T;
    case Form::i32:
      return MPI_INT32_T;
    case Form::u32:
      return MPI_UINT32_T;
    case Form::i64:
      return MPI_INT64_T;
    case Form::u64:
      break;
  }
  return MPI_UINT64_T;
}

std::span<const OperatorName> operators() noexcept { return kOperators; }

const char* name_of(Operator op) noexcept {
  for (const OperatorName& o : kOperators) {
    if (o.op == op) return o.name;
  }
  return "?";
}

MPI_Op mpi_op(Operator op) noexcept {
  switch (op) {
    case Operator::sum:
      return MPI_SUM;
    case Operator::avg:
      return WRING_AVG;
    case Operator::min:
      return MPI_MIN;
    case Operator::max:
      return MPI_MAX;
    case Operator::prod:
      break;
  }
  return MPI_PROD;
}

void narrow(const double* in, std::size_t n, Fp16* out) noexcept {
  (void)kernels::best().f64.to_f16(in, n, reinterpret_cast<std::uint16_t*>(out));
}
void narrow(const double* in, std::size_t n, Bf16* out) noexcept {
  (void)kernels::best().f64.to_bf16(in, n, reinterpret_cast<std::uint16_t*>(out));
}
void widen(const Fp16* in, std::size_t n, double* out) noexcept {
  kernels::best().f64.from_f16(reinterpret_cast<const std::uint16_t*>(in), n, out);
}
void widen(const Bf16* in, std::size_t n, double* out) noexcept {
  kernels::best().f64.from_bf16(reinterpret_cast<const std::uint16_t*>(in), n, out);
}

}  // namespace wring::tools
