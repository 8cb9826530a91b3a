// SPDX-License-Identifier: BSD-3-Clause
// main.cpp - main of every gtest program.
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
