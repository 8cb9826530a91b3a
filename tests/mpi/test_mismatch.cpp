// SPDX-License-Identifier: BSD-3-Clause
// test_mismatch.cpp - one rank makes another call than all others (user case A35): all get an error
// with both values and both ranks, in time, and the next call works.
//
// With the argument "finalize" the rank without elements makes no further call.
#include <mpi.h>
#include <wring.h>

#include <string>
#include <vector>

#include "../common/mpi_check.hpp"

namespace {

using wring::test::error_class;
using wring::test::error_text;

int g_rank, g_size;
int g_mismatch_class = 0;  // once known

struct Arguments {
  MPI_Count n = 20000;
  MPI_Datatype type = MPI_FLOAT;
  MPI_Op op = MPI_SUM;
  MPIX_Codec codec = MPIX_CODEC_NONE;
};

std::vector<double> g_in, g_out;  // large enough for every call

int call(const Arguments& a) {
  return MPIX_Allreduce_compressed_c(g_in.data(), g_out.data(), a.n, a.type, a.op, a.codec,
                                     MPI_COMM_WORLD);
}

void next_call(const char* after) {
  for (int n : {3, 20000}) {
    std::vector<float> in(static_cast<std::size_t>(n), static_cast<float>(g_rank + 1)),
        out(in.size());
    const int code = MPIX_Allreduce_compressed(in.data(), out.data(), n, MPI_FLOAT, MPI_SUM,
                                               MPIX_CODEC_NONE, MPI_COMM_WORLD);
    CHECK(code == MPI_SUCCESS, "after %s: %s", after, error_text(code));
    CHECK(out.front() == g_size * (g_size + 1) / 2 && out.back() == out.front(), "after %s: %g",
          after, static_cast<double>(out.front()));
  }
}

void expect_mismatch(const char* what, int code, int odd, std::vector<std::string> words) {
  const std::string text = error_text(code);
  CHECK(code != MPI_SUCCESS, "%s: success", what);
  if (g_mismatch_class == 0) g_mismatch_class = error_class(code);
  // A class of Wring's own, whose text is fixed.
  CHECK(error_class(code) == g_mismatch_class && g_mismatch_class > MPI_ERR_LASTCODE,
        "%s: class %d: %s", what, error_class(code), text.c_str());
  CHECK(std::string(error_text(g_mismatch_class)).find("wring: mismatched calls") == 0, "%s",
        error_text(g_mismatch_class));
  words.push_back("mismatched calls");
  words.push_back("rank " + std::to_string(odd));
  for (const auto& word : words)
    CHECK(text.find(word) != std::string::npos, "%s: no \"%s\" in: %s", what, word.c_str(),
          text.c_str());
  // Two ranks are named.
  const auto first = text.find("rank ");
  CHECK(first != std::string::npos && text.find("rank ", first + 1) != std::string::npos, "%s: %s",
        what, text.c_str());
}

/// Rank 0, then the last one, calls with `odd`, all others with `others`.
void differ(const char* what, const Arguments& others, const Arguments& odd,
            const std::vector<std::string>& words) {
  for (int which : {0, g_size - 1}) {
    expect_mismatch(what, call(g_rank == which ? odd : others), which, words);
    next_call(what);
  }
}

void counts() {
  differ("counts", {.n = 409600}, {.n = 409598}, {"count", "409600", "409598"});
  differ("counts, int8", {.n = 409600, .codec = MPIX_CODEC_INT8},
         {.n = 409598, .codec = MPIX_CODEC_INT8}, {"409600", "409598"});
  differ("small counts", {.n = 4}, {.n = 5}, {"count", "4 on rank", "5 on rank"});
  // One below, one above the size at which the algorithm changes.
  differ("counts on both sides of the switch", {.n = 3000}, {.n = 6000}, {"3000", "6000"});
  differ("one and many", {.n = 1}, {.n = 409600}, {"count", "409600"});
}

void codecs() {
  MPIX_Codec wide = MPIX_CODEC_NULL;
  CHECK_SUCCESS(MPIX_Codec_create("int8:block=256", &wide));
  for (MPI_Count n : {20000, 100}) {  // on both sides of the switch
    differ("codecs", {.n = n, .codec = MPIX_CODEC_INT8}, {.n = n, .codec = MPIX_CODEC_BF16},
           {"int8", "bf16"});
    differ("codec and none", {.n = n, .codec = MPIX_CODEC_NONE}, {.n = n, .codec = MPIX_CODEC_FP16},
           {"none", "fp16"});
    differ("block sizes", {.n = n, .codec = MPIX_CODEC_INT8}, {.n = n, .codec = wide}, {"int8"});
  }
  CHECK_SUCCESS(MPIX_Codec_free(&wide));
}

void operators_and_types() {
  for (MPI_Count n : {20000, 100}) {
    differ("operators", {.n = n}, {.n = n, .op = WRING_AVG}, {"operator", "sum", "average"});
    differ("exact operators", {.n = n, .op = MPI_MIN}, {.n = n, .op = MPI_MAX}, {});
    differ("types", {.n = n}, {.n = n, .type = MPI_DOUBLE}, {"datatype", "fp32", "fp64"});
    differ("types of one size", {.n = n}, {.n = n, .type = MPI_INT}, {"datatype"});
    differ("integer types", {.n = n, .type = MPI_INT}, {.n = n, .type = MPI_UNSIGNED}, {});
    differ("16-bit types", {.n = n, .type = WRING_FLOAT16}, {.n = n, .type = WRING_BFLOAT16},
           {"fp16", "bf16"});
  }
}

void no_elements() {
  for (MPI_Count n : {20000, 100}) {
    for (int odd : {0, g_size - 1}) {
      const int code = call({.n = g_rank == odd ? 0 : n});
      if (g_rank == odd) {
        CHECK(code == MPI_SUCCESS, "%s", error_text(code));
      } else {
        expect_mismatch("no elements", code, odd,
                        {"count 0 on rank " + std::to_string(odd), std::to_string(n)});
      }
      next_call("no elements");
    }
  }
}

int no_elements_then_finalize() {
  alarm(30);
  const int odd = g_size - 1;
  const int code = call({.n = g_rank == odd ? 0 : 20000});
  const bool right =
      g_rank == odd ? code == MPI_SUCCESS
                    : std::string(error_text(code)).find("count 0 on rank") != std::string::npos;
  if (!right)
    std::printf("FAILED A35 NoElementsThenFinalize, rank %d: %s\n", g_rank, error_text(code));
  if (right && g_rank == 0) std::printf("ok A35 NoElementsThenFinalize, %d ranks\n", g_size);
  std::fflush(stdout);
  MPI_Finalize();
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  g_in.assign(410000, 0.0);
  g_out.assign(410000, 0.0);
  if (argc > 1 && std::string(argv[1]) == "finalize") return no_elements_then_finalize();
  wring::test::Cases cases(argc, argv);
  cases.run("A35 Counts", counts);
  cases.run("A35 OperatorsAndTypes", operators_and_types);
  cases.run("A35 Codecs", codecs);
  cases.run("A35 NoElementsOnOneRankOnly", no_elements, 20);
  return cases.finish();
}
