// SPDX-License-Identifier: BSD-3-Clause
// test_values.cpp - values that other libraries got wrong, over real transports (user cases A01 to
// A17).
#include <mpi.h>
#include <sys/mman.h>
#include <wring.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
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
const std::vector<std::string> kCodecs{"none", "fp16", "bf16", "int8", "int4", "auto", "auto:bf16"};
const std::vector<std::string> kAlgorithms{"auto", "recursive_doubling", "one_shot", "tree", "ring", "rabenseifner",
                                            "direct", "hierarchical"};

MPIX_Codec codec_of(const std::string& name) {
  static MPIX_Codec bf16_perhaps = MPIX_CODEC_NULL;
  if (bf16_perhaps == MPIX_CODEC_NULL) CHECK_SUCCESS(MPIX_Codec_create("auto:bf16", &bf16_perhaps));
  const MPIX_Codec all[] = {MPIX_CODEC_NONE, MPIX_CODEC_FP16, MPIX_CODEC_BF16, MPIX_CODEC_INT8,
                            MPIX_CODEC_INT4, MPIX_CODEC_AUTO, bf16_perhaps};
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

  const std::string permitted = what.codec == "auto" ? "none" : what.codec.substr(what.codec.rfind(':') + 1);
  const wring::codec::Codec* codec = wring::codec::find(permitted);
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
  return cases.finish();
}
