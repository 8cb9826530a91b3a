// SPDX-License-Identifier: BSD-3-Clause
// perf.cpp - wring_perf: times MPIX_Allreduce_compressed, beside MPI_Allreduce, and checks its
// results.
#include <mpi.h>
#include <wring.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime/runtime.hpp"
#include "tools/measure.hpp"
#include "tools/options.hpp"
#include "tools/report.hpp"

namespace wring::tools {
namespace {

/// Rank 0's command line, whatever the launcher gave the others: all ranks then agree about it.
std::vector<std::string> shared_arguments(int argc, char** argv, int rank) {
  std::string text;
  for (int i = 1; i < argc; ++i) text.append(argv[i]).push_back('\0');
  auto bytes = static_cast<std::uint64_t>(text.size());
  MPI_Bcast(&bytes, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (rank != 0) text.resize(bytes);
  MPI_Bcast(text.data(), static_cast<int>(bytes), MPI_CHAR, 0, MPI_COMM_WORLD);
  std::vector<std::string> arguments;
  for (std::size_t at = 0; at < text.size(); at += arguments.back().size() + 1)
    arguments.emplace_back(&text[at]);
  return arguments;
}

/// Whether a rank, and then all, are to stop.
bool any(bool here) {
  int stop = here;
  MPI_Allreduce(MPI_IN_PLACE, &stop, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return stop != 0;
}

/// Whether a rank has something to complain of; the first that has prints it.
bool complain(const std::string& what, int rank) {
  constexpr int kNobody = 0x7fffffff;
  int first = what.empty() ? kNobody : rank;
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first == rank) std::fprintf(stderr, "wring_perf: rank %d: %s\n", rank, what.c_str());
  return first != kNobody;
}

std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return text;
}

int count_hosts(int rank, int size) {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  MPI_Get_processor_name(name, &length);
  std::vector<char> all(rank == 0 ? sizeof name * static_cast<std::size_t>(size) : 0);
  MPI_Gather(name, sizeof name, MPI_CHAR, all.data(), sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  std::vector<std::string> names;
  for (std::size_t at = 0; at < all.size(); at += sizeof name) names.emplace_back(&all[at]);
  std::sort(names.begin(), names.end());
  return static_cast<int>(std::unique(names.begin(), names.end()) - names.begin());
}

/// Sets Wring up between the ranks; empty after an error, which has been printed.
std::unique_ptr<Place> set_up(int rank, int size) {
  // A call without elements: makes the connections, and is not counted.
  const int code = MPIX_Allreduce_compressed(nullptr, nullptr, 0, MPI_FLOAT, MPI_SUM,
                                             MPIX_CODEC_NONE, MPI_COMM_WORLD);
  if (complain(code == MPI_SUCCESS ? "" : text_of(code), rank)) return nullptr;
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  version[std::strcspn(version, ",\n")] = '\0';  // first clause; MPICH's goes on for many lines
  std::replace(version, version + std::strlen(version), '\t', ' ');
  return std::make_unique<Place>(Place{.ranks = size,
                                       .hosts = count_hosts(rank, size),
                                       .mpi = version,
                                       .transport = runtime::last_call(MPI_COMM_WORLD).transport});
}

class Codec {
 public:
  explicit Codec(const std::string& spec) { MPIX_Codec_create(spec.c_str(), &handle_); }
  ~Codec() { MPIX_Codec_free(&handle_); }
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;
  MPIX_Codec handle() const { return handle_; }

 private:
  MPIX_Codec handle_ = MPIX_CODEC_NULL;
};

/// All rows of one type. False on all ranks if an error ended it.
bool run_type(const Options& o, const Data& data, const Element& element, int rank, Report& report,
              std::size_t& done) {
  const std::uint64_t most = *std::max_element(o.sizes.begin(), o.sizes.end());
  std::unique_ptr<Bench> bench;
  std::string trouble;
  try {
    bench = std::make_unique<Bench>(o, data, element, most, MPI_COMM_WORLD);
  } catch (const std::bad_alloc&) {
    trouble = "no memory for messages of " + std::to_string(most) + " bytes";
  }
  if (complain(trouble, rank)) return false;
  const std::size_t rows = o.types.size() * o.codecs.size() * o.algorithms.size() * o.sizes.size();
  for (const std::string& spec : o.codecs) {
    const Codec codec(spec);
    for (const std::string& algorithm : o.algorithms) {
      if (!algorithm.empty() && !runtime::set_algorithm(MPI_COMM_WORLD, algorithm).ok())
        return false;
      for (const std::uint64_t bytes : o.sizes) {
        Row row;
        row.count = bytes / element.bytes;
        row.bytes = row.count * element.bytes;
        row.element = &element;
        row.codec = spec;
        if (rank == 0) report.progress(done, rows, row);
        if (!bench->run(codec.handle(), row)) return false;
        if (rank == 0) report.print(row);
        ++done;
      }
    }
  }
  return true;
}

int run(const Options& o, int rank, int size) {
  Data data(o.data, o.seed, size);
  if (o.data == Data::Kind::file) {
    const Status status = data.open(o.data_file);
    std::string trouble = status.ok() ? "" : status.what();
    for (const Element* e : o.types) {
      if (trouble.empty() && data.file_bytes() < e->bytes) {
        trouble = o.data_file + ": less than one " + e->name;
      }
    }
    if (complain(trouble, rank)) return 2;
  }
  const std::unique_ptr<Place> place = set_up(rank, size);
  if (place == nullptr) return 1;
  Report report(o, *place);
  if (any(rank == 0 && !report.open())) return 2;
  if (rank == 0) report.print_header();
  bool failed = false;
  std::size_t done = 0;
  for (const Element* element : o.types) {
    failed = failed || !run_type(o, data, *element, rank, report, done);
  }
  return any(rank == 0 && !report.finish(failed)) ? 1 : 0;
}

int start(int argc, char** argv) {
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const Parsed parsed = parse_options(shared_arguments(argc, argv, rank));
  if (parsed.status < 0) return run(parsed.options, rank, size);
  if (rank == 0) std::fputs(parsed.text.c_str(), parsed.status == 0 ? stdout : stderr);
  return parsed.status;
}

}  // namespace
}  // namespace wring::tools

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 1;
  try {
    status = wring::tools::start(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "wring_perf: %s\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
