// SPDX-License-Identifier: BSD-3-Clause
// test_environment.cpp - variables that differ between ranks, and what is printed (user cases A36,
// A47).
//
// Usage: mpiexec -n P test_environment MODE, where MODE says which variables this program sets for
// itself before it calls anything: algorithm, rules, info or silent.
#include <mpi.h>
#include <wring.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "../common/capture.hpp"
#include "../common/mpi_check.hpp"
#include "../common/plan_check.hpp"
#include "runtime/runtime.hpp"

namespace {

using wring::test::Capture;

int g_rank, g_size;
std::string g_different;  // the variable that this rank sets otherwise than rank 0

/// Rank in the job before MPI_Init, as launchers tell.
int early_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}) {
    if (const char* text = std::getenv(name)) return std::atoi(text);
  }
  return 0;
}

void set(const char* name, const char* value) { setenv(name, value, 1); }

void set_otherwise(const char* name, const char* value) {
  set(name, value);
  g_different = name;
}

void set_environment(const std::string& mode, int rank) {
  for (const char* name :
       {"WRING_ALGORITHM", "WRING_TUNE_RULES", "WRING_SEGMENT", "WRING_CHECKSUM", "WRING_TUNE",
        "WRING_LOG"})
    unsetenv(name);
  if (mode == "info") set("WRING_LOG", "info");
  if (mode == "tune") set("WRING_TUNE", "guess");
  if (mode == "measure") set("WRING_TUNE", "measure");
  if (mode == "algorithm") {
    set("WRING_ALGORITHM", "tree");
    if (rank == 1) set_otherwise("WRING_ALGORITHM", "direct");
  }
  if (mode == "rules") {
    set("WRING_TUNE_RULES", "allreduce:0-64k:tree+none;64k-inf:ring+bf16");
    set("WRING_SEGMENT", "32k");
    set("WRING_CHECKSUM", "1");
    switch (rank) {
      case 1:
        set_otherwise("WRING_TUNE_RULES", "allreduce:0-inf:direct+int4");
        break;
      case 2:
        set_otherwise("WRING_SEGMENT", "8k");
        break;
      case 3:
        set_otherwise("WRING_CHECKSUM", "0");
        break;
      case 4:
        set_otherwise("WRING_ALGORITHM", "recursive_doubling");
        break;
      default:
        break;
    }
  }
}

/// Sums integers, which every codec but int4 carries exactly here; all ranks must have the same
/// bytes.
wring::runtime::CallInfo reduce(MPI_Comm comm, int n, MPIX_Codec codec) {
  std::vector<float> in(static_cast<std::size_t>(n), static_cast<float>(g_rank + 1)),
      out(in.size(), -1);
  CHECK_SUCCESS(
      MPIX_Allreduce_compressed(in.data(), out.data(), n, MPI_FLOAT, MPI_SUM, codec, comm));
  std::size_t wrong = 0;
  for (float x : out) wrong += x != g_size * (g_size + 1) / 2;
  CHECK(wrong == 0, "%zu of %d elements are wrong, the first is %g", wrong, n,
        static_cast<double>(out[0]));
  CHECK(wring::test::same_everywhere(out.data(), out.size() * sizeof(float)), "%d elements", n);
  return wring::runtime::last_call(comm);
}

/// One warning on the rank that differs, naming its variable; none elsewhere.
void expect_warning(const std::string& text) {
  const auto warnings = Capture::lines_with(text, "warning");
  if (g_different.empty()) {
    CHECK(warnings.empty(), "%s", text.c_str());
    return;
  }
  CHECK(warnings.size() == 1, "%zu warnings: %s", warnings.size(), text.c_str());
  if (warnings.empty()) return;
  for (const char* name :
       {"WRING_ALGORITHM", "WRING_TUNE_RULES", "WRING_SEGMENT", "WRING_CHECKSUM"}) {
    CHECK((warnings[0].find(name) != std::string::npos) == (g_different == name), "%s: %s", name,
          warnings[0].c_str());
  }
}

void one_algorithm() {
  Capture capture;
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (MPI_Comm comm : {MPI_COMM_WORLD, copy}) {
    for (int n : {10, 50000}) {
      const auto info = reduce(comm, n, MPIX_CODEC_BF16);
      CHECK(info.compressed && std::string(info.choice.algorithm->name) == "tree", "%d elements",
            n);
    }
  }
  MPI_Comm_free(&copy);
  expect_warning(capture.end());
}

void one_table_of_rules() {
  Capture capture;
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (MPI_Comm comm : {MPI_COMM_WORLD, copy}) {
    for (int n : {10, 16383, 16384, 100000}) {
      const auto info = reduce(comm, n, MPIX_CODEC_FP16);
      const bool small = n < 16384;
      CHECK(
          info.compressed && std::string(info.choice.algorithm->name) == (small ? "tree" : "ring"),
          "%d elements", n);
      CHECK(std::string(info.choice.codec.codec->name) == (small ? "none" : "bf16"), "%d elements",
            n);
      CHECK(info.segment_bytes == 32 * 1024, "%d elements: %d bytes", n,
            static_cast<int>(info.segment_bytes));
    }
    // A rule does not make an exact call lossy.
    const auto info = reduce(comm, 100000, MPIX_CODEC_NONE);
    CHECK(std::string(info.choice.codec.codec->name) == "none", "%s",
          info.choice.codec.codec->name);
  }
  MPI_Comm_free(&copy);
  expect_warning(capture.end());
}

/// Rank 0 says that it does not understand, once for all communicators.
void unknown_tune() {
  Capture capture;
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (MPI_Comm comm : {MPI_COMM_WORLD, copy}) CHECK(reduce(comm, 5000, MPIX_CODEC_BF16).compressed, "5000 elements");
  MPI_Comm_free(&copy);
  const std::string text = capture.end();
  const auto warnings = Capture::lines_with(text, "warning");
  CHECK(warnings.size() == (g_rank == 0 ? 1 : 0), "%zu warnings: %s", warnings.size(), text.c_str());
  if (!warnings.empty()) {
    CHECK(warnings[0].find("WRING_TUNE=\"guess\"") != std::string::npos, "%s", warnings[0].c_str());
  }
}

/// What was timed is taken, for calls of every size of the class and for plans, and on all ranks alike.
void measured_choices() {
  for (int n : {10, 5000, 100000}) {
    const auto info = reduce(MPI_COMM_WORLD, n, MPIX_CODEC_BF16);
    CHECK(std::string(info.choice.reason).find("measured") == 0, "%d elements: %s", n, info.choice.reason);
    const std::string name = info.choice.algorithm->name;
    CHECK(wring::test::same_everywhere(name.c_str(), name.size()), "%d elements: %s", n, name.c_str());
    CHECK(reduce(MPI_COMM_WORLD, n + 1, MPIX_CODEC_BF16).choice.algorithm == info.choice.algorithm, "%d elements", n);
    wring::test::SumPlan sum(n, MPIX_CODEC_BF16);
    const std::string text = wring::test::description_of(sum.plan);
    CHECK(text.find(name) == 0 && text.find("measured") != std::string::npos, "%s, not %s", text.c_str(), name.c_str());
  }
}

/// Calls of five kinds, each several times.
std::vector<wring::runtime::CallInfo> five_plans() {
  std::vector<wring::runtime::CallInfo> infos;
  for (int turn = 0; turn < 3; ++turn) {
    infos.clear();
    infos.push_back(reduce(MPI_COMM_WORLD, 1, MPIX_CODEC_NONE));
    infos.push_back(reduce(MPI_COMM_WORLD, 1000, MPIX_CODEC_FP16));
    infos.push_back(reduce(MPI_COMM_WORLD, 10000, MPIX_CODEC_FP16));
    infos.push_back(reduce(MPI_COMM_WORLD, 100000, MPIX_CODEC_NONE));
    infos.push_back(reduce(MPI_COMM_WORLD, 500000, MPIX_CODEC_BF16));
  }
  return infos;
}

void one_line_per_plan() {
  Capture capture;
  const auto infos = five_plans();
  const std::string text = capture.end();
  const auto lines = Capture::lines_with(text, "plan for");
  CHECK(lines.size() == (g_rank == 0 ? infos.size() : 0), "%zu lines: %s", lines.size(),
        text.c_str());
  if (g_rank != 0 || lines.size() != infos.size()) return;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto& info = infos[i];
    for (const std::string& word :
         {std::string(info.choice.algorithm->name), std::string(info.choice.codec.codec->name),
          std::string(info.choice.reason), std::string(info.transport), std::string("segment"),
          std::to_string(info.problem.count)}) {
      CHECK(!word.empty() && lines[i].find(word) != std::string::npos, "no \"%s\" in: %s",
            word.c_str(), lines[i].c_str());
    }
  }
}

/// Plans of the five sizes, each started; what they say about themselves.
std::vector<std::string> five_persistent_plans() {
  std::vector<std::string> texts;
  const int counts[] = {1, 1000, 10000, 100000, 500000};
  for (int n : counts) {
    wring::test::SumPlan sum(n, n < 5000 ? MPIX_CODEC_NONE : MPIX_CODEC_BF16);
    texts.push_back(wring::test::description_of(sum.plan));
    for (int turn = 0; turn < 3; ++turn) {
      sum.fill(1);
      CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
      CHECK_SUCCESS(MPIX_Plan_wait(sum.plan));
      sum.check("plan");
    }
  }
  return texts;
}

/// The line says what the plan says.
void one_line_per_persistent_plan() {
  Capture capture;
  const auto texts = five_persistent_plans();
  const std::string text = capture.end();
  const auto lines = Capture::lines_with(text, "plan for");
  CHECK(lines.size() == (g_rank == 0 ? texts.size() : 0), "%zu lines: %s", lines.size(), text.c_str());
  if (g_rank != 0 || lines.size() != texts.size()) return;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto end = texts[i].rfind(", over ");
    CHECK(end != std::string::npos, "%s", texts[i].c_str());
    const std::string how = texts[i].substr(0, end), transport = texts[i].substr(end + 7);
    CHECK(lines[i].find(how) != std::string::npos && lines[i].find("over " + transport) != std::string::npos,
          "\"%s\" is not in: %s", texts[i].c_str(), lines[i].c_str());
  }
}

void silent_by_default() {
  Capture capture;
  five_plans();
  five_persistent_plans();
  float x = 1, y = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_SUCCESS(MPIX_Iallreduce_compressed(&x, &y, 1, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE,
                                           MPI_COMM_WORLD, &request));
  CHECK_SUCCESS(MPI_Wait(&request, MPI_STATUS_IGNORE));
  MPIX_Codec codec = MPIX_CODEC_NULL;
  CHECK_SUCCESS(MPIX_Codec_create("int8", &codec));
  CHECK_SUCCESS(MPIX_Codec_free(&codec));
  const std::string text = capture.end();
  CHECK(text.empty(), "%s", text.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  set_environment(mode, early_rank());
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  wring::test::Cases cases(0, nullptr);
  g_rank = cases.rank();
  g_size = cases.size();
  if (mode == "algorithm") cases.run("A36 AlgorithmOfRankZero", one_algorithm);
  if (mode == "rules") cases.run("A36 RulesOfRankZero", one_table_of_rules);
  if (mode == "tune") cases.run("UnknownTune", unknown_tune);
  if (mode == "measure") cases.run("MeasuredChoices", measured_choices);
  if (mode == "info") {
    cases.run("A47 OneLinePerPlan", one_line_per_plan);
    cases.run("A47 OneLinePerPersistentPlan", one_line_per_persistent_plan);
  }
  if (mode == "silent") cases.run("A47 SilentByDefault", silent_by_default);
  return cases.finish();
}
