// SPDX-License-Identifier: BSD-3-Clause
// codec_handle.cpp - the table behind MPIX_Codec handles.
#include <deque>
#include <mutex>
#include <vector>

#include "runtime/runtime.hpp"

namespace wring::runtime {
namespace {

/// Handles of wring.h: MPIX_CODEC_NONE is 1, and so on.
constexpr const char* kPredefined[] = {"none", "fp16", "bf16", "int8", "int4"};
constexpr std::size_t kPredefinedCount = std::size(kPredefined);

/// A handle is kTag + generation * kSlots + slot; addresses of objects are not in that range on any
/// machine of note, and tags tell stray pointers apart.
constexpr unsigned kSlotBits = 20;
constexpr CodecHandle kSlots = CodecHandle{1} << kSlotBits;
constexpr CodecHandle kTag = CodecHandle{0xc0de} << 48;

struct Slot {
  std::uint32_t generation = 0;
  const codec::Spec* spec = nullptr;  // into `specs`
};

struct Table {
  std::mutex mutex;
  std::vector<Slot> slots;
  std::vector<std::uint32_t> free_slots;
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
        specs[i].codec = codec::find(kPredefined[i]);
        specs[i].params = specs[i].codec->defaults;
      }
    }
  };
  static const All all;
  return handle >= 1 && handle <= kPredefinedCount ? &all.specs[handle - 1] : nullptr;
}

Slot* find_slot(Table& t, CodecHandle handle) noexcept {
  const CodecHandle value = handle - kTag;
  const CodecHandle slot = value % kSlots;
  if (handle < kTag || slot >= t.slots.size()) return nullptr;
  Slot& s = t.slots[slot];
  return s.spec != nullptr && s.generation == value / kSlots ? &s : nullptr;
}

}  // namespace

Status create_codec(const char* spec, CodecHandle& out) {
  codec::Spec parsed;
  WRING_TRY(codec::parse(spec, parsed));
  Table& t = table();
  std::lock_guard lock(t.mutex);
  const codec::Spec* interned = t.intern(parsed);
  if (t.free_slots.empty()) {
    if (t.slots.size() == kSlots) return {Code::no_memory, "too many codecs"};
    t.free_slots.reserve(t.slots.size() + 1);  // so that free_codec cannot fail
    t.free_slots.push_back(static_cast<std::uint32_t>(t.slots.size()));
    t.slots.emplace_back();
  }
  const std::uint32_t index = t.free_slots.back();
  t.free_slots.pop_back();
  t.slots[index].spec = interned;
  out = kTag + (CodecHandle{t.slots[index].generation} << kSlotBits) + index;
  return {};
}

Status free_codec(CodecHandle handle) {
  if (predefined(handle) != nullptr) return {Code::invalid_arg, "a predefined codec cannot be freed"};
  Table& t = table();
  std::lock_guard lock(t.mutex);
  Slot* slot = find_slot(t, handle);
  if (slot == nullptr) return {Code::invalid_arg, "not a codec handle, or one that was freed"};
  slot->spec = nullptr;
  slot->generation = (slot->generation + 1) & 0xffffff;
  t.free_slots.push_back(static_cast<std::uint32_t>(slot - t.slots.data()));
  return {};
}

const codec::Spec* find_codec(CodecHandle handle) noexcept {
  if (const codec::Spec* spec = predefined(handle)) return spec;
  Table& t = table();
  std::lock_guard lock(t.mutex);
  const Slot* slot = find_slot(t, handle);
  return slot ? slot->spec : nullptr;
}

}  // namespace wring::runtime
