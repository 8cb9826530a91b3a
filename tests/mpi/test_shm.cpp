// SPDX-License-Identifier: BSD-3-Clause
// test_shm.cpp - shared memory between ranks of a host: what it costs, and where it cannot be had
// (user case A34).
//
// Usage: mpiexec -n P test_shm MODE:
//   loop   many communicators, one after the other and at once
//   off    WRING_SHM=0
//   tiny   a /dev/shm of 64 KiB    apart   each rank sees another /dev/shm, as in containers
// The last two make a mount namespace, which takes the right to do so; else they are skipped.
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>
#include <wring.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../common/capture.hpp"
#include "../common/mpi_check.hpp"

namespace {

using wring::test::Capture;

int g_rank, g_size;

void reduce(MPI_Comm comm, int n, const char* what) {
  std::vector<float> in(static_cast<std::size_t>(n), static_cast<float>(g_rank + 1)),
      out(in.size(), -1);
  CHECK_SUCCESS(MPIX_Allreduce_compressed(in.data(), out.data(), n, MPI_FLOAT, MPI_SUM,
                                          MPIX_CODEC_NONE, comm));
  std::size_t wrong = 0;
  for (float x : out) wrong += x != static_cast<float>(g_size * (g_size + 1) / 2);
  CHECK(wrong == 0, "%s: %zu of %d elements are wrong", what, wrong, n);
}

/// Windows of the library that this process has mapped.
int windows() {
  int found = 0;
  if (std::FILE* f = std::fopen("/proc/self/maps", "r")) {
    char line[512];
    while (std::fgets(line, sizeof line, f))
      found += std::strstr(line, "/dev/shm/wring-") != nullptr;
    std::fclose(f);
  }
  return found;
}

void many_communicators() {
  reduce(MPI_COMM_WORLD, 50000, "world");
  CHECK(windows() == 1, "%d windows instead of 1", windows());
  // At once: a window belongs to the processes, not to the communicator.
  std::vector<MPI_Comm> copies(50);
  for (MPI_Comm& c : copies) {
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    reduce(c, 40000, "a copy");
  }
  CHECK(windows() == 1, "%d windows instead of 1", windows());
  for (std::size_t i = 0; i < copies.size(); ++i)
    reduce(copies[i * 7 % 50], 40000, "one of the copies");
  for (MPI_Comm& c : copies) MPI_Comm_free(&c);
  // One after the other.
  const int turns = wring::test::Cases::current()->repetitions(5000, 50);
  for (int i = 0; i < turns; ++i) {
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    reduce(copy, i % 50 == 0 ? 40000 : 2, "a copy for one call");
    MPI_Comm_free(&copy);
  }
  CHECK(windows() == 1, "%d windows instead of 1", windows());
  // Many sets of processes: those without a communicator are forgotten, but for a few.
  for (int i = 0; i < 20; ++i) {
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, (g_rank >> i % 3) & 1, 0, &part);
    int n = 0;
    MPI_Comm_size(part, &n);
    float one = 1, sum = 0;
    CHECK_SUCCESS(
        MPIX_Allreduce_compressed(&one, &sum, 1, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE, part));
    CHECK(sum == static_cast<float>(n), "%g of %d", static_cast<double>(sum), n);
    MPI_Comm_free(&part);
  }
  CHECK(windows() <= 5, "%d windows", windows());
}

int warnings_of(const std::string& text, const char* word) {
  return static_cast<int>(Capture::lines_with(text, word).size());
}

/// Calls on two communicators; how many warnings with that word all ranks print, and lines at all.
void call_quietly(const char* word, int expected) {
  Capture capture;
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (int n : {1, 1000, 50000, 300000}) {
    reduce(MPI_COMM_WORLD, n, "world");
    reduce(copy, n, "copy");
  }
  MPI_Comm_free(&copy);
  const std::string text = capture.end();
  int mine[2] = {warnings_of(text, word), warnings_of(text, "wring")}, all[2] = {0, 0};
  PMPI_Allreduce(mine, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(all[0] == expected && all[1] == expected, "%d warnings with \"%s\", %d lines in all: %s",
        all[0], word, all[1], text.c_str());
}

bool mount_shm(const char* options) {
  return unshare(CLONE_NEWNS) == 0 &&
         mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", "/dev/shm", "tmpfs", 0, options) == 0;
}

/// Goes where rank 0 is.
bool follow(int pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/ns/mnt";
  const int place = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (place < 0) return false;
  const bool ok = unshare(CLONE_FS) == 0 && setns(place, CLONE_NEWNS) == 0;
  close(place);
  return ok;
}

/// MPI wants to find its own files again when it ends.
void restore_shm(bool apart) {
  PMPI_Barrier(MPI_COMM_WORLD);
  if (apart || g_rank == 0) umount2("/dev/shm", MNT_DETACH);
  PMPI_Barrier(MPI_COMM_WORLD);
}

/// False, on all ranks, with a line that says why, if that is not allowed here.
bool change_shm(bool apart) {
  int ok = 1, pid = getpid();
  if (apart || g_rank == 0) ok = mount_shm(apart ? "size=64m" : "size=64k");
  const int error = errno;
  MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (!apart && g_rank != 0) ok = follow(pid);
  int everywhere = 0;
  PMPI_Allreduce(&ok, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (everywhere == 0 && g_rank == 0)
    std::printf("SKIP cannot make a mount namespace: %s\n", std::strerror(error));
  return everywhere != 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "loop";
  if (mode == "off") setenv("WRING_SHM", "0", 1);
  char* no_arguments[] = {argv[0], nullptr};
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  wring::test::Cases cases(1, no_arguments);
  g_rank = cases.rank();
  g_size = cases.size();
  if (mode == "tiny" || mode == "apart") {
    if (!change_shm(mode == "apart")) {
      MPI_Finalize();
      return 77;
    }
    cases.run(mode == "tiny" ? "A34 TinySharedMemory" : "A34 SharedMemoryApart", [&] {
      call_quietly(mode == "tiny" ? "/dev/shm has no room for the" : "different file systems", 1);
      // Mailboxes still fit for two ranks.
      CHECK(windows() == (mode == "tiny" && g_size == 2), "%d windows", windows());
    });
    restore_shm(mode == "apart");
  } else if (mode == "off") {
    cases.run("A34 WithoutSharedMemory", [] {
      call_quietly("shm", 0);
      CHECK(windows() == 0, "%d windows", windows());
    });
  } else {
    cases.run("SharedMemory ManyCommunicators", many_communicators, 240);
  }
  return cases.finish();
}
