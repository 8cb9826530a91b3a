// SPDX-License-Identifier: BSD-3-Clause
// test_operators.cpp - operators and types that codecs do not apply to (user cases A18 and A19).
#include <mpi.h>
#include <wring.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "../common/mpi_check.hpp"
#include "runtime/runtime.hpp"

namespace {

using wring::test::Guarded;

int g_rank, g_size;

/// Element 0: the rank, element 1: minus the rank, others small.
template <class T>
T element(int r, std::size_t i) {
  if (i == 0) return static_cast<T>(r);
  if (i == 1) return static_cast<T>(-r);
  return static_cast<T>(1 + (static_cast<std::size_t>(r) + i) % 3);
}

template <class T, class Fold>
void exact_op(MPI_Datatype type, std::string name, MPI_Op op, const char* op_name, Fold fold) {
  constexpr std::size_t kCount = 40;
  name += std::string(", ") + op_name;
  Guarded<T> in(kCount), out(kCount), of_mpi(kCount);
  for (std::size_t i = 0; i < kCount; ++i) in[i] = element<T>(g_rank, i);
  CHECK_SUCCESS(MPIX_Allreduce_compressed(in.data(), out.data(), kCount, type, op, MPIX_CODEC_INT4,
                                          MPI_COMM_WORLD));
  // What MPI itself makes of it is for the message only: some get these wrong.
  PMPI_Allreduce(in.data(), of_mpi.data(), kCount, type, op, MPI_COMM_WORLD);
  for (std::size_t i = 0; i < kCount; ++i) {
    T expected = element<T>(0, i);
    for (int r = 1; r < g_size; ++r) expected = static_cast<T>(fold(expected, element<T>(r, i)));
    CHECK(out[i] == expected, "%s: element %zu is %Lg, not %Lg (MPI_Allreduce gives %Lg)",
          name.c_str(), i, static_cast<long double>(out[i]), static_cast<long double>(expected),
          static_cast<long double>(of_mpi[i]));
  }
  CHECK(out.guards_whole(), "%s", name.c_str());
}

template <class T>
void exact_ops(MPI_Datatype type, const char* name) {
  exact_op<T>(type, name, MPI_MIN, "MPI_MIN", [](T a, T b) { return a < b ? a : b; });
  exact_op<T>(type, name, MPI_MAX, "MPI_MAX", [](T a, T b) { return a > b ? a : b; });
  exact_op<T>(type, name, MPI_PROD, "MPI_PROD", [](T a, T b) { return a * b; });
  if constexpr (std::is_integral_v<T>) {
    exact_op<T>(type, name, MPI_SUM, "MPI_SUM", [](T a, T b) { return a + b; });
    exact_op<T>(type, name, MPI_BAND, "MPI_BAND", [](T a, T b) { return a & b; });
    exact_op<T>(type, name, MPI_BOR, "MPI_BOR", [](T a, T b) { return a | b; });
    exact_op<T>(type, name, MPI_BXOR, "MPI_BXOR", [](T a, T b) { return a ^ b; });
    exact_op<T>(type, name, MPI_LAND, "MPI_LAND", [](T a, T b) { return a && b; });
    exact_op<T>(type, name, MPI_LOR, "MPI_LOR", [](T a, T b) { return a || b; });
    exact_op<T>(type, name, MPI_LXOR, "MPI_LXOR", [](T a, T b) { return !a != !b; });
  }
}

#define EXACT_OPS(T, type) exact_ops<T>(type, #type)

void every_exact_op() {
  CHECK(wring::runtime::set_algorithm(MPI_COMM_WORLD, "auto").ok(), "auto");
  if (g_size == 1) return;  // LAND of one rank is its input
  EXACT_OPS(signed char, MPI_SIGNED_CHAR);
  EXACT_OPS(unsigned char, MPI_UNSIGNED_CHAR);
  EXACT_OPS(short, MPI_SHORT);
  EXACT_OPS(unsigned short, MPI_UNSIGNED_SHORT);
  EXACT_OPS(int, MPI_INT);
  EXACT_OPS(unsigned, MPI_UNSIGNED);
  EXACT_OPS(long, MPI_LONG);
  EXACT_OPS(unsigned long, MPI_UNSIGNED_LONG);
  EXACT_OPS(long long, MPI_LONG_LONG);
  EXACT_OPS(unsigned long long, MPI_UNSIGNED_LONG_LONG);
  EXACT_OPS(std::int8_t, MPI_INT8_T);
  EXACT_OPS(std::int16_t, MPI_INT16_T);
  EXACT_OPS(std::int32_t, MPI_INT32_T);
  EXACT_OPS(std::int64_t, MPI_INT64_T);
  EXACT_OPS(std::uint8_t, MPI_UINT8_T);
  EXACT_OPS(std::uint16_t, MPI_UINT16_T);
  EXACT_OPS(std::uint32_t, MPI_UINT32_T);
  EXACT_OPS(std::uint64_t, MPI_UINT64_T);
  EXACT_OPS(MPI_Aint, MPI_AINT);
  EXACT_OPS(float, MPI_FLOAT);
  EXACT_OPS(double, MPI_DOUBLE);
  EXACT_OPS(long double, MPI_LONG_DOUBLE);
  long in[2] = {g_rank, -g_rank}, least[2], most[2];
  CHECK_SUCCESS(
      MPIX_Allreduce_compressed(in, least, 2, MPI_LONG, MPI_MIN, MPIX_CODEC_FP16, MPI_COMM_WORLD));
  CHECK_SUCCESS(
      MPIX_Allreduce_compressed(in, most, 2, MPI_LONG, MPI_MAX, MPIX_CODEC_FP16, MPI_COMM_WORLD));
  CHECK(least[0] == 0 && least[1] == -(g_size - 1) && most[0] == g_size - 1 && most[1] == 0,
        "%ld %ld %ld %ld", least[0], least[1], most[0], most[1]);
}

/// MIN, MAX of floats that a codec would round: one of the inputs, bit for bit.
void extremes_are_inputs() {
  std::vector<float> in(20000), out(20000);
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = std::sin(static_cast<float>(i) + 0.3f * static_cast<float>(g_rank));
  for (MPI_Op op : {MPI_MIN, MPI_MAX}) {
    CHECK_SUCCESS(MPIX_Allreduce_compressed(in.data(), out.data(), 20000, MPI_FLOAT, op,
                                            MPIX_CODEC_INT8, MPI_COMM_WORLD));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      float expected = std::sin(static_cast<float>(i));
      for (int r = 1; r < g_size; ++r) {
        const float x = std::sin(static_cast<float>(i) + 0.3f * static_cast<float>(r));
        expected = op == MPI_MIN ? std::min(expected, x) : std::max(expected, x);
      }
      wrong += out[i] != expected;
    }
    CHECK(wrong == 0, "%zu elements are no input", wrong);
  }
}

// --- operators and types of the user (A19)
// ----------------------------------------------------------

struct Matrix {
  unsigned a, b, c, d;
  bool operator==(const Matrix&) const = default;
};

Matrix times(const Matrix& x, const Matrix& y) {
  return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c,
          x.c * y.b + x.d * y.d};
}

void multiply(void* in, void* inout, int* n, MPI_Datatype*) {
  auto* x = static_cast<Matrix*>(in);
  auto* y = static_cast<Matrix*>(inout);
  for (int i = 0; i < *n; ++i) y[i] = times(x[i], y[i]);
}

void matrix_product() {
  MPI_Op op = MPI_OP_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op_create(multiply, 0, &op);
  MPI_Type_contiguous(4, MPI_UNSIGNED, &type);
  MPI_Type_commit(&type);
  const auto matrix = [](int r, std::size_t i) {
    return Matrix{static_cast<unsigned>(r + 1), static_cast<unsigned>(i % 5), 1,
                  static_cast<unsigned>(r)};
  };
  for (std::size_t n : {std::size_t{1}, std::size_t{3}, std::size_t{4096}}) {
    Guarded<Matrix> in(n), out(n);
    for (std::size_t i = 0; i < n; ++i) in[i] = matrix(g_rank, i);
    CHECK_SUCCESS(MPIX_Allreduce_compressed(in.data(), out.data(), static_cast<int>(n), type, op,
                                            MPIX_CODEC_INT8, MPI_COMM_WORLD));
    for (std::size_t i = 0; i < n; ++i) {
      Matrix expected = matrix(0, i);
      for (int r = 1; r < g_size; ++r) expected = times(expected, matrix(r, i));
      CHECK(out[i] == expected, "element %zu of %zu", i, n);
    }
    CHECK(out.guards_whole(), "%zu", n);
  }
  MPI_Op_free(&op);
  MPI_Type_free(&type);
}

/// Adds the two ints of {int, gap, int}.
struct Gapped {
  int first;
  char gap[8];
  int second;
};

void add_gapped(void* in, void* inout, int* n, MPI_Datatype*) {
  for (int i = 0; i < *n; ++i) {
    static_cast<Gapped*>(inout)[i].first += static_cast<Gapped*>(in)[i].first;
    static_cast<Gapped*>(inout)[i].second += static_cast<Gapped*>(in)[i].second;
  }
}

void types_with_gaps() {
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(add_gapped, 1, &op);
  MPI_Datatype vector = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
  MPI_Type_create_hvector(2, 1, offsetof(Gapped, second), MPI_INT, &vector);
  MPI_Type_create_resized(vector, 0, sizeof(Gapped), &type);
  MPI_Type_commit(&type);
  Guarded<Gapped> in(100), out(100), reference(100);
  std::memset(in.data(), 0x11, in.bytes());
  for (std::size_t i = 0; i < 100; ++i) {
    in[i].first = g_rank;
    in[i].second = static_cast<int>(i);
  }
  CHECK_SUCCESS(MPIX_Allreduce_compressed(in.data(), out.data(), 100, type, op, MPIX_CODEC_BF16,
                                          MPI_COMM_WORLD));
  PMPI_Allreduce(in.data(), reference.data(), 100, type, op, MPI_COMM_WORLD);
  for (std::size_t i = 0; i < 100; ++i) {
    CHECK(
        out[i].first == g_size * (g_size - 1) / 2 && out[i].second == g_size * static_cast<int>(i),
        "element %zu", i);
    // Bytes in gaps are as MPI itself leaves them.
    CHECK(std::memcmp(out[i].gap, reference[i].gap, sizeof out[i].gap) == 0, "gap of element %zu",
          i);
  }
  CHECK(out.guards_whole(), "guards");
  MPI_Op_free(&op);
  MPI_Type_free(&vector);
  MPI_Type_free(&type);
}

template <class T>
struct PairOf {
  T value;
  int where;
};

template <class T>
void pair_type(MPI_Datatype type, const char* name, double least) {
  if (g_size < 3) return;
  PairOf<T> in[2] = {{static_cast<T>(g_rank == 2 ? least : g_rank), g_rank},
                     {static_cast<T>(g_rank == 1 || g_rank == 3 ? 7 : 0), g_rank}};
  PairOf<T> out[2] = {};
  CHECK_SUCCESS(
      MPIX_Allreduce_compressed(in, out, 1, type, MPI_MINLOC, MPIX_CODEC_INT4, MPI_COMM_WORLD));
  CHECK(out[0].value == static_cast<T>(least) && out[0].where == 2, "%s: %g at %d", name,
        static_cast<double>(out[0].value), out[0].where);
  CHECK_SUCCESS(MPIX_Allreduce_compressed(&in[1], &out[1], 1, type, MPI_MAXLOC, MPIX_CODEC_INT4,
                                          MPI_COMM_WORLD));
  CHECK(out[1].value == 7 && out[1].where == 1, "%s: %g at %d", name,
        static_cast<double>(out[1].value), out[1].where);
}

void pair_types() {
  pair_type<double>(MPI_DOUBLE_INT, "MPI_DOUBLE_INT", -1.5);
  pair_type<float>(MPI_FLOAT_INT, "MPI_FLOAT_INT", -1.5);
  pair_type<long>(MPI_LONG_INT, "MPI_LONG_INT", -2);
  pair_type<short>(MPI_SHORT_INT, "MPI_SHORT_INT", -2);
  pair_type<int>(MPI_2INT, "MPI_2INT", -2);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  wring::test::Cases cases(argc, argv);
  g_rank = cases.rank();
  g_size = cases.size();
  cases.run("A18 EveryExactOperator", every_exact_op);
  cases.run("A18 ExtremesAreInputs", extremes_are_inputs);
  cases.run("A19 MatrixProduct", matrix_product);
  cases.run("A19 TypesWithGaps", types_with_gaps);
  cases.run("A19 PairTypes", pair_types);
  return cases.finish();
}
