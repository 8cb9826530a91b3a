// SPDX-License-Identifier: BSD-3-Clause
// table_json.cpp - tuning files: docs/tuning.schema.json.
//
// The JSON library checks the syntax and makes a tree; reading the tree gives rules. The tree does
// not know where in the text its nodes were, so that for an error the text is walked once more
// (line_of).
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>

#include "base/config.hpp"
#include "plan/table.hpp"

#if HAVE_JSON
#define JSON_NO_IO 1  // no iostream in the library
#include <nlohmann/json.hpp>
#endif

namespace wring::plan {

Status read_text(const std::string& path, std::string& out) {
  constexpr std::size_t kMost = 1 << 20;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  const auto refuse = [&](const char* why) {
    return fail(Code::invalid_arg, static_cast<int>(Arg::info), "%s: %s", path.c_str(), why);
  };
  if (file == nullptr) return refuse("cannot be opened");
  std::string text(kMost + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get())) return refuse("cannot be read");
  if (text.size() > kMost) return refuse("is larger than 1 MiB");
  out = std::move(text);
  return {};
}

#if HAVE_JSON

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "wring-tuning";
constexpr std::uint64_t kVersion = 1;
constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();

/// Where a node is: names of members and indices of elements from the root.
struct Place {
  const Place* parent = nullptr;
  std::string_view name;  ///< of a member; empty for an element
  std::size_t index = 0;

  std::string text() const {
    if (parent == nullptr) return "";
    const std::string before = parent->text();
    if (name.empty()) return before + "[" + std::to_string(index) + "]";
    return before + (before.empty() ? "" : ".") + std::string(name);
  }
};

/// Walks valid JSON.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) {}

  /// Goes to the value at a place that is there.
  void go(const Place& place) {
    if (place.parent == nullptr) return blanks();
    go(*place.parent);
    ++at_;  // { or [
    for (std::size_t i = 0;; ++i) {
      blanks();
      bool found = i == place.index;
      if (!place.name.empty()) {
        const std::size_t begin = at_ + 1;
        value();
        found = text_.substr(begin, at_ - 1 - begin) == place.name;
        blanks();
        ++at_;  // :
        blanks();
      }
      if (found || at_ >= text_.size()) return;
      value();
      blanks();
      ++at_;  // ,
    }
  }
  std::size_t line() const {
    const auto end = text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size()));
    return 1 + static_cast<std::size_t>(std::count(text_.begin(), end, '\n'));
  }

 private:
  void blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  /// Past a value, whose brackets match.
  void value() {
    int depth = 0;
    do {
      const char c = text_[at_];
      if (c == '"') {
        for (++at_; text_[at_] != '"'; ++at_) at_ += text_[at_] == '\\';
        ++at_;
      } else if (c == '{' || c == '[') {
        ++depth, ++at_;
      } else if (c == '}' || c == ']') {
        --depth, ++at_;
      } else if (depth > 0) {
        ++at_;
      } else {
        at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
      }
    } while (depth > 0 && at_ < text_.size());
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Status read(const Json& root, std::vector<Rule>& out) const {
    const Place top;
    WRING_TRY(members(root, top, {"format", "version", "tables"}, {"$schema"}));
    const Place format{&top, "format"}, version{&top, "version"}, tables{&top, "tables"};
    if (root["format"] != kFormat) return wrong(format, "is not \"wring-tuning\"");
    if (root["version"] != kVersion)
      return wrong(version, "is not a version that this library reads (1)");
    WRING_TRY(array(root["tables"], tables));
    for (std::size_t i = 0; i < root["tables"].size(); ++i) {
      WRING_TRY(read_table(root["tables"][i], {&tables, {}, i}, out));
    }
    return {};
  }

 private:
  Status read_table(const Json& node, const Place& at, std::vector<Rule>& out) const {
    WRING_TRY(members(node, at, {"entries"}, {"ranks", "type", "codec", "network"}));
    Rule common;
    if (node.contains("ranks")) {
      std::uint64_t ranks = 0;
      WRING_TRY(number(node["ranks"], {&at, "ranks"}, ranks));
      if (ranks < 1 || ranks > 1u << 30) return wrong({&at, "ranks"}, "is not a number of ranks");
      common.size = static_cast<int>(ranks);
    }
    if (node.contains("type")) {
      const Place place{&at, "type"};
      WRING_TRY(string(node["type"], place));
      for (const Dtype t : {Dtype::opaque, Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64}) {
        if (node["type"] == name_of(t)) common.dtype = t;
      }
      if (!common.dtype) return wrong(place, "is not one of fp16, bf16, fp32, fp64, opaque");
    }
    if (node.contains("codec")) WRING_TRY(codec(node["codec"], {&at, "codec"}, common.asked));
    const Place entries{&at, "entries"};
    WRING_TRY(array(node["entries"], entries));
    for (std::size_t i = 0; i < node["entries"].size(); ++i) {
      Rule rule = common;
      WRING_TRY(read_entry(node["entries"][i], {&entries, {}, i}, rule));
      out.push_back(rule);
    }
    return {};
  }

  Status read_entry(const Json& node, const Place& at, Rule& rule) const {
    WRING_TRY(
        members(node, at, {"from", "algorithm"}, {"to", "codec", "segment", "seconds", "reason"}));
    WRING_TRY(number(node["from"], {&at, "from"}, rule.min_bytes));
    rule.max_bytes = kNoEnd;
    if (node.contains("to")) WRING_TRY(number(node["to"], {&at, "to"}, rule.max_bytes));
    if (rule.max_bytes <= rule.min_bytes) return wrong({&at, "to"}, "is not above \"from\"");
    const Place algorithm{&at, "algorithm"};
    WRING_TRY(string(node["algorithm"], algorithm));
    rule.algorithm =
        algorithm::find(std::string_view(node["algorithm"].get_ref<const std::string&>()));
    if (rule.algorithm == nullptr) return wrong(algorithm, "is not an algorithm of this build");
    if (node.contains("codec")) WRING_TRY(codec(node["codec"], {&at, "codec"}, rule.codec));
    if (node.contains("segment"))
      WRING_TRY(number(node["segment"], {&at, "segment"}, rule.segment_bytes));
    return {};
  }

  /// An object with all the members needed, and besides them only those allowed.
  Status members(const Json& node, const Place& at, std::initializer_list<const char*> needed,
                 std::initializer_list<const char*> allowed) const {
    if (!node.is_object()) return wrong(at, "is not an object");
    for (const char* name : needed) {
      if (!node.contains(name)) {
        return wrong(at, (std::string("has no member \"") + name + '"').c_str());
      }
    }
    const auto is = [](const std::string& key) {
      return [&key](const char* name) { return key == name; };
    };
    for (const auto& [key, value] : node.items()) {
      if (std::any_of(needed.begin(), needed.end(), is(key))) continue;
      if (std::any_of(allowed.begin(), allowed.end(), is(key))) continue;
      return wrong({&at, key}, "is not known");
    }
    return {};
  }
  Status array(const Json& node, const Place& at) const {
    return node.is_array() ? Status{} : wrong(at, "is not an array");
  }
  Status string(const Json& node, const Place& at) const {
    return node.is_string() ? Status{} : wrong(at, "is not a string");
  }
  Status number(const Json& node, const Place& at, std::uint64_t& out) const {
    if (!node.is_number_unsigned()) return wrong(at, "is not a whole number");
    out = node.get<std::uint64_t>();
    return {};
  }
  Status codec(const Json& node, const Place& at, codec::Spec& out) const {
    WRING_TRY(string(node, at));
    const Status status = codec::parse(node.get_ref<const std::string&>(), out);
    return status.ok() ? Status{} : wrong(at, std::string(status.what()).c_str());
  }

  Status wrong(const Place& at, const char* why) const {
    Walker walker(text_);
    walker.go(at);
    const std::string place = at.text();
    return fail(Code::invalid_arg, static_cast<int>(Arg::info), "line %zu: %s%s%s", walker.line(),
                place.c_str(), place.empty() ? "the file " : " ", why);
  }

  std::string_view text_;
};

}  // namespace

Status load_table(std::string_view text, std::vector<Rule>& out) {
  Json root;
  try {
    root = Json::parse(text);
  } catch (const Json::parse_error& e) {
    const std::size_t read = std::min(e.byte, text.size());
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(read);
    return fail(Code::invalid_arg, static_cast<int>(Arg::info), "line %td: not JSON: %s",
                1 + std::count(text.begin(), end, '\n'), e.what());
  }
  std::vector<Rule> rules;
  WRING_TRY(Reader(text).read(root, rules));
  out = std::move(rules);
  return {};
}

std::string to_json(const Table& table) {
  Json entries = Json::array();
  for (const Table::Entry& e : table.entries) {
    Json entry{{"from", e.min_bytes}};
    if (e.max_bytes != kNoEnd) entry["to"] = e.max_bytes;
    entry["algorithm"] = e.choice.algorithm->name;
    entry["codec"] = codec::to_string(e.choice.codec);
    if (e.choice.segment_bytes != 0) entry["segment"] = e.choice.segment_bytes;
    entry["seconds"] = {e.choice.seconds, e.last_seconds};
    entry["reason"] = e.choice.reason;
    entries.push_back(entry);
  }
  const Link& link = table.network.between_nodes;
  const algorithm::Layout layout = table.problem.layout();
  const Json root{{"$schema", "tuning.schema.json"},
                  {"format", kFormat},
                  {"version", kVersion},
                  {"tables",
                   {{{"ranks", table.problem.size},
                     {"type", name_of(table.problem.dtype)},
                     {"codec", codec::to_string(table.problem.codec)},
                     {"network",
                      {{"latency", link.latency},
                       {"bandwidth", link.bandwidth},
                       {"overhead", link.overhead},
                       {"ranks_per_node", layout.ranks_on(layout.largest())}}},
                     {"entries", entries}}}}};
  return root.dump(2) + '\n';
}

#else

Status load_table(std::string_view, std::vector<Rule>&) {
  return {Code::unsupported, "this build has no JSON: tuning files cannot be read"};
}

std::string to_json(const Table&) { return ""; }

#endif

}  // namespace wring::plan
