// SPDX-License-Identifier: BSD-3-Clause
// plan.hpp - interface of the plan room: from a problem to an immutable plan.
//
// A Problem says what is to be reduced and holds nothing that is local to a rank; Settings are what
// rank 0 distributed once for the communicator. choose() is a pure function of the two, so all ranks
// make the same choice without talking.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "algorithm/algorithm.hpp"
#include "base/dtype.hpp"
#include "base/status.hpp"
#include "codec/codec.hpp"
#include "plan/machine.hpp"

namespace wring::plan {

struct Problem {
  std::uint64_t count = 0;
  Dtype dtype = Dtype::opaque;
  std::uint32_t element_bytes = 0;
  Op op = Op::other;
  /// Which type and operator, where dtype is opaque or op is other; the same on every machine.
  std::uint32_t opaque_id = 0;
  int size = 1;
  codec::Spec codec;  ///< that was asked for; optional: raw where raw is faster
  /// Which ranks share a node; the same on all ranks.
  algorithm::Nodes nodes{};
  bool operator==(const Problem&) const = default;

  algorithm::Layout layout() const { return {size, nodes}; }

  std::uint64_t bytes() const noexcept { return count * element_bytes; }
  /// Whether values can go through codecs at all.
  bool encodable() const noexcept { return dtype != Dtype::opaque && op != Op::other; }
};

/// One entry of a tuning table: messages of [min_bytes, max_bytes) use algorithm, and codec if one is
/// named. The first entry that matches counts.
struct Rule {
  std::uint64_t min_bytes = 0, max_bytes = 0;
  const algorithm::Algorithm* algorithm = nullptr;
  codec::Spec codec;                ///< codec.codec null: what the caller asked for
  std::uint64_t segment_bytes = 0;  ///< 0: by the library
  // Which problems it is for; what is not set is for all.
  int size = 0;
  std::optional<Dtype> dtype;
  codec::Spec asked;
};

/// Parses "allreduce:0-4k:tree+none;4k-inf:ring+bf16" ("allreduce:" may be left out). The error text
/// quotes the rule and says what is wrong with it.
Status parse_rules(const std::string& text, std::vector<Rule>& out);

bool applies(const Rule& rule, const Problem& problem) noexcept;

/// What decides besides the problem. The same on all ranks of a communicator.
struct Settings {
  const algorithm::Algorithm* algorithm = nullptr;  ///< null: by rules, table, cost model
  std::vector<Rule> rules;                          ///< of WRING_TUNE_RULES
  std::vector<Rule> table;                          ///< of WRING_TUNE_FILE; after the rules
  std::vector<Rule> measured;                       ///< with WRING_TUNE=measure; after the table
  std::uint64_t segment_bytes = 0;  ///< 0: by the library
  Network network;
  Processor processor;
  bool checksum = false;
  std::size_t max_payload = 256 * 1024;  ///< of the transport's frames
};

/// How the vector is cut: into slices at block edges, those into segments; see schedule.hpp.
struct Geometry {
  struct Range {
    std::uint64_t first = 0, n = 0;
  };
  std::uint64_t count = 0, block = 1, segment = 1;  ///< in elements; segment is a multiple of block
  std::uint32_t slices = 1, tiles = 0;
  std::vector<Range> ranges;  ///< of the slices; divisions show in the latency of small calls

  const Range& slice(std::uint32_t s) const noexcept { return ranges[s]; }
  /// Elements of slice s in a tile; none in the last tiles of shorter slices.
  Range part(std::uint32_t s, std::uint32_t tile) const noexcept {
    const Range& whole = ranges[s];
    const std::uint64_t from = std::min(whole.n, tile * segment);
    return {whole.first + from, std::min(segment, whole.n - from)};
  }
};

/// Slice s of `slices`: whole blocks, the first slices being one block longer where they do not divide.
Geometry::Range slice_of(std::uint64_t count, std::uint64_t block, std::uint32_t slices, std::uint32_t s);
Geometry cut(std::uint64_t count, std::uint64_t block, std::uint32_t slices, std::uint64_t segment);

struct Choice {
  const algorithm::Algorithm* algorithm = nullptr;
  codec::Spec codec;
  const char* reason = "";
  std::uint64_t segment_bytes = 0;  ///< of accumulators, about; 0: by the size of slices
  /// Predictions by the cost model: of this choice, and of the best without a lossy codec.
  double seconds = 0, raw_seconds = 0;

  /// Whether raw would be clearly faster.
  bool raw_wins() const noexcept {
    return codec.lossy() && raw_seconds > 0 && 1.05 * raw_seconds < seconds;
  }
};
/// Deterministic: equal arguments give equal choices on every rank.
Choice choose(const Problem& problem, const Settings& settings);

/// Candidates with the codec asked for that the model does not find much slower than the fastest, the fastest
/// first, as rules for everything: what is worth being timed.
std::vector<Rule> shortlist(const Problem& problem, const Settings& settings);

/// Everything that is decided about a problem on one rank. Immutable.
struct Plan {
  Problem problem;
  Choice choice;
  Geometry geometry;
  algorithm::Program program;
  int rank = 0;
  bool checksum = false;
  int depth = 1;                ///< tiles in flight
  std::size_t buffer_bytes = 0; ///< of one staging buffer: a segment as accumulators, or encoded
  int buffers = 0;              ///< staging buffers in all
  std::uint32_t detail = 0;     ///< hash of what frame headers have no field for

  /// Payload bytes that `none` would send under the same algorithm, from this rank.
  std::uint64_t raw_bytes = 0;
  /// One line: algorithm, codec, error bound, segment, and why.
  std::string describe() const;
};

/// Makes the plan of `rank` for a problem with count > 0 and size > 1. Local.
Plan make_plan(const Problem& problem, const Settings& settings, int rank);

/// Largest error of an element of the result, by the codec's and the algorithm's published formula
/// (docs/codecs.md).
class ErrorBound {
 public:
  ErrorBound(const Problem& problem, const Choice& choice);
  /// sum_abs: sum over ranks of |contribution|; sum_max: sum over ranks of the largest magnitude in the
  /// element's codec block; result: the exact result.
  double operator()(double sum_abs, double sum_max, double result) const noexcept;
  /// The same in words, for any result: a factor, rounded up, of a sum or mean over the ranks.
  std::string describe() const;

 private:
  int size_;
  Dtype dtype_;
  bool average_, of_block_max_ = false;
  double unit_ = 0, least_ = 0;              ///< roundoff and smallest number of accumulators
  double relative_ = 0, absolute_ = 0;       ///< error of the sum: relative to what sum_abs or sum_max say, and beside it
};

}  // namespace wring::plan
