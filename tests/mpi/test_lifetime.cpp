// SPDX-License-Identifier: BSD-3-Clause
// test_lifetime.cpp - the library before MPI_Init, after MPI_Finalize, in destructors of globals,
// and in programs that never use MPI (user case A28).
#include <dlfcn.h>
#include <mpi.h>
#include <sys/wait.h>
#include <wring.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "../common/capture.hpp"
#include "../common/mpi_check.hpp"

namespace {

[[noreturn]] void die(const char* what) {
  std::printf("FAILED A28 %s\n", what);
  std::fflush(stdout);
  _exit(1);
}

void must(bool ok, const char* what) {
  if (!ok) die(what);
}

/// Calls that must give error codes wherever MPI is not running.
void calls_without_mpi(const char* when) {
  float x = 1, y = 2;
  const std::string what = std::string("call ") + when;
  must(MPIX_Allreduce_compressed(&x, &y, 1, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE, MPI_COMM_WORLD) ==
           MPI_ERR_OTHER,
       what.c_str());
  must(MPIX_Allreduce_compressed_c(&x, &y, 1, MPI_FLOAT, MPI_SUM, MPIX_CODEC_NONE, MPI_COMM_SELF) ==
           MPI_ERR_OTHER,
       what.c_str());
  must(MPIX_Allreduce_compressed(nullptr, nullptr, -1, MPI_DATATYPE_NULL, MPI_OP_NULL,
                                 MPIX_CODEC_NULL, MPI_COMM_NULL) == MPI_ERR_OTHER,
       what.c_str());
  must(x == 1 && y == 2, what.c_str());
  must(WRING_AVG == MPI_OP_NULL && WRING_FLOAT16 == MPI_DATATYPE_NULL &&
           WRING_BFLOAT16 == MPI_DATATYPE_NULL,
       what.c_str());
  MPIX_Codec codec = MPIX_CODEC_NULL;
  must(MPIX_Codec_create("int9", &codec) == MPI_ERR_ARG && codec == MPIX_CODEC_NULL, what.c_str());
  must(MPIX_Codec_create("int8:block=64", &codec) == MPI_SUCCESS, what.c_str());
  char text[64] = "";
  int len = sizeof text, major = -1, minor = -1, patch = -1;
  must(MPIX_Codec_to_string(codec, text, &len) == MPI_SUCCESS &&
           std::string(text).find("int8:block=64") == 0,
       what.c_str());
  MPIX_Codec copy = codec;
  must(MPIX_Codec_free(&codec) == MPI_SUCCESS && MPIX_Codec_free(&copy) == MPI_ERR_ARG,
       what.c_str());
  must(WRING_Get_version(&major, &minor, &patch) == MPI_SUCCESS && major == WRING_VERSION_MAJOR,
       what.c_str());
}

/// Made before main, or at first use, and destroyed after MPI_Finalize, as the globals of an
/// application.
class Holder {
 public:
  explicit Holder(const char* name) : name_(name) {
    must(MPIX_Codec_create("int4:block=32", &codec_) == MPI_SUCCESS, name);
  }
  ~Holder() {
    calls_without_mpi(name_);
    must(MPIX_Codec_free(&codec_) == MPI_SUCCESS && codec_ == MPIX_CODEC_NULL, name_);
  }
  MPIX_Codec codec() const { return codec_; }

 private:
  const char* name_;
  MPIX_Codec codec_ = MPIX_CODEC_NULL;
};

/// Holds back stderr from MPI_Finalize to the end; destroyed last.
class Silence {
 public:
  void begin() { capture_ = new wring::test::Capture; }
  ~Silence() {
    if (capture_ == nullptr) return;
    const std::string text = capture_->end();
    if (!text.empty()) std::fputs(text.c_str(), stderr);
    must(text.find("wring") == std::string::npos && text.find("MPI") == std::string::npos,
         "messages at the end");
  }

 private:
  wring::test::Capture* capture_ = nullptr;
};

Silence g_silence;
Holder g_holder("global");

/// Runs a command; its exit status must be 0, and it must print nothing.
void expect_silent(const std::string& command) {
  std::string output;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  must(pipe != nullptr, "popen");
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) output += static_cast<char>(c);
  const int status = pclose(pipe);
  if (!output.empty()) std::printf("%s", output.c_str());
  must(WIFEXITED(status) && WEXITSTATUS(status) == 0 && output.empty(), command.c_str());
}

std::string path_of_library() {
  Dl_info info{};
  must(dladdr(reinterpret_cast<void*>(&WRING_Get_version), &info) != 0, "dladdr");
  return info.dli_fname;
}

int g_rank, g_size;

void uses() {
  static Holder local("static local");
  std::vector<float> in(20000, static_cast<float>(g_rank)), out(20000);
  MPI_Comm copies[3] = {MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL};
  for (MPI_Comm& c : copies) MPI_Comm_dup(MPI_COMM_WORLD, &c);
  for (MPI_Comm comm : {MPI_COMM_WORLD, copies[0], copies[1], copies[2], MPI_COMM_SELF}) {
    for (MPIX_Codec codec : {g_holder.codec(), local.codec()}) {
      CHECK_SUCCESS(
          MPIX_Allreduce_compressed(in.data(), out.data(), 20000, MPI_FLOAT, MPI_SUM, codec, comm));
    }
  }
  // One communicator is freed, one is left to MPI_Finalize, one is used again after another was
  // freed.
  CHECK_SUCCESS(MPI_Comm_free(&copies[0]));
  CHECK_SUCCESS(MPIX_Allreduce_compressed(in.data(), out.data(), 20000, MPI_FLOAT, MPI_SUM,
                                          MPIX_CODEC_NONE, copies[2]));
  CHECK(out[0] == g_size * (g_size - 1) / 2, "%g", static_cast<double>(out[0]));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "never") {  // a program that never uses MPI
    if (argc > 2) calls_without_mpi("in a program without MPI");
    return 0;
  }
  calls_without_mpi("before MPI_Init");
  const char* first = std::getenv("OMPI_COMM_WORLD_RANK");
  if (first == nullptr) first = std::getenv("PMI_RANK");
  if (first == nullptr || std::string(first) == "0") {
    const std::string self = std::string("'") + argv[0] + "'", library = path_of_library();
    must(library.find("libwring") != std::string::npos,
         "the program is not linked with the shared library");
    expect_silent(self + " never");
    expect_silent(self + " never but-calls");
    expect_silent("LD_PRELOAD='" + library + "' /bin/true");
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int failed = 0;
  {
    wring::test::Cases cases(argc, argv);
    g_rank = cases.rank();
    g_size = cases.size();
    cases.run("A28 GlobalsAndStaticLocals", uses);
    g_silence.begin();
    failed = cases.finish();
  }
  calls_without_mpi("after MPI_Finalize");
  return failed;
}
