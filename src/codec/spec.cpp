// SPDX-License-Identifier: BSD-3-Clause
// spec.cpp - codecs written as text: "name" or "name:parameter=value,...", with "auto:" before it where the
// codec is up to the library.
#include <string>

#include "codec/codec.hpp"
#include "codec/support.hpp"

namespace wring::codec {
namespace {

/// Text in quotation marks, control characters as \xNN, cut where it gets long.
std::string quoted(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string out = "\"";
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
      continue;
    }
    constexpr char kHex[] = "0123456789abcdef";
    out += "\\x";
    out += kHex[byte / 16];
    out += kHex[byte % 16];
  }
  return out + (text.size() > kLongest ? "...\"" : "\"");
}

constexpr std::string_view kAuto = "auto";

/// "none, fp16, ..., auto" where auto may stand too.
std::string codec_names(bool with_auto) {
  std::string names;
  for (const Codec* codec : all()) names += (names.empty() ? "" : ", ") + std::string(codec->name);
  if (with_auto) (names += ", ") += kAuto;
  return names;
}

/// "block, rounding, seed": the names in Codec::params.
std::string parameter_names(const Codec& codec) {
  std::string names;
  std::string_view rest = codec.params;
  while (!rest.empty()) {
    if (!names.empty()) names += ", ";
    names += rest.substr(0, rest.find('='));
    const std::size_t comma = rest.find(',');
    rest = comma == rest.npos ? "" : rest.substr(comma + 1);
  }
  return names.empty() ? std::string(codec.name) + " has no parameters" : names;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Status run(Spec& out) {
    Spec spec;
    std::size_t begin = 0;
    if (text_ == kAuto) {
      text_ = all().front()->name;
      spec.optional = true;
    } else if (text_.substr(0, kAuto.size() + 1) == std::string(kAuto) + ':') {
      begin = kAuto.size() + 1;
      spec.optional = true;
    }
    colon_ = text_.find(':', begin);
    const std::string_view name = text_.substr(begin, colon_ - begin);
    if (name.empty()) return error("expected a codec", begin, codec_names(begin == 0));
    spec.codec = find(name);
    if (!spec.codec) return error("unknown codec " + quoted(name), begin, codec_names(begin == 0));
    spec.params = spec.codec->defaults;
    for (std::size_t at = colon_; at < text_.size(); at = text_.find(',', at + 1)) {
      WRING_TRY(parameter(spec, at + 1));
    }
    out = spec;
    return {};
  }

 private:
  /// Reads "name=value" from `begin` to the next comma or the end.
  Status parameter(Spec& spec, std::size_t begin) {
    const std::string_view item = text_.substr(begin, text_.find(',', begin) - begin);
    const std::size_t equals = item.find('=');
    const std::string_view name = item.substr(0, equals);
    const std::string names = parameter_names(*spec.codec);
    if (name.empty()) return error("expected a parameter", begin, names);
    if (repeated(name, begin)) {
      return error("parameter " + quoted(name) + " given twice, again", begin, "once each");
    }
    const bool has_value = equals != item.npos;
    const std::string_view value = has_value ? item.substr(equals + 1) : "";
    const Status status = spec.codec->set(spec.params, name, value);
    if (status.detail() == kUnknownParameter) {
      return error("unknown parameter " + quoted(name), begin, names);
    }
    if (!has_value) {
      return error("expected '=' and a value after " + quoted(name), begin + item.size(),
                   status.is_error() ? status.what() : name);
    }
    if (status.is_error()) {
      return error("bad value " + quoted(value) + " of " + std::string(name), begin + equals + 1,
                   status.what());
    }
    return {};
  }

  /// Whether a parameter before `begin` has that name.
  bool repeated(std::string_view name, std::size_t begin) const {
    std::size_t at = colon_;
    while (at + 1 < begin) {
      const std::string_view item = text_.substr(at + 1, text_.find(',', at + 1) - at - 1);
      if (item.substr(0, item.find('=')) == name) return true;
      at = text_.find(',', at + 1);
    }
    return false;
  }

  Status error(const std::string& problem, std::size_t at, std::string_view allowed) const {
    return fail(Code::invalid_arg, 0, "codec spec %s: %s at character %zu (%.*s)",
                quoted(text_).c_str(), problem.c_str(), at + 1, static_cast<int>(allowed.size()),
                allowed.data());
  }

  std::string_view text_;
  std::size_t colon_ = 0;  ///< after the codec's name
};

}  // namespace

Status parse(std::string_view text, Spec& out) { return Parser(text).run(out); }

std::string to_string(const Spec& spec) {
  std::string out;
  if (spec.optional) (out += kAuto) += ':';
  out += spec.codec->name;
  spec.codec->print(spec.params, out);
  return out;
}

/// FNV-1a over the canonical form.
std::uint32_t hash(const Spec& spec) {
  std::uint32_t hash = 2166136261u;
  for (const char c : to_string(spec)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  }
  return hash;
}

}  // namespace wring::codec
