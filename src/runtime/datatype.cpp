// SPDX-License-Identifier: BSD-3-Clause
// datatype.cpp - MPI's tables of types and operators (MPI 4.0, section 6.9.2), and what is not in them.
#include "runtime/datatype.hpp"

#include <vector>

#include "runtime/float16.hpp"
#include "runtime/integer.hpp"
#include "runtime/runtime.hpp"

namespace wring::runtime {
namespace {

/// Classes of types that operators are defined for.
enum Class : unsigned {
  kSigned = 1,
  kUnsigned = 2,
  kInteger = kSigned | kUnsigned,
  kFloat = 4,
  kLogical = 8,
  kComplex = 16,
  kByte = 32,
  kPair = 64,
  kHalf = 128,
};

struct TypeEntry {
  MPI_Datatype type;
  unsigned type_class;
  std::uint32_t bytes;
  std::uint32_t id;
};

struct OpEntry {
  MPI_Op op;
  unsigned classes;
  std::uint32_t id;  ///< of integer operators: IntegerOp's number and 1
};

/// MPI's named types that have no gaps: size and extent agree. Those with padding inside (long double)
/// or behind (MPI_DOUBLE_INT) stay with MPI: their gaps must neither be sent nor overwritten.
std::vector<TypeEntry> make_types() {
  struct Named {
    MPI_Datatype type;
    unsigned type_class;
  };
  const Named all[] = {
      {MPI_SIGNED_CHAR, kSigned}, {MPI_UNSIGNED_CHAR, kUnsigned}, {MPI_SHORT, kSigned},
      {MPI_UNSIGNED_SHORT, kUnsigned}, {MPI_INT, kSigned}, {MPI_UNSIGNED, kUnsigned}, {MPI_LONG, kSigned},
      {MPI_UNSIGNED_LONG, kUnsigned}, {MPI_LONG_LONG, kSigned}, {MPI_UNSIGNED_LONG_LONG, kUnsigned},
      {MPI_INT8_T, kSigned}, {MPI_INT16_T, kSigned}, {MPI_INT32_T, kSigned}, {MPI_INT64_T, kSigned},
      {MPI_UINT8_T, kUnsigned}, {MPI_UINT16_T, kUnsigned}, {MPI_UINT32_T, kUnsigned}, {MPI_UINT64_T, kUnsigned},
      {MPI_AINT, kSigned}, {MPI_OFFSET, kSigned}, {MPI_COUNT, kSigned}, {MPI_INTEGER, kSigned},
      {MPI_FLOAT, kFloat}, {MPI_DOUBLE, kFloat}, {MPI_REAL, kFloat}, {MPI_DOUBLE_PRECISION, kFloat},
      {MPI_LOGICAL, kLogical}, {MPI_C_BOOL, kLogical}, {MPI_CXX_BOOL, kLogical},
      {MPI_COMPLEX, kComplex}, {MPI_C_FLOAT_COMPLEX, kComplex}, {MPI_C_DOUBLE_COMPLEX, kComplex},
      {MPI_DOUBLE_COMPLEX, kComplex}, {MPI_BYTE, kByte},
      {MPI_2INT, kPair}, {MPI_FLOAT_INT, kPair}, {MPI_2INTEGER, kPair}, {MPI_2REAL, kPair},
      {MPI_2DOUBLE_PRECISION, kPair},
  };
  std::vector<TypeEntry> types;
  std::uint32_t id = 0;
  for (const Named& n : all) {
    ++id;
    int size = 0;
    MPI_Aint low = 0, extent = 0;
    if (n.type == MPI_DATATYPE_NULL) continue;
    if (MPI_Type_size(n.type, &size) != MPI_SUCCESS || MPI_Type_get_extent(n.type, &low, &extent) != MPI_SUCCESS) continue;
    if (size <= 0 || low != 0 || extent != size) continue;
    types.push_back({n.type, n.type_class, static_cast<std::uint32_t>(size), id});
  }
  return types;
}

std::vector<OpEntry> make_ops() {
  constexpr unsigned kOrdered = kInteger | kFloat | kHalf;
  return {
      {MPI_SUM, kOrdered | kComplex, 1}, {MPI_PROD, kOrdered | kComplex, 2}, {MPI_MIN, kOrdered, 3},
      {MPI_MAX, kOrdered, 4}, {MPI_LAND, kInteger | kLogical, 5}, {MPI_LOR, kInteger | kLogical, 6},
      {MPI_LXOR, kInteger | kLogical, 7}, {MPI_BAND, kInteger | kByte, 8}, {MPI_BOR, kInteger | kByte, 9},
      {MPI_BXOR, kInteger | kByte, 10}, {MPI_MINLOC, kPair, 11}, {MPI_MAXLOC, kPair, 12},
  };
}

const std::vector<TypeEntry>& types() {
  static const std::vector<TypeEntry> all = make_types();
  return all;
}

const std::vector<OpEntry>& ops() {
  static const std::vector<OpEntry> all = make_ops();
  return all;
}

const TypeEntry* find_type(MPI_Datatype datatype) noexcept {
  for (const TypeEntry& t : types()) {
    if (t.type == datatype) return &t;
  }
  return nullptr;
}

const OpEntry* find_op(MPI_Op op) noexcept {
  for (const OpEntry& o : ops()) {
    if (o.op == op) return &o;
  }
  return nullptr;
}

/// The local reduction of MPI. context: a pair of handles that live as long as the library.
struct Pair {
  MPI_Datatype type;
  MPI_Op op;
};

Status reduce_local(void* context, const void* in, void* inout, std::size_t n) noexcept {
  const auto* pair = static_cast<const Pair*>(context);
  const int code = MPI_Reduce_local(in, inout, static_cast<int>(n), pair->type, pair->op);
  return code == MPI_SUCCESS ? Status{} : Status{Code::mpi_error, "MPI_Reduce_local failed", code};
}

Pair* pair_of(const TypeEntry& type, const OpEntry& op) {
  // One object for each combination, for good: there are fewer than 500.
  static std::vector<Pair> pairs = [] {
    std::vector<Pair> all;
    for (const TypeEntry& t : types()) {
      for (const OpEntry& o : ops()) all.push_back({t.type, o.op});
    }
    return all;
  }();
  const auto t = static_cast<std::size_t>(&type - types().data()), o = static_cast<std::size_t>(&op - ops().data());
  return &pairs[t * ops().size() + o];
}

constexpr std::uint32_t kFloat16Id = 1000, kBfloat16Id = 1001;

std::uint32_t combined_id(std::uint32_t type, std::uint32_t op) { return type << 8 | op; }

Status bad_op(const char* what) { return {Code::invalid_arg, what, static_cast<int>(Arg::op)}; }

}  // namespace

bool is_plain(MPI_Datatype datatype) noexcept {
  return find_type(datatype) != nullptr || datatype == float16_type() || datatype == bfloat16_type();
}

Status classify(MPI_Datatype datatype, MPI_Op op, Reduction& out) {
  out = {};
  const TypeEntry* type = find_type(datatype);
  const OpEntry* known_op = find_op(op);
  const bool average = op == avg_op();

  if (datatype == float16_type() || datatype == bfloat16_type()) {
    const bool ieee = datatype == float16_type();
    if (known_op == nullptr && !average) return {};  // the user's operator: MPI calls it
    if (known_op != nullptr && (known_op->classes & kHalf) == 0) {
      return bad_op("the operator is not defined for floating-point types");
    }
    out.path = Reduction::Path::wring;
    out.dtype = ieee ? Dtype::f16 : Dtype::bf16;
    out.element_bytes = 2;
    out.id = combined_id(ieee ? kFloat16Id : kBfloat16Id, average ? 0 : known_op->id);
    if (average || op == MPI_SUM) {
      out.op = average ? Op::avg : Op::sum;
    } else {
      out.opaque = float16_reduce(out.dtype, op == MPI_MIN   ? Float16Op::min
                                             : op == MPI_MAX ? Float16Op::max
                                                             : Float16Op::product);
      out.dtype = Dtype::opaque;
    }
    return {};
  }
  if (type == nullptr) {
    if (average) return bad_op("WRING_AVG needs float, double or a 16-bit floating-point type");
    return {};  // derived or padded: MPI knows how
  }
  const bool real = type->type_class == kFloat && (type->bytes == 4 || type->bytes == 8);
  if (average && !real) return bad_op("WRING_AVG needs float, double or a 16-bit floating-point type");
  if (known_op == nullptr && !average) return {};  // the user's operator
  if (known_op != nullptr && (known_op->classes & type->type_class) == 0) {
    return bad_op("the operator is not defined for the datatype");
  }
  out.path = Reduction::Path::wring;
  out.element_bytes = type->bytes;
  out.id = combined_id(type->id, average ? 0 : known_op->id);
  if (real && (average || op == MPI_SUM)) {
    out.dtype = type->bytes == 8 ? Dtype::f64 : Dtype::f32;
    out.op = average ? Op::avg : Op::sum;
  } else {
    const bool integer = (type->type_class & (kInteger | kByte)) != 0;
    if (integer) {
      out.opaque = integer_reduce(type->bytes, type->type_class == kSigned, static_cast<IntegerOp>(known_op->id - 1));
    }
    if (out.opaque.reduce == nullptr) out.opaque = {reduce_local, pair_of(*type, *known_op), true};
  }
  return {};
}

}  // namespace wring::runtime
