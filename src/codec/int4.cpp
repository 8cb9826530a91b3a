// SPDX-License-Identifier: BSD-3-Clause
// int4.cpp - the codec of 4-bit integers with one scale a block.
#include "codec/block_quant.hpp"

namespace wring::codec {

extern constexpr Codec int4 = BlockQuant<7>::make(
    "int4", "4-bit integers with one scale a block, rounded to nearest or stochastically", 5, 64);

}  // namespace wring::codec
