// SPDX-License-Identifier: BSD-3-Clause
// test_values.cpp - values that other libraries got wrong, over real transports (user cases A01 to
// A19).
#include <mpi.h>
#include <sys/mman.h>
#include <wring.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "../common/expected.hpp"
#include "../common/mpi_check.hpp"
#include "../sim/sim.hpp"
#include "runtime/runtime.hpp"

namespace {

using wring::Dtype;
using wring::test::Guarded;
using wring::test::same_everywhere;
using wring::test::Value;

int g_rank, g_size;
const std::vector<std::string> kCodecs{"none", "fp16", "bf16", "int8", "int4"};
const std::vector<std::string> kAlgorithms{"auto", "recursive_doubling", "tree", "ring", "rabenseifner",
                                            "direct"};

MPIX_Codec codec_of(const std::string& name) {
  const MPIX_Codec all[] = {MPIX_CODEC_NONE, MPIX_CODEC_FP16, MPIX_CODEC_BF16, MPIX_CODEC_INT8,
                            MPIX_CODEC_INT4};
  for (std::size_t i = 0; i < kCodecs.size(); ++i) {
    if (kCodecs[i] == name) return all[i];
  }
  return MPIX_CODEC_NULL;
}

MPI_Datatype mpi_type(Dtype t) {
  switch (t) {
    case Dtype::f16:
      return WRING_FLOAT16;
    case Dtype::bf16:
      return WRING_BFLOAT16;
    case Dtype::f32:
      return MPI_FLOAT;
    case Dtype::f64:
      return MPI_DOUBLE;
    case Dtype::opaque:
      break;
  }
  return MPI_DATATYPE_NULL;
}

struct Reduction {
  Dtype type = Dtype::f32;
  std::uint64_t n = 1;
  MPI_Op op = MPI_SUM;
  std::string codec = "none", algorithm = "auto";
  bool in_place = false;
};

double integers(int r, std::uint64_t i) { return (r + 1.0) * static_cast<double>(1 + i % 7); }

/// Reduces over MPI_COMM_WORLD and checks success, memory, that all ranks have the same bytes, and
/// every value against its bound. Returns the result. Collective.
std::vector<double> reduce(const Reduction& what, const Value& value) {
  const std::size_t each = wring::size_of(what.type), n = what.n;
  Guarded<std::byte> send(n * each), recv(n * each);
  std::byte* input = what.in_place ? recv.data() : send.data();
  const auto stored = [&](int r, std::uint64_t i) {
    std::byte bytes[8];
    wring::sim::save(what.type, value(r, i), bytes);
    return wring::sim::load(what.type, bytes);
  };
  for (std::size_t i = 0; i < n; ++i)
    wring::sim::save(what.type, value(g_rank, i), input + i * each);
  const std::vector<std::byte> before(input, input + n * each);

  const std::string name = what.codec + ", " + what.algorithm + ", " + std::to_string(n) + " x " +
                           wring::name_of(what.type);
  CHECK(wring::runtime::set_algorithm(MPI_COMM_WORLD, what.algorithm).ok(), "%s", name.c_str());
  CHECK_SUCCESS(MPIX_Allreduce_compressed(what.in_place ? MPI_IN_PLACE : send.data(), recv.data(),
                                          static_cast<int>(n), mpi_type(what.type), what.op,
                                          codec_of(what.codec), MPI_COMM_WORLD));
  CHECK(recv.guards_whole() && send.guards_whole(), "%s", name.c_str());
  if (!what.in_place)
    CHECK(std::memcmp(before.data(), send.data(), before.size()) == 0, "%s", name.c_str());
  CHECK(same_everywhere(recv.data(), recv.bytes()), "%s", name.c_str());

  const wring::codec::Codec* codec = wring::codec::find(what.codec);
  wring::plan::Problem problem{.count = n,
                               .dtype = what.type,
                               .element_bytes = static_cast<std::uint32_t>(each),
                               .op = what.op == MPI_SUM ? wring::Op::sum : wring::Op::avg,
                               .opaque_id = 0,
                               .size = g_size,
                               .codec = {.codec = codec, .params = codec->defaults}};
  wring::plan::Choice choice{.algorithm = nullptr, .codec = problem.codec};
  if (g_size > 1) {
    const auto info = wring::runtime::last_call(MPI_COMM_WORLD);
    CHECK(info.compressed && info.choice.algorithm != nullptr, "%s", name.c_str());
    if (!info.compressed) return std::vector<double>(n);
    choice = info.choice;
    if (what.algorithm != "auto")
      CHECK(what.algorithm == choice.algorithm->name, "%s", choice.algorithm->name);
  }
  const auto expected = wring::test::expect(problem, choice, stored);
  std::vector<double> result(n);
  for (std::size_t i = 0; i < n; ++i) {
    result[i] = wring::sim::load(what.type, recv.data() + i * each);
    CHECK(wring::test::within(result[i], expected.exact[i], expected.bound[i]),
          "%s: element %zu is %.17g, not %.17g +- %g", name.c_str(), i, result[i],
          expected.exact[i], expected.bound[i]);
  }
  return result;
}

// --- cases
// ------------------------------------------------------------------------------------------

void in_place() {
  for (const auto& a : kAlgorithms) {
    for (std::uint64_t n : {1, 2, g_size, g_size + 1, 4097}) {
      const auto got =
          reduce({.type = Dtype::f64, .n = n, .algorithm = a, .in_place = true}, integers);
      for (std::size_t i = 0; i < n; ++i) {
        CHECK(got[i] == g_size * (g_size + 1) / 2 * static_cast<double>(1 + i % 7),
              "%s: element %zu", a.c_str(), i);
      }
    }
    if (g_size != 4) continue;
    const auto got = reduce({.type = Dtype::f64, .n = 2, .algorithm = a, .in_place = true},
                            [](int r, std::uint64_t i) {
                              return i == 0 ? r : r == 0 ? 0 : 1.0 / r;
                            });
    CHECK(got[0] == 6 && std::abs(got[1] - 11.0 / 6) <= 4 * DBL_EPSILON, "%g %g", got[0], got[1]);
  }
}

void no_elements() {
  Guarded<float> a(4), b(4);
  for (const auto& name : kCodecs) {
    const MPIX_Codec codec = codec_of(name);
    CHECK_SUCCESS(
        MPIX_Allreduce_compressed(nullptr, nullptr, 0, MPI_FLOAT, MPI_SUM, codec, MPI_COMM_WORLD));
    CHECK_SUCCESS(
        MPIX_Allreduce_compressed(nullptr, b.data(), 0, MPI_FLOAT, MPI_SUM, codec, MPI_COMM_WORLD));
    CHECK_SUCCESS(MPIX_Allreduce_compressed(MPI_IN_PLACE, b.data(), 0, MPI_FLOAT, MPI_SUM, codec,
                                            MPI_COMM_WORLD));
    CHECK_SUCCESS(MPIX_Allreduce_compressed(a.data(), a.data(), 0, MPI_FLOAT, MPI_SUM, codec,
                                            MPI_COMM_WORLD));
    // Some ranks with null pointers, others without.
    float* mine = g_rank % 2 ? nullptr : a.data();
    CHECK_SUCCESS(
        MPIX_Allreduce_compressed(mine, b.data(), 0, MPI_INT, MPI_MAX, codec, MPI_COMM_WORLD));
    CHECK_SUCCESS(MPIX_Allreduce_compressed_c(nullptr, nullptr, 0, MPI_DOUBLE, WRING_AVG, codec,
                                              MPI_COMM_WORLD));
    CHECK(a.untouched() && b.untouched(), "%s", name.c_str());
    reduce({.n = 100, .codec = name}, integers);
  }
}

template <class T>
void alone(MPI_Datatype type, T odd, MPI_Comm comm) {
  for (std::size_t n : {std::size_t{1}, std::size_t{4099}}) {
    for (const auto& name : kCodecs) {
      Guarded<T> in(n), out(n);
      for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<T>(odd + static_cast<T>(i % 3));
      CHECK_SUCCESS(MPIX_Allreduce_compressed(in.data(), out.data(), static_cast<int>(n), type,
                                              MPI_SUM, codec_of(name), comm));
      CHECK(std::memcmp(in.data(), out.data(), in.bytes()) == 0, "%s, %zu", name.c_str(), n);
      CHECK_SUCCESS(MPIX_Allreduce_compressed(MPI_IN_PLACE, in.data(), static_cast<int>(n), type,
                                              MPI_SUM, codec_of(name), comm));
      CHECK(std::memcmp(in.data(), out.data(), in.bytes()) == 0 && in.guards_whole() &&
                out.guards_whole(),
            "%s, %zu", name.c_str(), n);
    }
  }
}

void one_rank() {
  MPI_Comm split = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, g_rank, 0, &split);
  for (MPI_Comm comm : {MPI_COMM_SELF, split}) {
    alone<float>(MPI_FLOAT, 1e-3f, comm);
    alone<double>(MPI_DOUBLE, 1e300, comm);
    alone<std::uint64_t>(MPI_UINT64_T, (std::uint64_t{1} << 63) + 1, comm);
    alone<std::int64_t>(MPI_INT64_T, -5, comm);
    alone<short>(MPI_SHORT, -7, comm);
    alone<unsigned char>(MPI_UNSIGNED_CHAR, 200, comm);
    alone<std::uint16_t>(WRING_FLOAT16, 0x3c01, comm);
    alone<std::uint16_t>(WRING_BFLOAT16, 0x3f81, comm);
    alone<long double>(MPI_LONG_DOUBLE, 1.25L, comm);
    float x = 3, y = 0;
    CHECK_SUCCESS(
        MPIX_Allreduce_compressed(&x, &y, 1, MPI_FLOAT, WRING_AVG, MPIX_CODEC_INT4, comm));
    CHECK(y == 3, "average of one rank: %g", static_cast<double>(y));
  }
  CHECK_SUCCESS(MPI_Comm_free(&split));
}

void send_buffer_untouched() {
  constexpr std::size_t kMost = 65537;
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = (kMost * sizeof(float) + page - 1) / page * page;
  auto* send = static_cast<float*>(
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (std::size_t i = 0; i < kMost; ++i) send[i] = static_cast<float>(integers(g_rank, i));
  mprotect(send, bytes, PROT_READ);  // a write is a SIGSEGV
  Guarded<float> recv(kMost);
  for (const auto& a : kAlgorithms) {
    CHECK(wring::runtime::set_algorithm(MPI_COMM_WORLD, a).ok(), "%s", a.c_str());
    for (const auto& codec : kCodecs) {
      for (int n : {1, 100, 5400, 65537}) {
        CHECK_SUCCESS(MPIX_Allreduce_compressed(send, recv.data(), n, MPI_FLOAT, MPI_SUM,
                                                codec_of(codec), MPI_COMM_WORLD));
        CHECK(recv.guards_whole(), "%s, %s, %d", a.c_str(), codec.c_str(), n);
        if (codec != "none") continue;
        for (int i = 0; i < n; ++i) {
          CHECK(recv[static_cast<std::size_t>(i)] == g_size * (g_size + 1) / 2 * (1 + i % 7),
                "%s, element %d", a.c_str(), i);
        }
      }
    }
  }
  munmap(send, bytes);
}

void few_elements() {
  for (const auto& codec : {"none", "int4"}) {
    for (std::uint64_t n : {1, 3, 7, 8, 9})
      reduce({.n = n, .codec = codec, .algorithm = "ring"}, integers);
  }
}

void non_finite() {
  constexpr std::uint64_t kCount = 8229;
  for (const auto& codec : kCodecs) {
    for (Dtype t : {Dtype::f32, Dtype::bf16}) {
      const auto got = reduce({.type = t, .n = kCount, .codec = codec}, [](int r, std::uint64_t i) {
        if (i == 128 && r == g_size - 1) return std::numeric_limits<double>::quiet_NaN();
        if (i == 191 && r == 0) return HUGE_VAL;
        if (i == kCount - 1) return r == 0 ? HUGE_VAL : -HUGE_VAL;
        return std::cos(0.1 * static_cast<double>(i) + r);
      });
      CHECK(std::isnan(got[128]) && got[191] == HUGE_VAL, "%s: %g %g", codec.c_str(), got[128],
            got[191]);
      CHECK(g_size == 1 || std::isnan(got[kCount - 1]), "%s: %g", codec.c_str(), got[kCount - 1]);
    }
  }
}

void longer_vector() {
  if (g_size != 4) return;
  constexpr std::size_t kShort = 1664 * 5120, kLong = 2048 * 5120;
  std::vector<std::uint16_t> send(kLong), recv[2];
  for (std::size_t i = 0; i < kLong; ++i) {
    const double x = std::sin(static_cast<double>(i % 100003) * (1 + g_rank));
    wring::sim::save(Dtype::bf16, x, reinterpret_cast<std::byte*>(&send[i]));
  }
  CHECK(wring::runtime::set_algorithm(MPI_COMM_WORLD, "auto").ok(), "auto");
  for (std::size_t turn : {0u, 1u}) {
    const std::size_t n = turn == 0 ? kShort : kLong;
    recv[turn].resize(n);
    CHECK_SUCCESS(MPIX_Allreduce_compressed(send.data(), recv[turn].data(), static_cast<int>(n),
                                            WRING_BFLOAT16, MPI_SUM, MPIX_CODEC_NONE,
                                            MPI_COMM_WORLD));
  }
  std::size_t differ = 0;
  for (std::size_t i = 0; i < kShort; ++i) differ += recv[0][i] != recv[1][i];
  CHECK(differ == 0, "%zu elements have other bits in the longer vector", differ);
}

void cancellation() {
  for (const auto& a : kAlgorithms) {
    for (const auto& codec : kCodecs) {
      reduce({.n = 300, .codec = codec, .algorithm = a}, [&](int r, std::uint64_t i) {
        const double large = codec == "fp16" ? 1e4 : 1e8, all[] = {large, 1, -large, 1};
        return i % 2 ? all[r % 4]
                     : std::sin(static_cast<double>(r * 1000) + static_cast<double>(i));
      });
    }
  }
}

void hop_precision() {
  for (const auto& a : kAlgorithms) {
    const auto got = reduce({.type = Dtype::bf16, .n = 9000, .algorithm = a},
                            [](int r, std::uint64_t) { return r == 0 ? 256 : 1; });
    if (g_size != 8) continue;
    for (double x : got) CHECK(x == 264, "%s: %g", a.c_str(), x);
  }
  const auto got = reduce({.type = Dtype::bf16, .n = 9000, .codec = "bf16"},
                          [](int r, std::uint64_t) { return r == 0 ? 256 : 1; });
  if (g_size == 8) CHECK(got[0] == 264 && got[8999] == 264, "%g", got[0]);
}

/// Sums of equal subnormal numbers are exact, and those of 2^n equal numbers; others are within the
/// bound.
void averages_at_the_ends() {
  const auto exact = [](double x) { return x < 1 || (g_size & (g_size - 1)) == 0; };
  for (const auto& a : kAlgorithms) {
    for (std::uint64_t n : {7, 5000}) {
      for (double x : {static_cast<double>(FLT_MAX), static_cast<double>(FLT_TRUE_MIN)}) {
        for (double y : reduce({.n = n, .op = WRING_AVG, .algorithm = a},
                               [&](int, std::uint64_t) { return x; })) {
          CHECK(y == x || !exact(x), "%g", y);
        }
      }
      for (double x : {DBL_MAX, DBL_TRUE_MIN}) {
        for (double y : reduce({.type = Dtype::f64, .n = n, .op = WRING_AVG, .algorithm = a},
                               [&](int, std::uint64_t) { return x; })) {
          CHECK(y == x || !exact(x), "%g", y);
        }
      }
    }
  }
}

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
  cases.run("A01 InPlace", in_place);
  cases.run("A02 NoElements", no_elements);
  cases.run("A02 OneRank", one_rank);
  cases.run("A03 SendBufferIsNeverWritten", send_buffer_untouched);
  cases.run("A06 FewerElementsThanRanks", few_elements);
  cases.run("A08 NanAndInfinityArrive", non_finite);
  cases.run("A15 LongerVectorGivesTheSameBits", longer_vector);
  cases.run("A16 SameBytesOnAllRanks", cancellation);
  cases.run("A17 HopPrecision", hop_precision);
  cases.run("Average AtTheEndsOfTheRange", averages_at_the_ends);
  cases.run("A18 EveryExactOperator", every_exact_op);
  cases.run("A18 ExtremesAreInputs", extremes_are_inputs);
  cases.run("A19 MatrixProduct", matrix_product);
  cases.run("A19 TypesWithGaps", types_with_gaps);
  cases.run("A19 PairTypes", pair_types);
  return cases.finish();
}
