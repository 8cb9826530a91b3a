// SPDX-License-Identifier: BSD-3-Clause
// test_codec_roundtrip.cpp - what every codec promises: sizes, errors, non-finite values, sums.
#include <gtest/gtest.h>

#include <set>

#include "codec_inputs.hpp"

namespace wring {
namespace {

using codec::Env;
using codec::ErrorModel;
using codec::Spec;
using test::Bytes;

constexpr std::size_t kSizes[] = {0, 1, 2, 3, 7, 8, 9, 63, 64, 127, 128, 129, 1000, 4099};

template <class R>
std::vector<R> smooth(std::size_t n) {
  std::vector<R> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double t = static_cast<double>(i);
    values[i] = static_cast<R>(280 + 20 * std::sin(t / 300) + 0.1 * std::sin(t / 7));
  }
  return values;
}

/// Inputs of n elements: noise, a field, anything at all, anything block by block.
template <class R>
std::vector<std::vector<R>> inputs(std::size_t n, std::size_t block) {
  return {test::gaussian<R>(n, n), smooth<R>(n), test::hostile<R>(n, n + 1),
          test::quantiser_input<R>(n, n + 2, block)};
}

class CodecTest : public testing::TestWithParam<std::string> {
 protected:
  const Spec spec_ = test::spec_of(GetParam());

  template <class R, class F>
  void for_inputs(F&& f) const {
    for (const std::size_t n : kSizes) {
      for (const auto& in : inputs<R>(n, spec_.block())) f(in);
    }
  }

  /// Largest finite magnitude of the block of element i, or |x| itself.
  template <class R>
  double scale_of(const std::vector<R>& in, std::size_t i, const ErrorModel& model) const {
    if (!model.of_block_max) return std::fabs(static_cast<double>(in[i]));
    double m = 0;
    const std::size_t begin = i - i % spec_.block();
    for (std::size_t j = begin; j < std::min(in.size(), begin + spec_.block()); ++j) {
      if (std::isfinite(in[j])) m = std::max(m, std::fabs(static_cast<double>(in[j])));
    }
    return m;
  }

  template <class R>
  void check_errors() const {
    const ErrorModel model = spec_.codec->error_model(spec_.params, test::kReal<R>);
    for_inputs<R>([&](const std::vector<R>& in) {
      Env env = test::make_env();
      const Bytes payload = test::encode(spec_, in, env);
      std::vector<R> out(in.size());
      ASSERT_TRUE(test::decode(spec_, payload, out).ok());
      std::size_t overflows = 0;
      for (std::size_t i = 0; i < in.size(); ++i) {
        const double x = static_cast<double>(in[i]);
        if (std::isnan(x)) {
          ASSERT_TRUE(std::isnan(out[i])) << i;
        } else if (std::isinf(x)) {
          ASSERT_EQ(out[i], in[i]) << i;
        } else if (std::isinf(out[i])) {
          ++overflows;
          ASSERT_EQ(std::signbit(out[i]), std::signbit(in[i]));
        } else {
          const double bound = model.relative * scale_of(in, i, model) + model.absolute;
          ASSERT_LE(std::fabs(static_cast<double>(out[i]) - x), bound) << i << " " << x;
        }
      }
      ASSERT_EQ(env.overflows, overflows);
      if (!spec_.lossy()) {
        ASSERT_TRUE(test::same_bits(in, out));
      }
    });
  }

  template <class R>
  void check_sums() const {
    for_inputs<R>([&](const std::vector<R>& in) {
      const Bytes payload = test::encode(spec_, in);
      const auto x = test::hostile<R>(in.size(), 77);
      std::vector<R> decoded(in.size()), want(in.size()), sum(in.size());
      ASSERT_TRUE(test::decode(spec_, payload, decoded).ok());
      kernels::reference().real<R>().add(decoded.data(), R(0.5), x.data(), R(0.25), in.size(),
                                         want.data());
      ASSERT_TRUE(test::decode_add(spec_, payload, 0.5, x, 0.25, sum).ok());
      ASSERT_TRUE(test::same_bits(want, sum));
      std::vector<R> place = x;
      ASSERT_TRUE(test::decode_add(spec_, payload, 0.5, place, 0.25, place).ok());
      ASSERT_TRUE(test::same_bits(want, place));
    });
  }

  template <class R>
  void check_sizes() const {
    std::size_t last = 0;
    for (std::size_t n = 0; n < 300; ++n) {
      const std::size_t most = spec_.codec->max_encoded_bytes(spec_.params, test::kReal<R>, n);
      ASSERT_GE(most, last) << n;
      last = most;
      const std::vector<R> incompressible(n, std::numeric_limits<R>::infinity());
      ASSERT_EQ(test::encode(spec_, incompressible).size(), most) << n;
      ASSERT_LE(test::encode(spec_, test::gaussian<R>(n, n)).size(), most);
    }
  }

  /// The bits are the same with the reference kernels, and for any cut at block edges.
  template <class R>
  void check_bits() const {
    for_inputs<R>([&](const std::vector<R>& in) {
      Env best = test::make_env();
      Env reference = best;
      reference.kernels = &kernels::reference();
      ASSERT_EQ(test::encode(spec_, in, best), test::encode(spec_, in, reference));
      ASSERT_EQ(best.escapes, reference.escapes);
      ASSERT_EQ(best.overflows, reference.overflows);
      const std::size_t cut = in.size() / 2 / spec_.block() * spec_.block();
      const auto middle = in.begin() + static_cast<std::ptrdiff_t>(cut);
      std::vector<R> whole(in.size());
      ASSERT_TRUE(test::decode(spec_, test::encode(spec_, in), whole).ok());
      std::vector<R> head(in.begin(), middle), tail(middle, in.end());
      ASSERT_TRUE(test::decode(spec_, test::encode(spec_, head), head).ok());
      Env env = test::make_env();
      ASSERT_TRUE(test::decode(spec_, test::encode(spec_, tail, env, cut), tail).ok());
      head.insert(head.end(), tail.begin(), tail.end());
      ASSERT_TRUE(test::same_bits(whole, head));
    });
  }
};

TEST_P(CodecTest, ErrorsAreWithinTheModel) {
  check_errors<float>();
  check_errors<double>();
}
TEST_P(CodecTest, DecodeAddIsDecodeThenAdd) {
  check_sums<float>();
  check_sums<double>();
}
TEST_P(CodecTest, SizesAreBoundedExactly) {
  check_sizes<float>();
  check_sizes<double>();
}
TEST_P(CodecTest, BitsDependOnNeitherKernelsNorSegments) {
  check_bits<float>();
  check_bits<double>();
}

INSTANTIATE_TEST_SUITE_P(All, CodecTest, testing::ValuesIn(test::all_specs()),
                         [](const auto& info) { return test::test_name(info.param); });

TEST(CodecRegistryTest, IdsAndNamesAreUnique) {
  std::set<std::string> names;
  std::set<int> ids;
  for (const codec::Codec* codec : codec::all()) {
    EXPECT_TRUE(names.insert(codec->name).second);
    EXPECT_TRUE(ids.insert(codec->wire_id).second);
    EXPECT_EQ(codec::find(codec->name), codec);
    EXPECT_EQ(codec::find(codec->wire_id), codec);
  }
  EXPECT_STREQ(codec::all()[0]->name, "none");
  EXPECT_EQ(codec::find("nothing"), nullptr);
  EXPECT_EQ(codec::find(std::uint8_t{0}), nullptr);
}

/// Wire ids are for ever: this list only grows.
TEST(CodecRegistryTest, WireIds) {
  const std::pair<const char*, int> ids[] = {
      {"none", 1}, {"fp16", 2}, {"bf16", 3}, {"int8", 4}, {"int4", 5}};
  for (const auto& [name, id] : ids) EXPECT_EQ(codec::find(name)->wire_id, id);
}

TEST(CodecSizeTest, RatiosAreAsPublished) {
  const std::pair<const char*, double> ratios[] = {
      {"none", 1.0}, {"fp16", 0.5}, {"bf16", 0.5}, {"int8", 0.2579}, {"int4", 0.1407}};
  const auto in = smooth<float>(1 << 16);
  for (const auto& [name, ratio] : ratios) {
    const auto bytes = static_cast<double>(test::encode(test::spec_of(name), in).size());
    EXPECT_LE(bytes / static_cast<double>(4 * in.size()), ratio) << name;
  }
}

TEST(StochasticTest, PlaceDecidesBits) {
  const Spec spec = test::spec_of("int8:rounding=stochastic,seed=1");
  const auto in = test::gaussian<float>(256, 1);
  const Bytes bytes = test::encode(spec, in);
  EXPECT_EQ(bytes, test::encode(spec, in));
  for (auto change :
       {+[](Env& e) { ++e.rank; }, +[](Env& e) { ++e.step; }, +[](Env& e) { ++e.start; },
        +[](Env& e) { e.start += std::uint64_t{1} << 32; }}) {
    Env env = test::make_env();
    change(env);
    EXPECT_NE(bytes, test::encode(spec, in, env));
  }
  EXPECT_NE(bytes, test::encode(test::spec_of("int8:rounding=stochastic,seed=2"), in));
  EXPECT_NE(bytes, test::encode(test::spec_of("int8"), in));
}

/// NaN and Inf at the begin, the middle and the end of blocks and in the last, short one.
TEST(A08, NonFiniteValuesSurvive) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::size_t n = 64 * 3 + 5;
  for (const std::string& text : test::all_specs()) {
    const Spec spec = test::spec_of(text);
    for (const std::size_t i : {std::size_t{0}, std::size_t{70}, std::size_t{127}, n - 1}) {
      for (const float bad : {inf, -inf, std::numeric_limits<float>::quiet_NaN()}) {
        std::vector<float> in(n, 0.25f), out(n);
        in[i] = bad;
        Env env = test::make_env();
        ASSERT_TRUE(test::decode(spec, test::encode(spec, in, env), out).ok());
        EXPECT_TRUE(out[i] == bad || (std::isnan(bad) && std::isnan(out[i]))) << text;
        EXPECT_EQ(env.escapes, spec.params.block ? 1u : 0u) << text;
        for (std::size_t j = 0; j < n; ++j) {
          if (j != i) {
            EXPECT_NEAR(out[j], 0.25f, 0.04f) << text;
          }
        }
      }
    }
  }
}

TEST(A14, ModelCoversOneLargeElement) {
  std::vector<float> in(32, 0.5f), out(32);
  in[5] = 1000.f;
  const Spec spec = test::spec_of("int4:block=32");
  ASSERT_TRUE(test::decode(spec, test::encode(spec, in), out).ok());
  const ErrorModel model = spec.codec->error_model(spec.params, Real::f32);
  EXPECT_TRUE(model.of_block_max);
  EXPECT_NEAR(model.relative * 1000, 142.857 / 2, 0.01);
  for (std::size_t i = 0; i < 32; ++i) EXPECT_LE(std::fabs(out[i] - in[i]), model.relative * 1000);
}

TEST(A14, BrainHoldsWhatHalfCannot) {
  const std::vector<float> in = {1e5f, -1e5f, 65504.f};
  std::vector<float> out(3);
  Env env = test::make_env();
  ASSERT_TRUE(
      test::decode(test::spec_of("bf16"), test::encode(test::spec_of("bf16"), in, env), out).ok());
  EXPECT_EQ(out[0], 99840.f);
  EXPECT_EQ(env.overflows, 0u);
  ASSERT_TRUE(
      test::decode(test::spec_of("fp16"), test::encode(test::spec_of("fp16"), in, env), out).ok());
  EXPECT_EQ(out, (std::vector<float>{std::numeric_limits<float>::infinity(),
                                     -std::numeric_limits<float>::infinity(), 65504.f}));
  EXPECT_EQ(env.overflows, 2u);
}

}  // namespace
}  // namespace wring
