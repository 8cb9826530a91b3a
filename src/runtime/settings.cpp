// SPDX-License-Identifier: BSD-3-Clause
// settings.cpp - rank 0's configuration becomes that of a whole communicator.
#include <sys/random.h>

#include <array>
#include <cstring>
#include <mutex>

#include "base/config.hpp"
#include "base/log.hpp"
#include "plan/table.hpp"
#include "runtime/bootstrap.hpp"
#include "runtime/communicator.hpp"

namespace wring::runtime {
namespace {

/// What rank 0 sends to all others. Text is cut to fit; rules longer than that are refused by rank 0.
struct Block {
  std::uint64_t context;
  std::uint64_t segment;
  std::uint64_t checksum;
  std::uint64_t tune;
  std::uint64_t table_bytes;  ///< of the text of WRING_TUNE_FILE, sent after this
  char algorithm[64];
  char transport[64];
  char rules[4096];
};

template <std::size_t N>
void put(char (&to)[N], const std::string& from) {
  std::memset(to, 0, N);
  std::strncpy(to, from.c_str(), N - 1);
}

/// The tuning file's text; empty, with one warning, where it cannot be read or makes no sense.
std::string own_table() {
  std::string text;
  if (config().tune_file.empty()) return text;
  std::vector<plan::Rule> rules;
  Status status = plan::read_text(config().tune_file, text);
  if (status.ok()) status = plan::load_table(text, rules);
  if (status.ok()) return text;
  static std::once_flag once;
  std::call_once(once, [&] { log(LogLevel::warn, "WRING_TUNE_FILE is ignored: %s", status.what()); });
  return {};
}

Block own_block() {
  const Config& c = config();
  Block b{};
  if (getrandom(&b.context, sizeof b.context, 0) != sizeof b.context) b.context = reinterpret_cast<std::uintptr_t>(&b);
  b.segment = c.segment;
  b.checksum = c.checksum;
  b.tune = c.tune == "model" ? 0 : c.tune == "measure" ? 2 : 1;
  put(b.algorithm, c.algorithm);
  put(b.transport, c.transport);
  put(b.rules, c.tune_rules);
  return b;
}

/// Warns, once per process, of variables that this rank has set otherwise than rank 0.
void warn_of_differences(const Block& mine, const Block& theirs) {
  static std::once_flag once;
  std::string names;
  const auto check = [&](bool same, const char* name) {
    if (!same) names += (names.empty() ? "" : ", ") + std::string(name);
  };
  check(mine.segment == theirs.segment, "WRING_SEGMENT");
  check(mine.checksum == theirs.checksum, "WRING_CHECKSUM");
  check(mine.tune == theirs.tune, "WRING_TUNE");
  check(std::strcmp(mine.algorithm, theirs.algorithm) == 0, "WRING_ALGORITHM");
  check(std::strcmp(mine.transport, theirs.transport) == 0, "WRING_TRANSPORT");
  check(std::strcmp(mine.rules, theirs.rules) == 0, "WRING_TUNE_RULES");
  if (names.empty()) return;
  std::call_once(once, [&] {
    log(LogLevel::warn, "%s differs from rank 0's, which is used", names.c_str());
  });
}

}  // namespace

Status Communicator::agree_on_settings() {
  const Block mine = own_block();
  Block block = mine;
  std::string table;
  if (rank_ == 0) {
    table = own_table();
    block.table_bytes = table.size();
  }
  WRING_TRY(mpi_status(PMPI_Bcast(&block, sizeof block, MPI_BYTE, 0, own_comm_), "MPI_Bcast"));
  warn_of_differences(mine, block);
  if (block.table_bytes > 0) {
    table.resize(block.table_bytes);
    WRING_TRY(mpi_status(PMPI_Bcast(table.data(), static_cast<int>(table.size()), MPI_BYTE, 0, own_comm_), "MPI_Bcast"));
    WRING_TRY(plan::load_table(table, settings_.table));
  }
  context_ = block.context;
  wanted_transport_ = block.transport;
  settings_.segment_bytes = block.segment;
  settings_.checksum = block.checksum != 0;
  tune_ = static_cast<Tune>(block.tune);

  const std::string algorithm = block.algorithm;
  settings_.algorithm = algorithm == "auto" ? nullptr : algorithm::find(algorithm);
  static std::once_flag once_algorithm, once_rules, once_tune;
  if (const std::string& tune = config().tune; rank_ == 0 && tune_ == Tune::link && tune != "link") {
    std::call_once(once_tune, [&] { log(LogLevel::warn, "WRING_TUNE=\"%s\" is none of link, model and measure, using link", tune.c_str()); });
  }
  if (rank_ == 0 && algorithm != "auto" && settings_.algorithm == nullptr) {
    std::call_once(once_algorithm, [&] {
      log(LogLevel::warn, "WRING_ALGORITHM=\"%s\" is not an algorithm, using auto", block.algorithm);
    });
  }
  if (Status status = plan::parse_rules(block.rules, settings_.rules); status.is_error() && rank_ == 0) {
    std::call_once(once_rules, [&] { log(LogLevel::warn, "WRING_TUNE_RULES is ignored: %s", status.what()); });
  }
  return {};
}

Status Communicator::set_algorithm(const std::string& name) {
  const algorithm::Algorithm* a = nullptr;
  if (name != "auto") {
    a = algorithm::find(name);
    if (a == nullptr) return fail(Code::invalid_arg, static_cast<int>(Arg::other), "unknown algorithm \"%s\"", name.c_str());
  }
  Process::Lock lock(process_);
  settings_.algorithm = a;
  for (CachedCall& c : calls_) c = {};
  last_ = nullptr;
  return {};
}

}  // namespace wring::runtime
