// SPDX-License-Identifier: BSD-3-Clause
// crc32c.cpp - CRC32C from tables, eight bytes a step.
//
// Table t gives the effect of a byte that t further bytes follow; the crc of eight bytes is the
// exclusive or of eight look-ups.
#include "kernels/crc32c.hpp"

#include <array>

namespace wring::kernels {
namespace {

using Table = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Table make_table() {
  Table table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kCrcPolynomial : 0);
    table[0][byte] = crc;
  }
  for (std::size_t t = 1; t < 8; ++t) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = table[t - 1][byte];
      table[t][byte] = (before >> 8) ^ table[0][before & 255];
    }
  }
  return table;
}

constexpr Table kTable = make_table();

}  // namespace

std::uint32_t crc32c_table(std::uint32_t crc, const void* data, std::size_t bytes) noexcept {
  const auto* p = static_cast<const std::uint8_t*>(data);
  crc = ~crc;
  for (; bytes >= 8; bytes -= 8, p += 8) {
    crc = kTable[7][(crc ^ p[0]) & 255] ^ kTable[6][((crc >> 8) ^ p[1]) & 255] ^
          kTable[5][((crc >> 16) ^ p[2]) & 255] ^ kTable[4][(crc >> 24) ^ p[3]] ^ kTable[3][p[4]] ^
          kTable[2][p[5]] ^ kTable[1][p[6]] ^ kTable[0][p[7]];
  }
  for (; bytes; --bytes, ++p) crc = (crc >> 8) ^ kTable[0][(crc ^ *p) & 255];
  return ~crc;
}

}  // namespace wring::kernels
