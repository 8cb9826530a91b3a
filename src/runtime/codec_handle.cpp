// SPDX-License-Identifier: BSD-3-Clause
// codec_handle.cpp - the table behind MPIX_Codec handles.
#include <deque>
#include <mutex>

#include "base/handle_table.hpp"
#include "runtime/memo.hpp"

namespace wring::runtime {
namespace {

/// Handles of wring.h: MPIX_CODEC_NONE is 1, and so on.
constexpr const char* kPredefined[] = {"none", "fp16", "bf16", "int8", "int4", "auto"};
constexpr std::size_t kPredefinedCount = std::size(kPredefined);
constexpr std::uint16_t kTag = 0xc0de;

struct Table {
  std::mutex mutex;
  HandleTable<const codec::Spec*> handles{kTag};
  /// All specifications ever asked for, each once: there are few, and plans point to them.
  std::deque<codec::Spec> specs;

  const codec::Spec* intern(const codec::Spec& spec) {
    for (const codec::Spec& known : specs) {
      if (known == spec) return &known;
    }
    return &specs.emplace_back(spec);
  }
};

Table& table() {
  static Table* t = new Table;  // never destroyed: handles may be used by destructors of globals
  return *t;
}

const codec::Spec* predefined(CodecHandle handle) noexcept {
  struct All {
    codec::Spec specs[kPredefinedCount];
    All() {
      for (std::size_t i = 0; i < kPredefinedCount; ++i) {
        (void)codec::parse(kPredefined[i], specs[i]);
      }
    }
  };
  static const All all;
  return handle >= 1 && handle <= kPredefinedCount ? &all.specs[handle - 1] : nullptr;
}

}  // namespace

Status create_codec(const char* spec, CodecHandle& out) {
  codec::Spec parsed;
  WRING_TRY(codec::parse(spec, parsed));
  Table& t = table();
  std::lock_guard lock(t.mutex);
  const CodecHandle handle = t.handles.insert(t.intern(parsed));
  if (handle == 0) return {Code::no_memory, "too many codecs"};
  out = handle;
  return {};
}

Status free_codec(CodecHandle handle) {
  if (predefined(handle) != nullptr) return {Code::invalid_arg, "a predefined codec cannot be freed"};
  Table& t = table();
  std::lock_guard lock(t.mutex);
  if (!t.handles.erase(handle)) return {Code::invalid_arg, "not a codec handle, or one that was freed"};
  g_freed.fetch_add(1, std::memory_order_release);
  return {};
}

const codec::Spec* find_codec(CodecHandle handle) noexcept {
  if (const codec::Spec* spec = predefined(handle)) return spec;
  Table& t = table();
  std::lock_guard lock(t.mutex);
  const codec::Spec* const* found = t.handles.find(handle);
  return found ? *found : nullptr;
}

}  // namespace wring::runtime
