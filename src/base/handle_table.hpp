// SPDX-License-Identifier: BSD-3-Clause
// handle_table.hpp - numbers that stand for objects, and stay wrong once their object is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace wring {

/// A handle is tag, generation and slot. Tags tell the tables of a process, and stray pointers, apart;
/// generations tell a slot's objects apart. No locks of its own.
template <class T>
class HandleTable {
 public:
  using Handle = std::uintptr_t;

  /// tag: 16 bits, in the upper bits of every handle, where no address of an object has them.
  explicit HandleTable(std::uint16_t tag) : tag_(Handle{tag} << 48) {}

  /// 0 if there are too many. After this erase cannot fail.
  Handle insert(T value) {
    if (free_.empty()) {
      if (slots_.size() == kSlots) return 0;
      free_.reserve(slots_.size() + 1);
      slots_.emplace_back();
      free_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
    }
    const std::uint32_t index = free_.back();
    slots_[index].value.emplace(std::move(value));
    free_.pop_back();
    return tag_ + (Handle{slots_[index].generation} << kSlotBits) + index;
  }

  /// Null if no object has that handle.
  T* find(Handle handle) noexcept {
    Slot* slot = slot_of(handle);
    return slot != nullptr ? &*slot->value : nullptr;
  }

  /// Takes the object out, if the handle has one.
  std::optional<T> erase(Handle handle) noexcept {
    Slot* slot = slot_of(handle);
    if (slot == nullptr) return std::nullopt;
    std::optional<T> value = std::move(slot->value);
    slot->value.reset();
    slot->generation = (slot->generation + 1) & kGenerations;
    free_.push_back(static_cast<std::uint32_t>(slot - slots_.data()));
    return value;
  }

  /// Takes all objects out.
  std::vector<T> take_all() {
    std::vector<T> all;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].value) all.push_back(std::move(*slots_[i].value));
    }
    slots_.clear();
    free_.clear();
    return all;
  }

 private:
  static constexpr unsigned kSlotBits = 20;
  static constexpr Handle kSlots = Handle{1} << kSlotBits;
  static constexpr std::uint32_t kGenerations = (1u << 28) - 1;

  struct Slot {
    std::uint32_t generation = 0;
    std::optional<T> value;
  };

  Slot* slot_of(Handle handle) noexcept {
    const Handle rest = handle - tag_;
    const Handle index = rest % kSlots;
    if (handle < tag_ || index >= slots_.size()) return nullptr;
    Slot& slot = slots_[index];
    return slot.value && slot.generation == rest / kSlots ? &slot : nullptr;
  }

  const Handle tag_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace wring
