// SPDX-License-Identifier: BSD-3-Clause
// test_arguments.cpp - bad arguments: the right MPI error class, one call of the right error
// handler, a text that says what is wrong, and a communicator that still works.
#include <mpi.h>
#include <wring.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../common/mpi_check.hpp"

namespace {

using wring::test::error_class;
using wring::test::error_text;

int g_rank, g_size;
MPI_Comm g_comm = MPI_COMM_NULL;  // with a counting error handler
int g_on_comm, g_on_self, g_code;
MPI_Comm g_handled = MPI_COMM_NULL;

void count_comm(MPI_Comm* comm, int* code, ...) {
  ++g_on_comm;
  g_code = *code;
  g_handled = *comm;
}

void count_self(MPI_Comm* comm, int* code, ...) {
  ++g_on_self;
  g_code = *code;
  g_handled = *comm;
}

/// An ordinary call gives the right value.
void next_call(const char* after) {
  std::vector<float> in(5000, static_cast<float>(g_rank + 1)), out(5000);
  for (int n : {3, 5000}) {
    const int code = MPIX_Allreduce_compressed(in.data(), out.data(), n, MPI_FLOAT, MPI_SUM,
                                               MPIX_CODEC_NONE, g_comm);
    CHECK(code == MPI_SUCCESS, "after %s: %s", after, error_text(code));
    CHECK(out[0] == g_size * (g_size + 1) / 2 && out[static_cast<std::size_t>(n) - 1] == out[0],
          "after %s: %g", after, static_cast<double>(out[0]));
  }
}

/// `code` was returned by the call just made: is of the class, the communicator's handler was
/// called once with it, and its text has all of `words`.
void expect_error(const char* what, int code, int wanted, const std::vector<std::string>& words,
                  bool on_self = false) {
  CHECK(code != MPI_SUCCESS, "%s: success", what);
  CHECK(error_class(code) == wanted, "%s: class %d, not %d: %s", what, error_class(code), wanted,
        error_text(code));
  CHECK(g_on_comm == (on_self ? 0 : 1) && g_on_self == (on_self ? 1 : 0),
        "%s: handler of the communicator called %d times, of MPI_COMM_SELF %d", what, g_on_comm,
        g_on_self);
  CHECK(g_code == code, "%s: handler got %d, caller %d", what, g_code, code);
  CHECK(g_handled == (on_self ? MPI_COMM_SELF : g_comm), "%s: handler got another communicator",
        what);
  const std::string text = error_text(code);
  for (const std::string& word : words)
    CHECK(text.find(word) != std::string::npos, "%s: no \"%s\" in: %s", what, word.c_str(),
          text.c_str());
  g_on_comm = g_on_self = 0;
}

/// A failing call on g_comm, with both entry points, and an ordinary one after it.
void bad_call(const char* what, int wanted, const std::vector<std::string>& words, const void* send,
              void* recv, int count, MPI_Datatype type, MPI_Op op, MPIX_Codec codec) {
  auto all = words;
  all.push_back("MPIX_Allreduce_compressed");
  expect_error(what, MPIX_Allreduce_compressed(send, recv, count, type, op, codec, g_comm), wanted,
               all);
  expect_error(what, MPIX_Allreduce_compressed_c(send, recv, count, type, op, codec, g_comm),
               wanted, all);
  next_call(what);
}

float g_a[200], g_b[200];

void counts() {
  bad_call("negative count", MPI_ERR_COUNT, {"negative"}, g_a, g_b, -1, MPI_FLOAT, MPI_SUM,
           MPIX_CODEC_NONE);
  bad_call("negative count, null buffers", MPI_ERR_COUNT, {}, nullptr, nullptr, -5, MPI_FLOAT,
           MPI_SUM, MPIX_CODEC_INT8);
  expect_error("count beyond the address space",
               MPIX_Allreduce_compressed_c(g_a, g_b, MPI_Count{1} << 61, MPI_DOUBLE, MPI_SUM,
                                           MPIX_CODEC_NONE, g_comm),
               MPI_ERR_COUNT, {});
  next_call("a count beyond the address space");
}

void buffers() {
  bad_call("null send buffer", MPI_ERR_BUFFER, {"send"}, nullptr, g_b, 3, MPI_FLOAT, MPI_SUM,
           MPIX_CODEC_NONE);
  bad_call("null receive buffer", MPI_ERR_BUFFER, {"receive"}, g_a, nullptr, 3, MPI_FLOAT, MPI_SUM,
           MPIX_CODEC_NONE);
  bad_call("null receive buffer in place", MPI_ERR_BUFFER, {"receive"}, MPI_IN_PLACE, nullptr, 3,
           MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE);
  bad_call("MPI_IN_PLACE as receive buffer", MPI_ERR_BUFFER, {"MPI_IN_PLACE"}, g_a, MPI_IN_PLACE, 3,
           MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE);
  bad_call("aliased buffers", MPI_ERR_BUFFER, {"overlap", "MPI_IN_PLACE"}, g_a, g_a, 100, MPI_FLOAT,
           MPI_SUM, MPIX_CODEC_NONE);
  bad_call("overlap by one element", MPI_ERR_BUFFER, {"overlap"}, g_a, g_a + 99, 100, MPI_FLOAT,
           MPI_SUM, MPIX_CODEC_NONE);
  bad_call("overlap the other way", MPI_ERR_BUFFER, {"overlap"}, g_a + 99, g_a, 100, MPI_FLOAT,
           MPI_SUM, MPIX_CODEC_NONE);
  bad_call("aliased integers", MPI_ERR_BUFFER, {"overlap"}, g_a, g_a, 100, MPI_INT, MPI_MAX,
           MPIX_CODEC_NONE);
  // Neighbours do not overlap; and then the same call, now known, with buffers that do.
  std::fill(g_a, g_a + 100, 1.0f);
  CHECK_SUCCESS(
      MPIX_Allreduce_compressed(g_a, g_a + 100, 100, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE, g_comm));
  CHECK(g_a[0] == 1 && g_a[100] == g_size && g_a[199] == g_size, "%g %g",
        static_cast<double>(g_a[0]), static_cast<double>(g_a[100]));
  bad_call("aliased buffers in a repeated call", MPI_ERR_BUFFER, {"overlap"}, g_a, g_a, 100,
           MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE);
  bad_call("null send buffer in a repeated call", MPI_ERR_BUFFER, {"send"}, nullptr, g_a, 100,
           MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE);
}

void types_and_operators() {
  bad_call("MPI_DATATYPE_NULL", MPI_ERR_TYPE, {"MPI_DATATYPE_NULL"}, g_a, g_b, 3, MPI_DATATYPE_NULL,
           MPI_SUM, MPIX_CODEC_NONE);
  bad_call("MPI_OP_NULL", MPI_ERR_OP, {"MPI_OP_NULL"}, g_a, g_b, 3, MPI_FLOAT, MPI_OP_NULL,
           MPIX_CODEC_NONE);
  for (MPI_Datatype type : {MPI_INT, MPI_LONG, MPI_UNSIGNED_CHAR, MPI_BYTE, MPI_C_BOOL, MPI_2INT,
                            MPI_C_FLOAT_COMPLEX}) {
    bad_call("WRING_AVG of no real numbers", MPI_ERR_OP, {"WRING_AVG"}, g_a, g_b, 3, type,
             WRING_AVG, MPIX_CODEC_NONE);
  }
  for (MPI_Datatype type :
       {MPI_FLOAT, MPI_DOUBLE, MPI_Datatype{WRING_FLOAT16}, MPI_Datatype{WRING_BFLOAT16}}) {
    for (MPI_Op op : {MPI_BAND, MPI_BXOR, MPI_LAND, MPI_MINLOC}) {
      bad_call("operator of integers on floats", MPI_ERR_OP, {"operator"}, g_a, g_b, 3, type, op,
               MPIX_CODEC_FP16);
    }
  }
  bad_call("sum of bytes", MPI_ERR_OP, {"operator"}, g_a, g_b, 3, MPI_BYTE, MPI_SUM,
           MPIX_CODEC_NONE);
  bad_call("sum of pairs", MPI_ERR_OP, {"operator"}, g_a, g_b, 3, MPI_2INT, MPI_SUM,
           MPIX_CODEC_NONE);
  bad_call("maximum of complex numbers", MPI_ERR_OP, {"operator"}, g_a, g_b, 3, MPI_C_FLOAT_COMPLEX,
           MPI_MAX, MPIX_CODEC_NONE);
}

void communicators() {
  expect_error(
      "MPI_COMM_NULL",
      MPIX_Allreduce_compressed(g_a, g_b, 3, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE, MPI_COMM_NULL),
      MPI_ERR_COMM, {"MPI_COMM_NULL", "MPIX_Allreduce_compressed"}, true);
  next_call("MPI_COMM_NULL");
  // The first call on a communicator is a bad one: nobody waits for anybody.
  MPI_Comm fresh = MPI_COMM_NULL, known = g_comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(known, &handler);
  MPI_Comm_set_errhandler(fresh, handler);
  MPI_Errhandler_free(&handler);
  g_comm = fresh;
  if (g_rank == 0) {
    expect_error(
        "first call, on one rank",
        MPIX_Allreduce_compressed(g_a, g_b, -1, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE, fresh),
        MPI_ERR_COUNT, {});
  }
  next_call("a bad first call on one rank");
  // With MPI_ERRORS_RETURN the code is just returned.
  MPI_Comm_set_errhandler(fresh, MPI_ERRORS_RETURN);
  const int code =
      MPIX_Allreduce_compressed(g_a, g_b, -1, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE, fresh);
  CHECK(error_class(code) == MPI_ERR_COUNT && g_on_comm == 0 && g_on_self == 0, "%s",
        error_text(code));
  g_comm = known;
  CHECK_SUCCESS(MPI_Comm_free(&fresh));
}

void codec_specifications() {
  const struct {
    const char* spec;
    std::vector<std::string> words;
  } bad[] = {
      {"", {"\"\"", "character 1"}},
      {"int9", {"\"int9\"", "unknown codec", "character 1", "int8"}},
      {"INT8", {"\"INT8\"", "unknown codec"}},
      {"int8:blok=3", {"\"int8:blok=3\"", "unknown parameter \"blok\"", "character 6", "block"}},
      {"int8:block=3", {"\"int8:block=3\"", "\"3\"", "character 12", "multiple of 8"}},
      {"int8:block=-8", {"\"-8\"", "character 12"}},
      {"int8:block=99999999999999999999", {"character 12"}},
      {"int8:block", {"'='", "character 11"}},
      {"int8:", {"character 6"}},
      {"int8:rounding=sometimes", {"\"sometimes\"", "character 15", "nearest", "stochastic"}},
      {"int8:block=64,seed=x", {"\"x\"", "character 20"}},
      {"int8:block=64,block=64", {"twice", "character 15"}},
      {"fp16:block=64", {"unknown parameter \"block\"", "character 6", "no parameters"}},
      {" int8", {"unknown codec", "character 1"}},
      {"int8:block=64 ", {"\"64 \"", "character 12"}},
  };
  for (const auto& [spec, words] : bad) {
    MPIX_Codec codec = MPIX_CODEC_BF16;
    auto all = words;
    all.push_back("MPIX_Codec_create");
    expect_error(spec, MPIX_Codec_create(spec, &codec), MPI_ERR_ARG, all, true);
    CHECK(codec == MPIX_CODEC_BF16, "%s: the handle was set", spec);
  }
  const std::string huge(100000, 'x');
  MPIX_Codec codec = MPIX_CODEC_NULL;
  expect_error("100,000 characters", MPIX_Codec_create(huge.c_str(), &codec), MPI_ERR_ARG,
               {"unknown codec"}, true);
  expect_error("null specification", MPIX_Codec_create(nullptr, &codec), MPI_ERR_ARG, {"null"},
               true);
  expect_error("null handle pointer", MPIX_Codec_create("int8", nullptr), MPI_ERR_ARG, {"null"},
               true);
  next_call("bad specifications");
}

void codec_handles() {
  bad_call("MPIX_CODEC_NULL", MPI_ERR_ARG, {"MPIX_CODEC_NULL"}, g_a, g_b, 3, MPI_FLOAT, MPI_SUM,
           MPIX_CODEC_NULL);
  bad_call("null codec, no elements", MPI_ERR_ARG, {"codec"}, nullptr, nullptr, 0, MPI_FLOAT,
           MPI_SUM, MPIX_CODEC_NULL);
  bad_call("null codec, integers", MPI_ERR_ARG, {"codec"}, g_a, g_b, 3, MPI_INT, MPI_SUM,
           MPIX_CODEC_NULL);
  bad_call("stray pointer as codec", MPI_ERR_ARG, {"codec"}, g_a, g_b, 3, MPI_FLOAT, MPI_SUM,
           reinterpret_cast<MPIX_Codec>(&g_a));
  bad_call("small number as codec", MPI_ERR_ARG, {"codec"}, g_a, g_b, 3, MPI_FLOAT, MPI_SUM,
           reinterpret_cast<MPIX_Codec>(15));

  MPIX_Codec none = MPIX_CODEC_NULL, fixed = MPIX_CODEC_INT8;
  expect_error("free of MPIX_CODEC_NULL", MPIX_Codec_free(&none), MPI_ERR_ARG, {"MPIX_Codec_free"},
               true);
  expect_error("free of a null pointer", MPIX_Codec_free(nullptr), MPI_ERR_ARG, {"null"}, true);
  expect_error("free of a predefined codec", MPIX_Codec_free(&fixed), MPI_ERR_ARG, {"predefined"},
               true);
  CHECK(fixed == MPIX_CODEC_INT8, "the handle was changed");

  MPIX_Codec codec = MPIX_CODEC_NULL;
  CHECK_SUCCESS(MPIX_Codec_create("int8:block=64", &codec));
  const MPIX_Codec copy = codec;
  CHECK_SUCCESS(MPIX_Codec_free(&codec));
  CHECK(codec == MPIX_CODEC_NULL, "the freed handle is not null");
  MPIX_Codec again = copy;
  expect_error("double free", MPIX_Codec_free(&again), MPI_ERR_ARG, {"freed"}, true);
  CHECK(again == copy, "the handle was changed by a failing free");
  bad_call("freed codec", MPI_ERR_ARG, {"freed"}, g_a, g_b, 3, MPI_FLOAT, MPI_SUM, copy);
  int len = 0;
  expect_error("text of a freed codec", MPIX_Codec_to_string(copy, nullptr, &len), MPI_ERR_ARG,
               {"freed"}, true);
  // A new codec in the same place does not bring the old handle back.
  MPIX_Codec other = MPIX_CODEC_NULL;
  CHECK_SUCCESS(MPIX_Codec_create("int4:block=32", &other));
  CHECK(other != copy, "a freed handle came back at once");
  bad_call("freed codec whose place is taken", MPI_ERR_ARG, {"freed"}, g_a, g_b, 3, MPI_FLOAT,
           MPI_SUM, copy);
  CHECK_SUCCESS(MPIX_Codec_free(&other));
}

void freed_after_use() {
  // The communicator has seen the call before, with the handle still valid.
  for (MPI_Datatype type : {MPI_FLOAT, MPI_INT}) {
    MPIX_Codec codec = MPIX_CODEC_NULL;
    CHECK_SUCCESS(MPIX_Codec_create("int8:block=72", &codec));
    const MPIX_Codec copy = codec;
    CHECK_SUCCESS(MPIX_Allreduce_compressed(g_a, g_b, 77, type, MPI_SUM, codec, g_comm));
    CHECK_SUCCESS(MPIX_Codec_free(&codec));
    bad_call("freed codec in a repeated call", MPI_ERR_ARG, {"freed"}, g_a, g_b, 77, type, MPI_SUM,
             copy);
  }
}

void codec_texts() {
  MPIX_Codec codec = MPIX_CODEC_NULL;
  CHECK_SUCCESS(MPIX_Codec_create("int8:seed=7,rounding=stochastic,block=256", &codec));
  const std::string whole = "int8:block=256,rounding=stochastic,seed=7";
  int len = 0;
  CHECK_SUCCESS(MPIX_Codec_to_string(codec, nullptr, &len));
  CHECK(len == static_cast<int>(whole.size()) + 1, "%d", len);
  char text[64] = "";
  len = sizeof text;
  CHECK_SUCCESS(MPIX_Codec_to_string(codec, text, &len));
  CHECK(text == whole && len == static_cast<int>(whole.size()) + 1, "%s, %d", text, len);
  char cut[8] = "xxxxxxx";
  len = 5;
  CHECK_SUCCESS(MPIX_Codec_to_string(codec, cut, &len));
  CHECK(std::string(cut) == "int8" && cut[5] == 'x' && len == static_cast<int>(whole.size()) + 1,
        "%s, %d", cut, len);
  len = 1;
  CHECK_SUCCESS(MPIX_Codec_to_string(codec, cut, &len));
  CHECK(cut[0] == '\0' && cut[1] == 'n', "%s", cut);
  len = 10;
  expect_error("null text", MPIX_Codec_to_string(codec, nullptr, &len), MPI_ERR_ARG, {"null"},
               true);
  len = -1;
  expect_error("negative length", MPIX_Codec_to_string(codec, text, &len), MPI_ERR_ARG, {}, true);
  expect_error("null length", MPIX_Codec_to_string(codec, text, nullptr), MPI_ERR_ARG, {"null"},
               true);
  len = 10;
  expect_error("text of MPIX_CODEC_NULL", MPIX_Codec_to_string(MPIX_CODEC_NULL, text, &len),
               MPI_ERR_ARG, {"MPIX_CODEC_NULL"}, true);
  CHECK_SUCCESS(MPIX_Codec_free(&codec));
  int major = -1, minor = -1;
  expect_error("null version", WRING_Get_version(&major, &minor, nullptr), MPI_ERR_ARG, {"null"},
               true);
}

void many_errors() {
  // A program that fails for ever does not use up MPI's error codes, and texts stay right.
  for (int i = 0; i < 1000; ++i) {
    const int code =
        MPIX_Allreduce_compressed(g_a, g_b, -1, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE, g_comm);
    CHECK(error_class(code) == MPI_ERR_COUNT &&
              std::string(error_text(code)).find("negative") != std::string::npos,
          "%d: %s", i, error_text(code));
  }
  CHECK(g_on_comm == 1000, "%d", g_on_comm);
  g_on_comm = 0;
  next_call("a thousand errors");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  wring::test::Cases cases(argc, argv);
  g_rank = cases.rank();
  g_size = cases.size();
  MPI_Errhandler on_comm = MPI_ERRHANDLER_NULL, on_self = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(count_comm, &on_comm);
  MPI_Comm_create_errhandler(count_self, &on_self);
  MPI_Comm_dup(MPI_COMM_WORLD, &g_comm);
  MPI_Comm_set_errhandler(g_comm, on_comm);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, on_self);
  cases.run("Arguments Counts", counts);
  cases.run("Arguments Buffers", buffers);
  cases.run("Arguments TypesAndOperators", types_and_operators);
  cases.run("Arguments Communicators", communicators);
  cases.run("Arguments CodecSpecifications", codec_specifications);
  cases.run("Arguments CodecHandles", codec_handles);
  cases.run("Arguments CodecFreedAfterUse", freed_after_use);
  cases.run("Arguments CodecTexts", codec_texts);
  cases.run("Arguments ThousandErrors", many_errors);
  MPI_Comm_free(&g_comm);
  MPI_Errhandler_free(&on_comm);
  MPI_Errhandler_free(&on_self);
  return cases.finish();
}
