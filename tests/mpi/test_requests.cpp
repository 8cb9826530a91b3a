// SPDX-License-Identifier: BSD-3-Clause
// test_requests.cpp - requests of nonblocking calls and of plans, in MPI's own functions beside
// requests of MPI (user cases A01, A21, A22).
//
// Usage: test_requests [single|funneled|serialized|multiple [PART OF A NAME]]
#include <mpi.h>
#include <wring.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../common/capture.hpp"
#include "../common/mpi_check.hpp"
#include "../common/plan_check.hpp"

namespace {

using wring::test::error_class;
using wring::test::error_text;
using wring::test::SumPlan;

int g_rank, g_size;
const wring::test::Cases* g_cases;

/// A nonblocking call over buffers of its own.
class Call {
 public:
  explicit Call(int n, MPIX_Codec codec = MPIX_CODEC_NONE)
      : codec_(codec), in_(static_cast<std::size_t>(n)), out_(in_.size()) {}

  void start(int value, MPI_Request* request) {
    expected_ = static_cast<float>(value * g_size * (g_size + 1) / 2);
    std::fill(in_.begin(), in_.end(), static_cast<float>(value * (g_rank + 1)));
    std::fill(out_.begin(), out_.end(), -1.0f);
    CHECK_SUCCESS(MPIX_Iallreduce_compressed(in_.data(), out_.data(), static_cast<int>(in_.size()),
                                             MPI_FLOAT, MPI_SUM, codec_, MPI_COMM_WORLD, request));
    CHECK(*request != MPI_REQUEST_NULL, "a call has no request");
  }
  void check(const char* where) const {
    std::size_t wrong = 0;
    for (float x : out_) wrong += x != expected_;
    CHECK(wrong == 0, "%s: %zu of %zu elements are not %g", where, wrong, out_.size(),
          static_cast<double>(expected_));
  }

 private:
  MPIX_Codec codec_;
  std::vector<float> in_, out_;
  float expected_ = 0;
};

/// Ways to wait for all of several requests. Each returns how many it has seen complete.
enum class Way { wait, test, waitall, waitany, waitsome, testall, testany, testsome, kWays };

int complete(Way way, std::vector<MPI_Request>& all, bool statuses, std::mt19937_64& random) {
  const int n = static_cast<int>(all.size());
  std::vector<MPI_Status> status(all.size() + 1);
  std::vector<int> indices(all.size() + 1);
  MPI_Status* const one = statuses ? status.data() : MPI_STATUS_IGNORE;
  MPI_Status* const many = statuses ? status.data() : MPI_STATUSES_IGNORE;
  const auto alive = [&] {
    return static_cast<int>(std::count_if(all.begin(), all.end(), [](MPI_Request r) {
      return r != static_cast<MPI_Request>(MPI_REQUEST_NULL);
    }));
  };
  const int wanted = alive();
  int seen = 0;
  switch (way) {
    case Way::wait: {
      std::vector<std::size_t> order(all.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), random);
      for (std::size_t i : order) {
        const bool counts = all[i] != MPI_REQUEST_NULL;
        CHECK_SUCCESS(MPI_Wait(&all[i], one));
        seen += counts && all[i] == MPI_REQUEST_NULL;
      }
      break;
    }
    case Way::test:
      for (std::size_t i = 0; seen < wanted; i = (i + 1) % all.size()) {
        if (all[i] == MPI_REQUEST_NULL) continue;
        int flag = 0;
        CHECK_SUCCESS(MPI_Test(&all[i], &flag, one));
        CHECK((all[i] == MPI_REQUEST_NULL) == (flag != 0), "request %zu, flag %d", i, flag);
        seen += flag;
      }
      break;
    case Way::waitall:
      CHECK_SUCCESS(MPI_Waitall(n, all.data(), many));
      seen = wanted - alive();
      break;
    case Way::testall:
      for (int flag = 0; !flag;) {
        CHECK_SUCCESS(MPI_Testall(n, all.data(), &flag, many));
        CHECK(flag || alive() == wanted, "MPI_Testall completed some");
      }
      seen = wanted - alive();
      break;
    case Way::waitany:
    case Way::testany:
      for (int index = 0; index != MPI_UNDEFINED;) {
        int flag = 0;
        while (!flag) {
          if (way == Way::waitany) {
            CHECK_SUCCESS(MPI_Waitany(n, all.data(), &index, one));
            flag = 1;
          } else {
            CHECK_SUCCESS(MPI_Testany(n, all.data(), &index, &flag, one));
          }
        }
        if (index == MPI_UNDEFINED) break;
        CHECK(all[static_cast<std::size_t>(index)] == MPI_REQUEST_NULL, "request %d", index);
        ++seen;
      }
      break;
    case Way::waitsome:
    case Way::testsome:
      for (int count = 0; count != MPI_UNDEFINED;) {
        if (way == Way::waitsome) {
          CHECK_SUCCESS(MPI_Waitsome(n, all.data(), &count, indices.data(), many));
        } else {
          CHECK_SUCCESS(MPI_Testsome(n, all.data(), &count, indices.data(), many));
        }
        if (count != MPI_UNDEFINED) seen += count;
      }
      break;
    case Way::kWays:
      break;
  }
  CHECK(alive() == 0 && seen == wanted, "way %d: %d of %d seen, %d left", static_cast<int>(way),
        seen, wanted, alive());
  return seen;
}

/// Everything that a program may wait for together: two calls, a plan, a message each way, nothing.
class Mix {
 public:
  Mix(int small, int large) : small_(small), large_(large, MPIX_CODEC_BF16), plan_(large, MPIX_CODEC_BF16) {}

  void start(int value, std::vector<MPI_Request>& all) {
    const int to = (g_rank + 1) % g_size, from = (g_rank + g_size - 1) % g_size;
    all.assign(7, static_cast<MPI_Request>(MPI_REQUEST_NULL));
    mine_ = 10 * value + g_rank;
    got_ = -1;
    MPI_Irecv(&got_, 1, MPI_INT, from, 3, MPI_COMM_WORLD, &all[0]);
    small_.start(value, &all[1]);
    plan_.fill(value);
    CHECK_SUCCESS(MPIX_Plan_start(plan_.plan));
    CHECK_SUCCESS(MPIX_Plan_request(plan_.plan, &all[4]));
    large_.start(value, &all[3]);
    MPI_Isend(&mine_, 1, MPI_INT, to, 3, MPI_COMM_WORLD, &all[5]);
  }
  void check(const char* where) {
    const int from = (g_rank + g_size - 1) % g_size;
    small_.check(where);
    large_.check(where);
    plan_.check(where);
    CHECK(got_ == mine_ - g_rank + from, "%s: %d", where, got_);
    // The end of the plan has been seen.
    CHECK_SUCCESS(MPIX_Plan_wait(plan_.plan));
  }

 private:
  Call small_, large_;
  SumPlan plan_;
  int mine_ = 0, got_ = 0;
};

void every_way() {
  std::mt19937_64 random(static_cast<unsigned>(g_rank));
  Mix mix(1, 20000);
  std::vector<MPI_Request> all;
  for (int turn = 0; turn < 3; ++turn) {
    for (int way = 0; way < static_cast<int>(Way::kWays); ++way) {
      for (bool statuses : {false, true}) {
        mix.start(1 + turn, all);
        std::shuffle(all.begin(), all.end(), random);
        complete(static_cast<Way>(way), all, statuses, random);
        mix.check("in every way");
      }
    }
  }
}

/// Each rank waits in another way.
void mixed_ways() {
  std::mt19937_64 random(static_cast<unsigned>(g_rank) + 77);
  Mix mix(3, 9000);
  std::vector<MPI_Request> all;
  const int turns = g_cases->repetitions(300, 40);
  for (int turn = 0; turn < turns; ++turn) {
    mix.start(1 + turn % 3, all);
    std::shuffle(all.begin(), all.end(), random);
    complete(static_cast<Way>(random() % static_cast<unsigned>(Way::kWays)), all, turn % 2, random);
    mix.check("in mixed ways");
  }
}

/// Many rounds of little work.
void many_rounds() {
  const int rounds = g_cases->full() ? 100000 / 3 : g_cases->repetitions(1000, 200);
  std::mt19937_64 random(5);
  std::vector<MPI_Request> all(4);
  float in = static_cast<float>(g_rank), out = -1;
  SumPlan sum(2, MPIX_CODEC_NONE);
  const int to = (g_rank + 1) % g_size, from = (g_rank + g_size - 1) % g_size;
  for (Way way : {Way::waitall, Way::waitany, Way::testsome}) {
    for (int round = 0; round < rounds; ++round) {
      int got = -1;
      out = -1;
      CHECK_SUCCESS(MPIX_Iallreduce_compressed(&in, &out, 1, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE,
                                               MPI_COMM_WORLD, &all[0]));
      MPI_Irecv(&got, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &all[1]);
      sum.fill(1 + round % 5);
      CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
      CHECK_SUCCESS(MPIX_Plan_request(sum.plan, &all[2]));
      MPI_Isend(&round, 1, MPI_INT, to, 1, MPI_COMM_WORLD, &all[3]);
      if (complete(way, all, false, random) != 4) return;
      CHECK(out == g_size * (g_size - 1) / 2 && got == round, "round %d: %g, %d", round,
            static_cast<double>(out), got);
      sum.check("round");
    }
  }
}

// --- states -------------------------------------------------------------------------------------

void status_without_completion() {
  Call call(50000, MPIX_CODEC_BF16);
  SumPlan sum(50000, MPIX_CODEC_BF16), idle(1, MPIX_CODEC_NONE);
  for (int turn = 0; turn < 5; ++turn) {
    MPI_Request of_call, of_plan;
    call.start(1, &of_call);
    sum.fill(1);
    CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
    CHECK_SUCCESS(MPIX_Plan_request(sum.plan, &of_plan));
    for (MPI_Request* request : {&of_call, &of_plan}) {
      int flag = 0;
      MPI_Status status;
      while (!flag) {
        CHECK_SUCCESS(MPI_Request_get_status(*request, &flag, &status));
        // This function of MPICH alone moves nothing on; any call of Wring's does.
        int over = 0;
        if (!wring::test::moves_on_in_any_call()) CHECK_SUCCESS(MPIX_Plan_test(idle.plan, &over));
      }
      CHECK(*request != MPI_REQUEST_NULL, "MPI_Request_get_status freed the request");
      flag = 0;
      CHECK_SUCCESS(MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE));
      CHECK(flag, "it was complete before");
    }
    call.check("before the wait");
    sum.check("before the wait");
    // Seen: the plan can be started again, while the request of its last start is still there.
    sum.fill(2);
    CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
    MPI_Status status;
    int cancelled = 1, count = -1;
    CHECK_SUCCESS(MPI_Wait(&of_plan, &status));
    MPI_Test_cancelled(&status, &cancelled);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(!cancelled && count == 0, "cancelled %d, count %d", cancelled, count);
    CHECK_CLASS(MPIX_Plan_start(sum.plan), MPI_ERR_REQUEST);  // still active
    CHECK_SUCCESS(MPIX_Plan_wait(sum.plan));
    sum.check("the start after");
    CHECK_SUCCESS(MPI_Wait(&of_call, MPI_STATUS_IGNORE));
  }
}

/// Requests that are freed before they complete: what they stand for goes on.
void freed_requests() {
  Call call(300000, MPIX_CODEC_BF16);
  SumPlan sum(300000, MPIX_CODEC_BF16);
  for (int turn = 0; turn < 10; ++turn) {
    MPI_Request request;
    call.start(1, &request);
    CHECK_SUCCESS(MPI_Request_free(&request));
    sum.fill(1 << turn % 3);
    CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
    for (int more = 0; more < 3; ++more) {
      CHECK_SUCCESS(MPIX_Plan_request(sum.plan, &request));
      CHECK_SUCCESS(MPI_Request_free(&request));
      CHECK(request == MPI_REQUEST_NULL, "the handle of a freed request");
    }
    // The plan is active as before: its end has not been seen.
    CHECK_CLASS(MPIX_Plan_start(sum.plan), MPI_ERR_REQUEST);
    CHECK_SUCCESS(MPIX_Plan_wait(sum.plan));
    sum.check("its request was freed");
    // A later call ends after an earlier one of equal length has ended everywhere.
    Call last(1);
    last.start(2, &request);
    CHECK_SUCCESS(MPI_Wait(&request, MPI_STATUS_IGNORE));
    last.check("the call after");
    call.start(1, &request);
    CHECK_SUCCESS(MPI_Wait(&request, MPI_STATUS_IGNORE));
    call.check("the same call again");
  }
}

/// Several requests of one start, and waits both ways round.
void requests_of_a_plan() {
  SumPlan sum(100000, MPIX_CODEC_BF16);
  for (int turn = 0; turn < 6; ++turn) {
    MPI_Request requests[3];
    sum.fill(1 + turn);
    CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
    for (MPI_Request& r : requests) CHECK_SUCCESS(MPIX_Plan_request(sum.plan, &r));
    if (turn % 3 == 0) {
      CHECK_SUCCESS(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
      CHECK_SUCCESS(MPIX_Plan_wait(sum.plan));
    } else if (turn % 3 == 1) {
      CHECK_SUCCESS(MPIX_Plan_wait(sum.plan));
      CHECK_SUCCESS(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    } else {
      CHECK_SUCCESS(MPI_Wait(&requests[2], MPI_STATUS_IGNORE));
      MPI_Request none;
      CHECK_SUCCESS(MPIX_Plan_request(sum.plan, &none));
      CHECK(none == MPI_REQUEST_NULL, "its end has been seen");
      CHECK_SUCCESS(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
    sum.check("several requests");
  }
  // A start that is over at once has a request too.
  SumPlan empty(0, MPIX_CODEC_NONE);
  MPI_Request request;
  CHECK_SUCCESS(MPIX_Plan_start(empty.plan));
  CHECK_SUCCESS(MPIX_Plan_request(empty.plan, &request));
  CHECK(request != MPI_REQUEST_NULL, "an active plan without elements has no request");
  CHECK_SUCCESS(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_SUCCESS(MPIX_Plan_start(empty.plan));
  CHECK_SUCCESS(MPIX_Plan_wait(empty.plan));
}

// --- errors -------------------------------------------------------------------------------------

/// What a function for several requests says of one. MPICH (4.0) makes an error of its own of that, whose
/// text has our code in it.
int code_in(const MPI_Status& status) {
#ifdef MPICH_VERSION
  const std::string text = error_text(status.MPI_ERROR), before = "function returned error code ";
  const auto at = text.find(before);
  CHECK(at != std::string::npos, "%s", text.c_str());
  if (at != std::string::npos) return std::atoi(text.c_str() + at + before.size());
#endif
  return status.MPI_ERROR;
}

/// The code of a mismatch comes out of whichever function completes the request, exactly.
void errors_come_through() {
  if (g_size == 1) return;
  wring::test::Capture capture;
  std::vector<float> in(3000, 1), out(3000);
  SumPlan odd(g_rank == 0 ? 2000 : 2001, MPIX_CODEC_NONE);
  for (int way = 0; way < 8; ++way) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (way < 4) {
      CHECK_SUCCESS(MPIX_Iallreduce_compressed(in.data(), out.data(), g_rank == 0 ? 3000 : 2999,
                                               MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE, MPI_COMM_WORLD,
                                               &request));
    } else {
      CHECK_SUCCESS(MPIX_Plan_start(odd.plan));
      CHECK_SUCCESS(MPIX_Plan_request(odd.plan, &request));
    }
    MPI_Status status;
    status.MPI_ERROR = MPI_SUCCESS;
    int code = MPI_SUCCESS, flag = 0, index = 0;
    switch (way % 4) {
      case 0:
        code = MPI_Wait(&request, &status);
        break;
      case 1:
        while (!flag && code == MPI_SUCCESS) code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        break;
      case 2:
        code = MPI_Waitany(1, &request, &index, &status);
        break;
      case 3:
        code = MPI_Waitall(1, &request, &status);
        CHECK(error_class(code) == MPI_ERR_IN_STATUS, "%s", error_text(code));
        code = code_in(status);
        break;
    }
    const std::string text = error_text(code);
    CHECK(text.find("mismatched calls: count") != std::string::npos &&
              text.find(way < 4 ? "2999" : "2001") != std::string::npos &&
              text.find(way < 4 ? "MPIX_Iallreduce_compressed" : "MPIX_Plan_start") !=
                  std::string::npos,
          "way %d: %s", way, text.c_str());
    CHECK(error_class(code) > MPI_ERR_LASTCODE, "way %d: class %d", way, error_class(code));
    CHECK(request == MPI_REQUEST_NULL, "way %d: the request is still there", way);
    // The error of a start is told once.
    CHECK_SUCCESS(MPIX_Plan_wait(odd.plan));
    Call next(5000);
    next.start(1, &request);
    CHECK_SUCCESS(MPI_Wait(&request, MPI_STATUS_IGNORE));
    next.check("after an error");
  }
  capture.end_with_failures();
}

void bad_arguments() {
  float x = 1, y = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  const auto call = [&](const void* send, void* recv, int n, MPI_Datatype type, MPI_Op op,
                        MPIX_Codec codec, MPI_Comm comm, MPI_Request* r) {
    return MPIX_Iallreduce_compressed(send, recv, n, type, op, codec, comm, r);
  };
  const MPI_Comm world = MPI_COMM_WORLD;
  CHECK_CLASS(call(&x, &y, -1, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE, world, &request), MPI_ERR_COUNT);
  CHECK_CLASS(call(&x, &x, 1, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE, world, &request), MPI_ERR_BUFFER);
  CHECK_CLASS(call(&x, &y, 1, MPI_DATATYPE_NULL, MPI_SUM, MPIX_CODEC_NONE, world, &request),
              MPI_ERR_TYPE);
  CHECK_CLASS(call(&x, &y, 1, MPI_FLOAT, MPI_OP_NULL, MPIX_CODEC_NONE, world, &request), MPI_ERR_OP);
  CHECK_CLASS(call(&x, &y, 1, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NULL, world, &request), MPI_ERR_ARG);
  CHECK_CLASS(call(&x, &y, 1, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE, MPI_COMM_NULL, &request),
              MPI_ERR_COMM);
  CHECK_CLASS(call(&x, &y, 1, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE, world, nullptr),
              MPI_ERR_REQUEST);
  CHECK(request == MPI_REQUEST_NULL, "a call that failed left a request");
}

// --- progress -----------------------------------------------------------------------------------

/// Rank 0 waits for our request only; its peer first receives a large message of the program's from it.
void progress_of_messages() {
  const int n = 1 << 20;  // beyond what any MPI sends eagerly
  std::vector<int> message(static_cast<std::size_t>(n), g_rank), got(message.size(), -1);
  Call call(100000, MPIX_CODEC_BF16);
  SumPlan sum(100000, MPIX_CODEC_BF16);
  const int to = (g_rank + 1) % g_size, from = (g_rank + g_size - 1) % g_size;
  for (int turn = 0; turn < 6; ++turn) {
    MPI_Request send, ours[2];
    std::fill(got.begin(), got.end(), -1);
    MPI_Isend(message.data(), n, MPI_INT, to, 9, MPI_COMM_WORLD, &send);
    sum.fill(1);
    // Half of the ranks first receive, and only then make their calls.
    const bool first = (g_rank + turn) % 2;
    if (first) MPI_Recv(got.data(), n, MPI_INT, from, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    call.start(2, &ours[0]);
    CHECK_SUCCESS(MPIX_Plan_start(sum.plan));
    CHECK_SUCCESS(MPIX_Plan_request(sum.plan, &ours[1]));
    if (turn % 3 == 0) {
      CHECK_SUCCESS(MPI_Waitall(2, ours, MPI_STATUSES_IGNORE));
    } else if (turn % 3 == 1) {
      for (MPI_Request& r : ours) CHECK_SUCCESS(MPI_Wait(&r, MPI_STATUS_IGNORE));
    } else {
      for (int index = 0; index != MPI_UNDEFINED;)
        CHECK_SUCCESS(MPI_Waitany(2, ours, &index, MPI_STATUS_IGNORE));
    }
    if (!first) MPI_Recv(got.data(), n, MPI_INT, from, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    call.check("beside a large message");
    sum.check("beside a large message");
    CHECK(got.front() == from && got.back() == from, "%d", got.front());
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// The program waits for a message of its own together with a call, whose peers wait likewise: both must
/// move on in one MPI_Waitall.
void progress_both_ways() {
  const int n = 1 << 19;
  std::vector<int> out(static_cast<std::size_t>(n), g_rank), in(out.size());
  Call call(200000);
  const int to = (g_rank + 1) % g_size, from = (g_rank + g_size - 1) % g_size;
  for (int turn = 0; turn < 5; ++turn) {
    std::vector<MPI_Request> all(3);
    std::fill(in.begin(), in.end(), -1);
    call.start(1, &all[0]);
    MPI_Irecv(in.data(), n, MPI_INT, from, 4, MPI_COMM_WORLD, &all[1]);
    MPI_Isend(out.data(), n, MPI_INT, to, 4, MPI_COMM_WORLD, &all[2]);
    if (g_rank % 2) std::reverse(all.begin(), all.end());
    CHECK_SUCCESS(MPI_Waitall(3, all.data(), MPI_STATUSES_IGNORE));
    call.check("with messages");
    CHECK(in.front() == from && in.back() == from, "%d", in.front());
  }
}

/// Many calls at once, waited for in another order than they were made.
void many_at_once() {
  constexpr int kCalls = 60;
  std::vector<std::unique_ptr<Call>> calls;
  for (int k = 0; k < kCalls; ++k)
    calls.push_back(std::make_unique<Call>(1 + (k % 7) * 911, k % 2 ? MPIX_CODEC_BF16 : MPIX_CODEC_NONE));
  std::mt19937_64 random(static_cast<unsigned>(g_rank));
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<MPI_Request> all(kCalls);
    for (std::size_t k = 0; k < kCalls; ++k) calls[k]->start(1 + static_cast<int>(k % 3), &all[k]);
    std::shuffle(all.begin(), all.end(), random);
    complete(turn == 0 ? Way::waitall : turn == 1 ? Way::wait : Way::waitany, all, false, random);
    for (const auto& c : calls) c->check("many at once");
  }
}

int level_of(const std::string& name) {
  return name == "funneled" ? MPI_THREAD_FUNNELED : name == "serialized" ? MPI_THREAD_SERIALIZED
         : name == "multiple" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
}

}  // namespace

int main(int argc, char** argv) {
  const int wanted = level_of(argc > 1 ? argv[1] : "single");
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, wanted, &level);
  if (level < wanted) {
    std::printf("skipped: this MPI does not have that thread level\n");
    MPI_Finalize();
    return 77;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  wring::test::Cases cases(argc - (argc > 1), argv + (argc > 1));
  g_cases = &cases;
  g_rank = cases.rank();
  g_size = cases.size();
  cases.run("EveryWay", every_way);
  cases.run("MixedWays", mixed_ways);
  cases.run("ManyRounds", many_rounds, 600);
  cases.run("StatusWithoutCompletion", status_without_completion);
  cases.run("FreedRequests", freed_requests);
  cases.run("RequestsOfAPlan", requests_of_a_plan);
  cases.run("ErrorsComeThrough", errors_come_through);
  cases.run("BadArguments", bad_arguments);
  cases.run("ProgressOfMessages", progress_of_messages);
  cases.run("ProgressBothWays", progress_both_ways);
  cases.run("ManyAtOnce", many_at_once);
  return cases.finish();
}
