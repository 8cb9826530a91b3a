// SPDX-License-Identifier: BSD-3-Clause
// crc32c.hpp - CRC32C from tables: the reference kernel, and arithmetic that faster ones share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wring::kernels {

/// Castagnoli's polynomial without x^32, bit 31 the coefficient of x^0.
inline constexpr std::uint32_t kCrcPolynomial = 0x82f63b78;

/// As Kernels::crc32c.
std::uint32_t crc32c_table(std::uint32_t crc, const void* data, std::size_t bytes) noexcept;

}  // namespace wring::kernels
