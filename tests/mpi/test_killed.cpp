// SPDX-License-Identifier: BSD-3-Clause
// test_killed.cpp - kill -9 of a rank in the middle of a transfer: all others get an error, in every form
// of call, and are not taken along.
//
// Usage: test_killed blocking|plan|nonblocking. A survivor writes what it got into a file "survived.RANK" in
// $WRING_TEST_NOTES, which tests/run-mpi.sh looks for, and leaves without MPI_Finalize, which cannot end any
// more.
#include <mpi.h>
#include <unistd.h>
#include <wring.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "../common/capture.hpp"
#include "../common/mpi_check.hpp"

namespace {

constexpr int kCount = 16 * 1024 * 1024;  // 64 MiB: the transfer takes far longer than the victim lives
constexpr unsigned kLimitSeconds = 60;
constexpr int kVictimLivesMilliseconds = 5;
/// Launchers take who leaves without MPI_Finalize for failed, and may end the others: who is done waits for them
/// so long, which is more than WRING_TIMEOUT lets the last one take.
constexpr int kLingerSeconds = 25;

std::string note_of(int rank) {
  const char* folder = std::getenv("WRING_TEST_NOTES");
  return std::string(folder ? folder : ".") + "/survived." + std::to_string(rank);
}

/// Whether ranks 0 to `ranks` - 1 have written theirs.
bool all_wrote(int ranks) {
  for (int r = 0; r < ranks; ++r) {
    if (access(note_of(r).c_str(), F_OK) != 0) return false;
  }
  return true;
}

/// One start of the form asked for, to its end. Ranks in a plan's or call's wait move it on.
int reduce(const std::string& form, MPIX_Plan plan, std::vector<float>& values) {
  if (form == "plan") {
    const int code = MPIX_Plan_start(plan);
    return code != MPI_SUCCESS ? code : MPIX_Plan_wait(plan);
  }
  if (form == "nonblocking") {
    MPI_Request request;
    const int code = MPIX_Iallreduce_compressed(MPI_IN_PLACE, values.data(), kCount, MPI_FLOAT, MPI_SUM,
                                                MPIX_CODEC_BF16, MPI_COMM_WORLD, &request);
    return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return MPIX_Allreduce_compressed(MPI_IN_PLACE, values.data(), kCount, MPI_FLOAT, MPI_SUM, MPIX_CODEC_BF16,
                                   MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string form = argc > 1 ? argv[1] : "blocking";
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  alarm(kLimitSeconds);  // a hang ends here, without the line

  std::vector<float> values(kCount, 1.0f);
  MPIX_Plan plan = MPIX_PLAN_NULL;
  int code = MPI_SUCCESS;
  if (form == "plan") {
    code = MPIX_Allreduce_compressed_init(MPI_IN_PLACE, values.data(), kCount, MPI_FLOAT, MPI_SUM, MPIX_CODEC_BF16,
                                          MPI_COMM_WORLD, MPI_INFO_NULL, &plan);
  }
  // With everybody alive: connections are made, and the next start goes at full speed.
  if (code == MPI_SUCCESS) code = reduce(form, plan, values);
  if (code != MPI_SUCCESS || values[kCount - 1] != static_cast<float>(size)) {
    std::printf("rank %d: the first start gives %g, %s\n", rank, static_cast<double>(values[kCount - 1]),
                wring::test::error_text(code));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }

  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) {
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(kVictimLivesMilliseconds));
      std::raise(SIGKILL);
    }).detach();
  }
  wring::test::Capture capture;  // what the library and UCX say about it
  const int broken = reduce(form, plan, values);
  const int again = reduce(form, plan, values);  // nothing more can be had, at once
  const std::string said = capture.end();
  const std::string text = wring::test::error_text(broken);
  const bool named = text.find("rank") != std::string::npos;
  if (broken != MPI_SUCCESS && again != MPI_SUCCESS && named) {
    if (std::FILE* file = std::fopen(note_of(rank).c_str(), "w")) {
      std::fprintf(file, "rank %d of %d: %s\n", rank, size, text.c_str());
      std::fclose(file);
    }
  } else {
    std::printf("rank %d: %d, then %d: %s\n%s", rank, broken, again, text.c_str(), said.c_str());
  }
  std::fflush(stdout);
  for (int tenths = 0; tenths < 10 * kLingerSeconds && !all_wrote(size - 1); ++tenths) usleep(100000);
  _exit(0);
}
