// SPDX-License-Identifier: BSD-3-Clause
// test_codec_spec.cpp - specifications as text: canonical forms, hashes, and the words of errors.
#include <gtest/gtest.h>

#include "codec/block_quant.hpp"
#include "codec_inputs.hpp"

namespace wring {
namespace {

using codec::Spec;

const std::string kMaxBlock = std::to_string(codec::BlockQuant<127>::kMaxBlock);

TEST(CodecSpecTest, CanonicalForms) {
  const std::pair<std::string, std::string> forms[] = {
      {"none", "none"},
      {"fp16", "fp16"},
      {"bf16", "bf16"},
      {"int8", "int8:block=128,rounding=nearest,seed=0"},
      {"int4", "int4:block=64,rounding=nearest,seed=0"},
      {"auto", "auto:none"},
      {"auto:bf16", "auto:bf16"},
      {"auto:int8:block=64", "auto:int8:block=64,rounding=nearest,seed=0"},
      {"int8:seed=7,block=0256", "int8:block=256,rounding=nearest,seed=7"},
      {"int4:rounding=stochastic,seed=18446744073709551615,block=" + kMaxBlock,
       "int4:block=" + kMaxBlock + ",rounding=stochastic,seed=18446744073709551615"},
  };
  for (const auto& [text, canonical] : forms) {
    const Spec spec = test::spec_of(text);
    EXPECT_EQ(codec::to_string(spec), canonical);
    EXPECT_EQ(test::spec_of(canonical), spec);
    EXPECT_EQ(codec::hash(spec), codec::hash(test::spec_of(canonical)));
  }
}

/// Frames carry the hash: it must be the same in every build.
TEST(CodecSpecTest, HashIsFixed) {
  EXPECT_EQ(codec::hash(test::spec_of("none")), 0xada7afdbu);
  EXPECT_EQ(codec::hash(test::spec_of("int8")), 0xbbec342cu);
  EXPECT_NE(codec::hash(test::spec_of("int8:seed=1")), 0xbbec342cu);
  EXPECT_NE(codec::hash(test::spec_of("auto:int8")), 0xbbec342cu) << "asks for something else";
}

TEST(CodecSpecTest, BlockIsTheCuttingUnit) {
  EXPECT_EQ(test::spec_of("none").block(), 1u);
  EXPECT_EQ(test::spec_of("bf16").block(), 1u);
  EXPECT_EQ(test::spec_of("int4").block(), 64u);
}

TEST(CodecSpecTest, ErrorsSayWhatAndWhere) {
  const std::string block = "(a multiple of 8 from 8 to " + kMaxBlock + ")";
  const std::string seed = "(a number from 0 to 18446744073709551615)";
  const std::string params = "(block, rounding, seed)";
  const std::string codecs = "(none, fp16, bf16, int8, int4, auto)";
  const std::pair<std::string, std::string> errors[] = {
      {"", "expected a codec at character 1 " + codecs},
      {":block=8", "expected a codec at character 1 " + codecs},
      {"int9", "unknown codec \"int9\" at character 1 " + codecs},
      {"auto:", "expected a codec at character 6 (none, fp16, bf16, int8, int4)"},
      {"auto:auto", "unknown codec \"auto\" at character 6 (none, fp16, bf16, int8, int4)"},
      {"automatic", "unknown codec \"automatic\" at character 1 " + codecs},
      {"auto:int8:blok=3", "unknown parameter \"blok\" at character 11 " + params},
      {"auto:int8:seed=1,seed=1", "parameter \"seed\" given twice, again at character 18 (once each)"},
      {" int8", "unknown codec \" int8\" at character 1 " + codecs},
      {"INT8", "unknown codec \"INT8\" at character 1 " + codecs},
      {"int8:blok=3", "unknown parameter \"blok\" at character 6 " + params},
      {"int8:", "expected a parameter at character 6 " + params},
      {"int8:=8", "expected a parameter at character 6 " + params},
      {"int8:block=8,", "expected a parameter at character 14 " + params},
      {"int8:,block=8", "expected a parameter at character 6 " + params},
      {"int8:block", "expected '=' and a value after \"block\" at character 11 " + block},
      {"int8:block=", "bad value \"\" of block at character 12 " + block},
      {"int8:block=8x", "bad value \"8x\" of block at character 12 " + block},
      {"int8:block=-8", "bad value \"-8\" of block at character 12 " + block},
      {"int8:block=0", "bad value \"0\" of block at character 12 " + block},
      {"int8:block=12", "bad value \"12\" of block at character 12 " + block},
      {"int8:block=" + kMaxBlock + "8",
       "bad value \"" + kMaxBlock + "8\" of block at character 12 " + block},
      {"int8:block=4294967304", "bad value \"4294967304\" of block at character 12 " + block},
      {"int8:seed=18446744073709551616",
       "bad value \"18446744073709551616\" of seed at character 11 " + seed},
      {"int4:seed=+1", "bad value \"+1\" of seed at character 11 " + seed},
      {"int4:block=8,rounding=up",
       "bad value \"up\" of rounding at character 23 (nearest or stochastic)"},
      {"int8:seed=1,seed=1", "parameter \"seed\" given twice, again at character 13 (once each)"},
      {"bf16:block=8", "unknown parameter \"block\" at character 6 (bf16 has no parameters)"},
      {"none:", "expected a parameter at character 6 (none has no parameters)"},
  };
  for (const auto& [text, problem] : errors) {
    Spec spec = test::spec_of("bf16");
    const Status status = codec::parse(text, spec);
    EXPECT_EQ(status.code(), Code::invalid_arg) << text;
    EXPECT_EQ(status.what(), "codec spec \"" + text + "\": " + problem);
    EXPECT_EQ(spec, test::spec_of("bf16")) << "untouched on error";
  }
}

TEST(CodecSpecTest, ErrorsStayPrintable) {
  Spec spec;
  const std::string text("int8:\nse\0ed\x7f=1", 14);
  EXPECT_STREQ(
      codec::parse(text, spec).what(),
      "codec spec \"int8:\\x0ase\\x00ed\\x7f=1\": unknown parameter \"\\x0ase\\x00ed\\x7f\" "
      "at character 6 (block, rounding, seed)");
  const Status status = codec::parse(std::string(100000, 'x'), spec);
  EXPECT_EQ(status.code(), Code::invalid_arg);
  EXPECT_NE(std::string(status.what()).find("at character 1 (none"), std::string::npos);
}

TEST(CodecSpecTest, AnyBytesParseOrFail) {
  test::Random random(1);
  const std::string alphabet("int84fpb6noe:=,block0rudgsA\0\xff", 29);
  for (int i = 0; i < 20000; ++i) {
    std::string text = i % 2 ? "int8:block=8,seed=3" : "";
    const std::size_t length = random() % 20;
    for (std::size_t j = 0; j < length; ++j) {
      text.insert(random() % (text.size() + 1), 1, alphabet[random() % alphabet.size()]);
    }
    Spec spec;
    if (codec::parse(text, spec).ok()) {
      EXPECT_EQ(test::spec_of(codec::to_string(spec)), spec) << text;
    }
  }
}

}  // namespace
}  // namespace wring
