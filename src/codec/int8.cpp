// SPDX-License-Identifier: BSD-3-Clause
// int8.cpp - the codec of 8-bit integers with one scale a block.
#include "codec/block_quant.hpp"

namespace wring::codec {

extern constexpr Codec int8 = BlockQuant<127>::make(
    "int8", "8-bit integers with one scale a block, rounded to nearest or stochastically", 4, 128);

}  // namespace wring::codec
