// SPDX-License-Identifier: BSD-3-Clause
// test_plan_errors.cpp - plans that cannot be made, hints, and plans that do not match (user cases
// A35, A36).
#include <mpi.h>
#include <wring.h>

#include <string>
#include <utility>
#include <vector>

#include "../common/capture.hpp"
#include "../common/mpi_check.hpp"
#include "../common/plan_check.hpp"

namespace {

using wring::test::Capture;
using wring::test::description_of;
using wring::test::error_class;
using wring::test::error_text;
using wring::test::SumPlan;

int g_rank, g_size;

/// Hints that live as long as the object.
class Info {
 public:
  explicit Info(const std::vector<std::pair<std::string, std::string>>& hints) {
    MPI_Info_create(&info_);
    for (const auto& [key, value] : hints) MPI_Info_set(info_, key.c_str(), value.c_str());
  }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  ~Info() { MPI_Info_free(&info_); }
  operator MPI_Info() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

bool has(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

void runs(SumPlan& sum, const char* where) {
  CHECK(sum.code() == MPI_SUCCESS, "%s: %s", where, error_text(sum.code()));
  for (int turn = 0; turn < 3; ++turn) {
    sum.fill(1 << turn);
    CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
    CHECK_SUCCESS(MPIX_Plan_wait(sum.plan));
    sum.check(where);
  }
}

// --- hints ------------------------------------------------------------------------------------

void good_hints() {
  const struct {
    std::vector<std::pair<std::string, std::string>> hints;
    std::vector<std::string> words;  ///< of the description
  } all[] = {
      {{}, {"bf16"}},
      {{{"some_other_key", "whatever"}, {"wring_unknown", "x"}}, {"bf16"}},
      {{{"wring_algorithm", "ring"}}, {"ring", "bf16"}},
      {{{"wring_algorithm", "tree"}, {"wring_segment", "16k"}}, {"tree", "16"}},
      {{{"wring_algorithm", "auto"}, {"wring_progress", "mpi"}}, {"bf16"}},
      {{{"wring_progress", "thread"}}, {"bf16"}},
      {{{"wring_tune_rules", "allreduce:0-1k:tree+none;1k-inf:recursive_doubling+fp16"}},
       {"recursive_doubling", "fp16"}},
  };
  for (const auto& h : all) {
    SumPlan sum(60000, MPIX_CODEC_BF16, MPI_COMM_WORLD, false, Info(h.hints));
    runs(sum, h.hints.empty() ? "no hints" : h.hints[0].first.c_str());
    if (g_size == 1) continue;
    const std::string text = description_of(sum.plan);
    for (const auto& word : h.words)
      CHECK(has(text, word), "no \"%s\" in: %s", word.c_str(), text.c_str());
  }
  // Hints of one plan do not colour the next.
  SumPlan plain(60000, MPIX_CODEC_BF16);
  CHECK(g_size == 1 || has(description_of(plain.plan), "direct"), "%s",
        description_of(plain.plan).c_str());
}

void bad_hints() {
  const struct {
    std::pair<std::string, std::string> hint;
    std::vector<std::string> words;  ///< of the error: key, place, reason
  } all[] = {
      {{"wring_algorithm", "circle"}, {"wring_algorithm", "circle", "not an algorithm"}},
      {{"wring_algorithm", std::string(100, 'x')}, {"wring_algorithm", "100 characters"}},
      {{"wring_segment", "many"}, {"wring_segment", "many", "not a number of bytes"}},
      {{"wring_segment", "-1"}, {"wring_segment", "-1"}},
      {{"wring_progress", "magic"}, {"wring_progress", "magic", "mpi or thread"}},
      {{"wring_tune_rules", "allreduce:0-4k:circle"}, {"wring_tune_rules", "circle"}},
      {{"wring_tune_rules", "broadcast:0-inf:tree"}, {"wring_tune_rules", "broadcast"}},
  };
  for (const auto& h : all) {
    MPIX_Plan plan = MPIX_PLAN_NULL;
    float x = 1, y = 0;
    const Info info({h.hint});
    const int code =
        MPIX_Allreduce_compressed_init(&x, &y, 1, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE,
                                       MPI_COMM_WORLD, info, &plan);
    const std::string text = error_text(code);
    CHECK(error_class(code) == MPI_ERR_INFO_VALUE && plan == MPIX_PLAN_NULL, "%s=%s: %s",
          h.hint.first.c_str(), h.hint.second.c_str(), text.c_str());
    for (const auto& word : h.words)
      CHECK(has(text, word), "no \"%s\" in: %s", word.c_str(), text.c_str());
  }
  SumPlan next(10, MPIX_CODEC_NONE);
  runs(next, "after bad hints");
}

/// Rank 0's hints count; the first time that a rank's own differ, it says so.
void different_hints() {
  if (g_size == 1) return;
  Capture capture;
  for (int turn = 0; turn < 3; ++turn) {
    const Info info({{"wring_algorithm", g_rank == 0 ? "ring" : g_rank == 1 ? "tree" : "ring"},
                     {"wring_segment", g_rank == 1 ? "rubbish" : "8k"}});
    SumPlan sum(60000, MPIX_CODEC_BF16, MPI_COMM_WORLD, false, info);
    runs(sum, "rank 0's hints");
    CHECK(has(description_of(sum.plan), "ring"), "%s", description_of(sum.plan).c_str());
  }
  const std::string text = capture.end();
  const auto warnings = Capture::lines_with(text, "warning");
  CHECK(warnings.size() == (g_rank == 1 ? 1 : 0), "%zu warnings: %s", warnings.size(),
        text.c_str());
  if (!warnings.empty())
    CHECK(has(warnings[0], "wring_algorithm") && has(warnings[0], "wring_segment") &&
              !has(warnings[0], "wring_progress"),
          "%s", warnings[0].c_str());
}

// --- one rank's error is everybody's -------------------------------------------------------------

void errors_on_one_rank() {
  static float x[100], y[100];
  const MPI_Comm world = MPI_COMM_WORLD;
  struct Arguments {
    const void* send = x;
    void* recv = y;
    int n = 100;
    MPI_Datatype type = MPI_FLOAT;
    MPI_Op op = MPI_SUM;
    MPIX_Codec codec = MPIX_CODEC_NONE;
  };
  const struct {
    int error_class;
    Arguments arguments;
  } bad[] = {{MPI_ERR_COUNT, {.n = -1}},
             {MPI_ERR_BUFFER, {.recv = nullptr}},
             {MPI_ERR_BUFFER, {.send = y}},
             {MPI_ERR_TYPE, {.type = MPI_DATATYPE_NULL}},
             {MPI_ERR_OP, {.op = MPI_OP_NULL}},
             {MPI_ERR_ARG, {.codec = MPIX_CODEC_NULL}}};
  for (const auto& b : bad) {
    for (int odd = 0; odd < g_size; ++odd) {
      const Arguments a = g_rank == odd ? b.arguments : Arguments{};
      MPIX_Plan plan = MPIX_PLAN_NULL;
      const int code = MPIX_Allreduce_compressed_init(a.send, a.recv, a.n, a.type, a.op, a.codec,
                                                      world, MPI_INFO_NULL, &plan);
      const std::string text = error_text(code);
      CHECK(code != MPI_SUCCESS && plan == MPIX_PLAN_NULL, "class %d on rank %d: success",
            b.error_class, odd);
      if (g_rank == odd)
        CHECK(error_class(code) == b.error_class, "%s", text.c_str());
      else
        CHECK(has(text, "rank " + std::to_string(odd)), "%s", text.c_str());
    }
  }
  SumPlan next(1000, MPIX_CODEC_BF16);
  runs(next, "after errors");
  CHECK_CLASS(MPIX_Allreduce_compressed_init(x, y, 100, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE,
                                             MPI_COMM_NULL, MPI_INFO_NULL, &next.plan),
              MPI_ERR_COMM);
}

int g_handled;
MPI_Comm g_handled_for;
void on_error(MPI_Comm* comm, int*, ...) {
  ++g_handled;
  g_handled_for = *comm;
}

/// Errors of a plan go through the handler of its communicator, once; of what is no plan, through
/// that of MPI_COMM_SELF.
void handlers() {
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, handler);
  {
    SumPlan sum(20000, MPIX_CODEC_BF16, comm);
    sum.fill(1);
    g_handled = 0;
    CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
    CHECK(g_handled == 0, "called %d times without an error", g_handled);
    (void)MPIX_Plan_start(sum.plan);
    CHECK(g_handled == 1 && g_handled_for == comm, "called %d times", g_handled);
    CHECK_SUCCESS(MPIX_Plan_wait(sum.plan));
    sum.check("after an error");
    float x = 1, y = 0;
    MPIX_Plan plan = MPIX_PLAN_NULL;
    (void)MPIX_Allreduce_compressed_init(&x, &y, -1, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE, comm,
                                         MPI_INFO_NULL, &plan);
    CHECK(g_handled == 2 && g_handled_for == comm, "called %d times", g_handled);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    (void)MPIX_Plan_start(MPIX_PLAN_NULL);
    CHECK(g_handled == 3 && g_handled_for == MPI_COMM_SELF, "called %d times", g_handled);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    // An operator that MPI refuses for a derived type: MPI itself finds that, at the start.
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_FLOAT, &pair);
    MPI_Type_commit(&pair);
    float in[2] = {1, 2}, out[2];
    const int created = MPIX_Allreduce_compressed_init(in, out, 1, pair, MPI_SUM, MPIX_CODEC_NONE,
                                                       comm, MPI_INFO_NULL, &plan);
    const int code = created != MPI_SUCCESS ? created : MPIX_Plan_start(plan);
    CHECK(code != MPI_SUCCESS, "an operator that is not defined for the type");
    CHECK(g_handled == 4 && g_handled_for == comm, "called %d times", g_handled);
    if (plan != MPIX_PLAN_NULL) CHECK_SUCCESS(MPIX_Plan_free(&plan));
    MPI_Type_free(&pair);
  }
  CHECK_SUCCESS(MPI_Comm_free(&comm));
  MPI_Errhandler_free(&handler);
}

// --- plans that do not match ---------------------------------------------------------------------

struct Kind {
  int n = 20000;
  MPI_Datatype type = MPI_FLOAT;
  MPI_Op op = MPI_SUM;
  MPIX_Codec codec = MPIX_CODEC_NONE;
};

void expect_mismatch(int code, int odd, std::vector<std::string> words) {
  const std::string text = error_text(code);
  words.push_back("mismatched calls");
  words.push_back("rank " + std::to_string(odd));
  for (const auto& word : words)
    CHECK(has(text, word), "no \"%s\" in: %s", word.c_str(), text.c_str());
  const auto first = text.find("rank ");
  CHECK(first != std::string::npos && has(text.substr(first + 1), "rank "), "one rank only: %s",
        text.c_str());
}

/// Rank 0, then the last, makes another plan than the others: its starts are errors on all ranks, each
/// of them, and other plans do not mind.
void differ(const Kind& others, const Kind& odd_one, const std::vector<std::string>& words) {
  static std::vector<double> in(20000, 1), out(20000);
  for (int odd : {0, g_size - 1}) {
    SumPlan before(20000, MPIX_CODEC_BF16), after(7, MPIX_CODEC_NONE);
    const Kind& k = g_rank == odd ? odd_one : others;
    MPIX_Plan plan = MPIX_PLAN_NULL;
    const int created =
        MPIX_Allreduce_compressed_init(in.data(), out.data(), k.n, k.type, k.op, k.codec,
                                       MPI_COMM_WORLD, MPI_INFO_NULL, &plan);
    if (created != MPI_SUCCESS) expect_mismatch(created, odd, words);
    for (int turn = 0; turn < 3 && created == MPI_SUCCESS; ++turn) {
      before.fill(1);
      CHECK_SUCCESS(MPIX_Plan_start(before.plan));
      CHECK_SUCCESS(MPIX_Plan_start(plan));
      int code = MPI_SUCCESS;
      if (turn == 1) {
        for (int flag = 0; !flag;) code = MPIX_Plan_test(plan, &flag);
      } else {
        code = MPIX_Plan_wait(plan);
      }
      expect_mismatch(code, odd, words);
      CHECK_SUCCESS(MPIX_Plan_wait(plan));  // inactive now
      CHECK_SUCCESS(MPIX_Plan_wait(before.plan));
      before.check("another plan");
    }
    if (plan != MPIX_PLAN_NULL) CHECK_SUCCESS(MPIX_Plan_free(&plan));
    runs(after, "the next plan");
    float x = 1, y = 0;
    CHECK_SUCCESS(MPIX_Allreduce_compressed(&x, &y, 1, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE,
                                            MPI_COMM_WORLD));
    CHECK(y == static_cast<float>(g_size), "%g", static_cast<double>(y));
  }
}

void mismatches() {
  if (g_size == 1) return;
  Capture capture;  // every one is also an error in the log
  for (int n : {20000, 100}) {
    const std::string count = std::to_string(n);
    differ({.n = n}, {.n = n - 1}, {"count", count, std::to_string(n - 1)});
    differ({.n = n}, {.n = 0}, {"count", count, "count 0 on rank"});
    differ({.n = n}, {.n = n, .type = MPI_DOUBLE}, {"datatype", "fp32", "fp64"});
    differ({.n = n}, {.n = n, .op = WRING_AVG}, {"operator", "sum", "average"});
    differ({.n = n, .codec = MPIX_CODEC_INT8}, {.n = n, .codec = MPIX_CODEC_BF16},
           {"codec", "int8", "bf16"});
  }
  capture.end_with_failures();
}

/// MPI would not find out: the creation does, on all ranks.
void mismatches_of_what_mpi_reduces() {
  if (g_size == 1) return;
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_FLOAT, &pair);
  MPI_Type_commit(&pair);
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 1, &op);
  float in[200] = {}, out[200];
  for (int odd : {0, g_size - 1}) {
    MPIX_Plan plan = MPIX_PLAN_NULL;
    int code = MPIX_Allreduce_compressed_init(in, out, g_rank == odd ? 99 : 100, pair, op,
                                              MPIX_CODEC_NONE, MPI_COMM_WORLD, MPI_INFO_NULL, &plan);
    expect_mismatch(code, odd, {"count 99", "count 100"});
    code = MPIX_Allreduce_compressed_init(in, out, 100, g_rank == odd ? MPI_FLOAT : pair,
                                          g_rank == odd ? MPI_SUM : op, MPIX_CODEC_NONE,
                                          MPI_COMM_WORLD, MPI_INFO_NULL, &plan);
    expect_mismatch(code, odd, {"that only MPI can reduce", "that Wring reduces"});
    CHECK(plan == MPIX_PLAN_NULL, "a plan was made");
    SumPlan next(100, MPIX_CODEC_NONE);
    runs(next, "the next plan");
  }
  MPI_Op_free(&op);
  MPI_Type_free(&pair);
}

/// A start that ended with an error has been seen once; the rest of waitall goes on.
void one_of_several() {
  if (g_size == 1) return;
  Capture capture;
  SumPlan a(50000, MPIX_CODEC_BF16), b(10, MPIX_CODEC_NONE);
  SumPlan odd(g_rank == 0 ? 300 : 301, MPIX_CODEC_NONE);
  CHECK_SUCCESS(odd.code());
  for (int turn = 0; turn < 3; ++turn) {
    a.fill(1);
    b.fill(2);
    MPIX_Plan plans[] = {a.plan, odd.plan, b.plan};
    CHECK_SUCCESS(MPIX_Plan_startall(3, plans));
    const int code = MPIX_Plan_waitall(3, plans);
    expect_mismatch(code, 0, {"300", "301"});
    a.check("before");
    b.check("after");
    CHECK_SUCCESS(MPIX_Plan_waitall(3, plans));
  }
  capture.end_with_failures();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  wring::test::Cases cases(argc, argv);
  g_rank = cases.rank();
  g_size = cases.size();
  cases.run("A36 GoodHints", good_hints);
  cases.run("A36 BadHints", bad_hints);
  cases.run("A36 DifferentHints", different_hints);
  cases.run("ErrorsOnOneRank", errors_on_one_rank);
  cases.run("Handlers", handlers);
  cases.run("A35 MismatchedPlans", mismatches, 90);
  cases.run("A35 MismatchesOfWhatMpiReduces", mismatches_of_what_mpi_reduces);
  cases.run("A35 OneOfSeveral", one_of_several);
  return cases.finish();
}
