// SPDX-License-Identifier: BSD-3-Clause
// test_plan_lifetime.cpp - plans that outlive what they were made from, plans that MPI reduces for,
// and many plans (user cases A02, A19, A25, A27, A28).
//
// With the argument "inactive" or "active" plans are left to MPI_Finalize.
#include <mpi.h>
#include <wring.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../common/mpi_check.hpp"
#include "../common/plan_check.hpp"

namespace {

using wring::test::description_of;
using wring::test::stats_of;
using wring::test::SumPlan;

int g_rank, g_size;
const wring::test::Cases* g_cases;

void start_and_wait(SumPlan& sum, double value, const char* where) {
  sum.fill(value);
  CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
  CHECK_SUCCESS(MPIX_Plan_wait(sum.plan));
  sum.check(where);
}

// --- what a plan outlives ---------------------------------------------------------------------

void outlives_its_codec() {
  MPIX_Codec codec = MPIX_CODEC_NULL;
  CHECK_SUCCESS(MPIX_Codec_create("bf16", &codec));
  SumPlan sum(30000, codec);
  CHECK_SUCCESS(MPIX_Codec_free(&codec));
  CHECK_SUCCESS(MPIX_Codec_create("int4:block=8", &codec));  // takes its place
  for (int turn = 0; turn < 3; ++turn) start_and_wait(sum, 1 << turn, "without its codec");
  CHECK_SUCCESS(MPIX_Codec_free(&codec));
}

void outlives_its_communicator() {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  SumPlan a(30000, MPIX_CODEC_BF16, comm), b(10, MPIX_CODEC_NONE, comm), unused(5, MPIX_CODEC_NONE, comm);
  CHECK_SUCCESS(a.code());
  start_and_wait(a, 1, "before");
  CHECK_SUCCESS(MPI_Comm_free(&comm));
  for (int turn = 0; turn < 10; ++turn) {
    start_and_wait(a, 1 << turn, "without its communicator");
    start_and_wait(b, 2, "without its communicator");
  }
  CHECK(!description_of(a.plan).empty() && stats_of(a.plan).starts == 11, "%lld starts",
        stats_of(a.plan).starts);
  a.fill(1);
  CHECK_SUCCESS(MPIX_Plan_start(a.plan));
  CHECK_CLASS(MPIX_Plan_start(a.plan), MPI_ERR_REQUEST);  // through MPI_COMM_SELF's handler
  CHECK_SUCCESS(MPIX_Plan_wait(a.plan));
  // Freed on every rank at its own time, while others go on.
  if (g_rank % 2) CHECK_SUCCESS(MPIX_Plan_free(&b.plan));
  start_and_wait(a, 4, "with another freed");
}

/// Whoever of a communicator and its active plans goes first, in whichever order on different ranks.
void communicator_freed_while_active() {
  for (int n : {0, 1, 400000}) {
    for (int turn = 0; turn < 3; ++turn) {
      MPI_Comm comm = MPI_COMM_NULL;
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      SumPlan a(n, MPIX_CODEC_BF16, comm), b(n, MPIX_CODEC_NONE, comm);
      a.fill(1);
      b.fill(2);
      CHECK_SUCCESS(MPIX_Plan_start(a.plan));
      CHECK_SUCCESS(MPIX_Plan_start(b.plan));
      if (g_rank % 2 && turn == 1) {  // rank 0 is in MPI_Comm_free meanwhile
        CHECK_SUCCESS(MPIX_Plan_wait(a.plan));
        CHECK_SUCCESS(MPIX_Plan_wait(b.plan));
        CHECK_SUCCESS(MPIX_Plan_free(&b.plan));
      }
      CHECK_SUCCESS(MPI_Comm_free(&comm));
      CHECK_SUCCESS(MPIX_Plan_wait(a.plan));
      if (b.plan != MPIX_PLAN_NULL) CHECK_SUCCESS(MPIX_Plan_wait(b.plan));
      a.check("freed while active");
      b.check("freed while active");
      start_and_wait(a, 3, "once more");
    }
  }
}

// --- other ways than the engine ------------------------------------------------------------------

void alone() {
  MPI_Comm single = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, g_rank, 0, &single);
  for (MPI_Comm comm : {MPI_COMM_SELF, single}) {
    for (int n : {0, 1, 4099}) {
      for (bool in_place : {false, true}) {
        SumPlan sum(n, MPIX_CODEC_INT4, comm, in_place);
        for (int turn = 0; turn < 3; ++turn) start_and_wait(sum, 1 << turn, "alone");
        CHECK(stats_of(sum.plan).starts == 3 && stats_of(sum.plan).wire_bytes == 0, "%lld",
              stats_of(sum.plan).starts);
        // An output equal to the input, bit for bit, whatever the codec.
        CHECK(n == 0 || sum.first() == 4, "%g", static_cast<double>(sum.first()));
      }
    }
  }
  CHECK_SUCCESS(MPI_Comm_free(&single));
}

void no_elements() {
  MPIX_Plan plan = MPIX_PLAN_NULL;
  for (MPI_Datatype type : {MPI_FLOAT, MPI_INT}) {
    CHECK_SUCCESS(MPIX_Allreduce_compressed_init(nullptr, nullptr, 0, type, MPI_SUM,
                                                 MPIX_CODEC_INT8, MPI_COMM_WORLD, MPI_INFO_NULL,
                                                 &plan));
    for (int turn = 0; turn < 3; ++turn) {
      CHECK_SUCCESS(MPIX_Plan_start(plan));
      CHECK_SUCCESS(MPIX_Plan_wait(plan));
    }
    CHECK(description_of(plan).find("no elements") != std::string::npos, "%s",
          description_of(plan).c_str());
    CHECK_SUCCESS(MPIX_Plan_free(&plan));
  }
}

/// 2x2 integer matrices: not commutative, so that the order of ranks shows.
void multiply(void* in, void* inout, int* n, MPI_Datatype*) {
  for (int k = 0; k < *n; ++k) {
    const int* a = static_cast<int*>(in) + 4 * k;
    int* b = static_cast<int*>(inout) + 4 * k;
    const int c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                      a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
    std::copy(c, c + 4, b);
  }
}

/// Two plans with an operator of the caller on a derived type, started in different orders.
void operators_of_the_caller() {
  MPI_Datatype matrix = MPI_DATATYPE_NULL;
  MPI_Op product = MPI_OP_NULL;
  MPI_Type_contiguous(4, MPI_INT, &matrix);
  MPI_Type_commit(&matrix);
  MPI_Op_create(multiply, 0, &product);
  constexpr int kCount = 300;
  std::vector<int> in[2], out[2];
  MPIX_Plan plans[2] = {MPIX_PLAN_NULL, MPIX_PLAN_NULL};
  for (std::size_t p : {0u, 1u}) {
    in[p].resize(4 * kCount);
    out[p].resize(4 * kCount);
    CHECK_SUCCESS(MPIX_Allreduce_compressed_init(in[p].data(), out[p].data(), kCount, matrix,
                                                 product, MPIX_CODEC_BF16, MPI_COMM_WORLD,
                                                 MPI_INFO_NULL, &plans[p]));
  }
  CHECK(description_of(plans[0]).find("MPI_Iallreduce") != std::string::npos, "%s",
        description_of(plans[0]).c_str());
  for (int turn = 0; turn < 6; ++turn) {
    for (int p : {0, 1}) {
      for (int k = 0; k < kCount; ++k) {
        const int m[4] = {1, g_rank + p + turn, g_rank % 2, 1};
        std::copy(m, m + 4, in[p].begin() + 4 * k);
      }
    }
    const int first = (g_rank + turn) % 2;
    CHECK_SUCCESS(MPIX_Plan_start(plans[first]));
    CHECK_SUCCESS(MPIX_Plan_start(plans[1 - first]));
    if (turn % 3 == 0) {
      CHECK_SUCCESS(MPIX_Plan_waitall(2, plans));
    } else {
      CHECK_SUCCESS(MPIX_Plan_wait(plans[turn % 2]));
      for (int flag = 0; !flag;) CHECK_SUCCESS(MPIX_Plan_test(plans[1 - turn % 2], &flag));
    }
    for (int p : {0, 1}) {
      int expected[4] = {1, 0, 0, 1};  // in rank order
      for (int r = g_size - 1; r >= 0; --r) {
        int m[4] = {1, r + p + turn, r % 2, 1}, one = 1;
        multiply(m, expected, &one, nullptr);
      }
      const bool same = std::equal(expected, expected + 4, out[p].begin()) &&
                        std::equal(expected, expected + 4, out[p].end() - 4);
      CHECK(same, "turn %d, plan %d: %d %d %d %d", turn, p, out[p][0], out[p][1], out[p][2],
            out[p][3]);
    }
  }
  // The plans outlive type and operator.
  MPI_Type_free(&matrix);
  MPI_Op_free(&product);
  for (MPIX_Plan& plan : plans) CHECK_SUCCESS(MPIX_Plan_free(&plan));
}

void derived_types() {
  MPI_Datatype every_second = MPI_DATATYPE_NULL, resized = MPI_DATATYPE_NULL;
  MPI_Type_vector(3, 1, 2, MPI_INT, &every_second);
  MPI_Type_create_resized(every_second, 0, 6 * sizeof(int), &resized);
  MPI_Type_commit(&resized);
  MPI_Op sum = MPI_OP_NULL;
  MPI_Op_create(
      [](void* in, void* inout, int* n, MPI_Datatype*) {
        for (int k = 0; k < *n; ++k) {
          for (int i : {0, 2, 4})
            static_cast<int*>(inout)[6 * k + i] += static_cast<int*>(in)[6 * k + i];
        }
      },
      1, &sum);
  int in[12], out[12];
  MPIX_Plan plan = MPIX_PLAN_NULL;
  CHECK_SUCCESS(MPIX_Allreduce_compressed_init(in, out, 2, resized, sum, MPIX_CODEC_INT8,
                                               MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < 12; ++i) {
      in[i] = g_rank + turn + i;
      out[i] = -7;
    }
    CHECK_SUCCESS(MPIX_Plan_start(plan));
    CHECK_SUCCESS(MPIX_Plan_wait(plan));
    for (int i = 0; i < 12; ++i) {
      const int expected = i % 2 ? -7 : g_size * (g_size - 1) / 2 + g_size * (turn + i);
      CHECK(out[i] == expected, "element %d: %d, not %d", i, out[i], expected);
    }
  }
  CHECK_SUCCESS(MPIX_Plan_free(&plan));
  MPI_Op_free(&sum);
  MPI_Type_free(&resized);
  MPI_Type_free(&every_second);
}

void inter_communicator() {
  if (g_size < 2) return;
  const int low = (g_size + 1) / 2;
  const bool first = g_rank < low;
  MPI_Comm local = MPI_COMM_NULL, inter = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, first, 0, &local);
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, first ? low : 0, 5, &inter);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  int expected = 0;  // the sum of the other group
  for (int r = first ? low : 0; r < (first ? g_size : low); ++r) expected += r;
  float in[50], out[2][50];
  MPIX_Plan plans[2] = {MPIX_PLAN_NULL, MPIX_PLAN_NULL};
  for (int p : {0, 1})
    CHECK_SUCCESS(MPIX_Allreduce_compressed_init(in, out[p], 50, MPI_FLOAT, MPI_SUM,
                                                 MPIX_CODEC_INT4, inter, MPI_INFO_NULL, &plans[p]));
  for (int turn = 0; turn < 4; ++turn) {
    for (float& x : in) x = static_cast<float>(g_rank);
    for (float& x : out[0]) x = -1;
    for (float& x : out[1]) x = -1;
    CHECK_SUCCESS(MPIX_Plan_start(plans[(g_rank + turn) % 2]));
    CHECK_SUCCESS(MPIX_Plan_start(plans[(g_rank + turn + 1) % 2]));
    CHECK_SUCCESS(MPIX_Plan_waitall(2, plans));
    for (int p : {0, 1})
      CHECK(out[p][0] == expected && out[p][49] == expected, "%g, not %d",
            static_cast<double>(out[p][0]), expected);
  }
  MPIX_Plan none = MPIX_PLAN_NULL;
  CHECK_CLASS(MPIX_Allreduce_compressed_init(in, out[0], 1, MPI_FLOAT, WRING_AVG, MPIX_CODEC_NONE,
                                             inter, MPI_INFO_NULL, &none),
              MPI_ERR_COMM);
  CHECK_SUCCESS(MPIX_Plan_free(&plans[1]));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_SUCCESS(MPI_Comm_free(&inter));
  CHECK_SUCCESS(MPIX_Plan_free(&plans[0]));
  CHECK_SUCCESS(MPI_Comm_free(&local));
}

void large_count_twins() {
  std::vector<double> in(40000, g_rank), out(in.size(), -1);
  MPIX_Plan plan = MPIX_PLAN_NULL;
  const MPI_Count n = static_cast<MPI_Count>(in.size());
  CHECK_SUCCESS(MPIX_Allreduce_compressed_init_c(in.data(), out.data(), n, MPI_DOUBLE, MPI_SUM,
                                                 MPIX_CODEC_FP16, MPI_COMM_WORLD, MPI_INFO_NULL,
                                                 &plan));
  CHECK_SUCCESS(MPIX_Plan_start(plan));
  CHECK_SUCCESS(MPIX_Plan_wait(plan));
  const double expected = g_size * (g_size - 1) / 2;
  CHECK(out.front() == expected && out.back() == expected, "%g", out.front());
  CHECK_SUCCESS(MPIX_Plan_free(&plan));
  CHECK_CLASS(MPIX_Allreduce_compressed_init_c(in.data(), out.data(), MPI_Count{1} << 62,
                                               MPI_DOUBLE, MPI_SUM, MPIX_CODEC_NONE,
                                               MPI_COMM_WORLD, MPI_INFO_NULL, &plan),
              MPI_ERR_COUNT);
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_SUCCESS(MPIX_Iallreduce_compressed_c(in.data(), out.data(), n, MPI_DOUBLE, MPI_SUM,
                                             MPIX_CODEC_FP16, MPI_COMM_WORLD, &request));
  CHECK_SUCCESS(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(out.front() == expected && out.back() == expected, "%g", out.front());
}

// --- many plans ---------------------------------------------------------------------------------

long resident_bytes() {
  long pages = 0, resident = 0;
  if (FILE* f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(f);
  }
  return resident * sysconf(_SC_PAGESIZE);
}

void many_plans() {
  const auto turn = [](int i) {
    SumPlan sum(1 + i % 3 * 5000, i % 2 ? MPIX_CODEC_BF16 : MPIX_CODEC_NONE);
    start_and_wait(sum, 1, "one of many");
  };
  const int turns = g_cases->full() ? 5000 : g_cases->repetitions(1000, 200);
  for (int i = 0; i < turns / 10 + 20; ++i) turn(i);
  const long before = resident_bytes();
  for (int i = 0; i < turns; ++i) turn(i);
  const long growth = resident_bytes() - before;
  CHECK(growth < 1 << 20, "%d plans: resident memory grew by %ld bytes", turns, growth);
}

void many_at_once() {
  constexpr int kPlans = 200;
  std::vector<std::unique_ptr<SumPlan>> sums;
  for (int k = 0; k < kPlans; ++k)
    sums.push_back(std::make_unique<SumPlan>(1 + 37 * k, MPIX_CODEC_NONE));
  for (int turn = 0; turn < 2; ++turn) {
    for (auto& s : sums) s->fill(1 << turn);
    for (int k = 0; k < kPlans; ++k)  // from both ends, on different ranks
      CHECK_SUCCESS(MPIX_Plan_start(
          sums[static_cast<std::size_t>(g_rank % 2 ? k : kPlans - 1 - k)]->plan));
    for (auto& s : sums) {
      CHECK_SUCCESS(MPIX_Plan_wait(s->plan));
      s->check("many at once");
    }
  }
}

/// Leaves plans of two communicators, and one whose communicator is gone, to MPI_Finalize.
int left_to_finalize(bool active) {
  alarm(40);
  MPI_Comm kept = MPI_COMM_NULL, freed = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &kept);
  MPI_Comm_dup(MPI_COMM_WORLD, &freed);
  // Buffers that stay, as the program's must while plans are active.
  static std::vector<std::unique_ptr<SumPlan>> sums;
  for (MPI_Comm comm : {MPI_COMM_WORLD, kept, freed, MPI_COMM_SELF}) {
    for (int n : {0, 10, 300000}) {
      sums.push_back(std::make_unique<SumPlan>(n, MPIX_CODEC_BF16, comm));
      SumPlan& sum = *sums.back();
      sum.fill(1);
      int failed = MPIX_Plan_start(sum.plan);
      if (!active || n == 10) failed += MPIX_Plan_wait(sum.plan);
      if (failed) return std::printf("FAILED LeftToFinalize, rank %d\n", g_rank), 1;
    }
  }
  MPI_Comm_free(&freed);
  MPI_Finalize();
  for (auto& sum : sums) {  // freed already; its handle is nobody's any more
    sum->plan = MPIX_PLAN_NULL;
    (void)sum.release();
  }
  if (g_rank == 0) std::printf("ok LeftToFinalize, %d ranks\n", g_size);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  wring::test::Cases cases(argc, argv);
  g_cases = &cases;
  g_rank = cases.rank();
  g_size = cases.size();
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "active" || mode == "inactive") return left_to_finalize(mode == "active");
  cases.run("OutlivesItsCodec", outlives_its_codec);
  cases.run("OutlivesItsCommunicator", outlives_its_communicator);
  cases.run("CommunicatorFreedWhileActive", communicator_freed_while_active);
  cases.run("A02 Alone", alone);
  cases.run("A02 NoElements", no_elements);
  cases.run("A19 OperatorsOfTheCaller", operators_of_the_caller);
  cases.run("A19 DerivedTypes", derived_types);
  cases.run("A27 InterCommunicator", inter_communicator);
  cases.run("LargeCountTwins", large_count_twins);
  cases.run("A25 ManyPlans", many_plans, 120);
  cases.run("ManyAtOnce", many_at_once);
  return cases.finish();
}
