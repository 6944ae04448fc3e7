// Statistics of calibration data against sums in double over vectors that the tests cut out themselves.
#include "calibrate/collect.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "base/philox.h"
#include "tests/runtime/encoder.h"
#include "tests/support/bound.h"

namespace hone::test {
namespace {

using Vector = std::vector<double>;
using Vectors = std::vector<Vector>;  // of one group

// Means of n terms formed in f32, whose exact mean of magnitudes is `magnitude`.
double mean_bound(double magnitude, size_t n) {
  return dot_bound(magnitude, static_cast<int64_t>(n), 0, kEpsF32) + kTinyF32;
}

void expect_statistics(const LayerStatistics& got, const std::vector<Vectors>& groups) {
  const size_t width = groups[0][0].size(), count = groups[0].size();
  ASSERT_EQ(got.width, static_cast<int64_t>(width));
  ASSERT_EQ(got.groups, static_cast<int64_t>(groups.size()));
  ASSERT_EQ(got.vectors, static_cast<int64_t>(count));
  ASSERT_EQ(got.moment.size(), groups.size() * width * width);
  for (size_t g = 0; g < groups.size(); ++g)
    for (size_t i = 0; i < width; ++i) {
      double sum = 0, sum_abs = 0, largest = 0;
      for (const Vector& v : groups[g])
        sum += v[i], sum_abs += std::abs(v[i]), largest = std::max(largest, std::abs(v[i]));
      const auto n = static_cast<double>(count);
      EXPECT_NEAR(got.mean[g * width + i], sum / n, std::abs(sum) / n * kEpsF32 + sum_abs * 2 * n * kEpsF64)
          << g << " " << i;
      EXPECT_EQ(got.max_abs[g * width + i], static_cast<float>(largest));
      for (size_t j = 0; j < width; ++j) {
        double product = 0, magnitude = 0;
        for (const Vector& v : groups[g]) product += v[i] * v[j], magnitude += std::abs(v[i] * v[j]);
        EXPECT_NEAR(got.moment[(g * width + i) * width + j], product / n, mean_bound(magnitude / n, count + 2))
            << g << ": " << i << ", " << j;
      }
    }
}

Vectors rows_of(const Tensor& x) {
  const std::vector<double> values = x.to_doubles();
  Vectors rows;
  for (size_t at = 0; at < values.size(); at += static_cast<size_t>(x.dim(-1)))
    rows.emplace_back(values.begin() + static_cast<std::ptrdiff_t>(at),
                      values.begin() + static_cast<std::ptrdiff_t>(at) + x.dim(-1));
  return rows;
}

struct ConvCase {
  int64_t groups = 1, stride = 1, pad = 0, dilation = 1, window = 3;
};

// Windows of x [N,C,H,W] by the definition of a convolution.
std::vector<Vectors> windows_of(const Tensor& x, const ConvCase& c) {
  const std::vector<double> values = x.to_doubles();
  const int64_t channels = x.dim(1) / c.groups, h = x.dim(2), w = x.dim(3);
  const auto places = [&](int64_t extent) {
    return (extent + 2 * c.pad - c.dilation * (c.window - 1) - 1) / c.stride + 1;
  };
  const auto at = [&](int64_t n, int64_t channel, int64_t y, int64_t z) {
    const bool inside = y >= 0 && y < h && z >= 0 && z < w;
    return inside ? values[static_cast<size_t>(((n * x.dim(1) + channel) * h + y) * w + z)] : 0.0;
  };
  std::vector<Vectors> groups(static_cast<size_t>(c.groups));
  for (int64_t g = 0; g < c.groups; ++g)
    for (int64_t n = 0; n < x.dim(0); ++n)
      for (int64_t y = 0; y < places(h); ++y)
        for (int64_t z = 0; z < places(w); ++z) {
          Vector v;
          for (int64_t i = 0; i < c.window; ++i)
            for (int64_t j = 0; j < c.window; ++j)
              for (int64_t k = 0; k < channels; ++k)
                v.push_back(at(n, g * channels + k, y * c.stride - c.pad + i * c.dilation,
                               z * c.stride - c.pad + j * c.dilation));
          groups[static_cast<size_t>(g)].push_back(std::move(v));
        }
  return groups;
}

Tensor normal(std::vector<int64_t> shape, uint64_t seed) {
  Philox rng(seed);
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (float& v : values) v = rng.normal();
  return Tensor::of<float>(std::move(shape), values);
}

const char* kLinear = R"(
  %x : f32[B,S,5] = input "x"
  %w : f32[3,5] = const "w"
  %y = linear %x, %w
  return %y)";

TEST(Collect, OfALinearAreThoseOfItsRowsOverAllBatches) {
  const Tensor a = normal({2, 3, 5}, 1), b = normal({4, 2, 5}, 2);
  const std::vector<NamedTensors> batches{{{"x", a}}, {{"x", b}}};
  Vectors rows = rows_of(a);
  for (Vector& row : rows_of(b)) rows.push_back(row);
  expect_statistics(collect_statistics(parse_seeded(kLinear), batches).layers.at("w"), {rows});
}

TEST(Collect, SumsLongerThanAChunkAreComplete) {
  const Tensor x = normal({3, 3001, 5}, 3);
  const std::vector<NamedTensors> batches{{{"x", x}}};
  expect_statistics(collect_statistics(parse_seeded(kLinear), batches).layers.at("w"), {rows_of(x)});
}

TEST(Collect, DoNotDependOnHowTheSamplesFallIntoBatches) {
  const Tensor x = normal({6, 4, 5}, 4);
  std::vector<NamedTensors> single;
  for (int64_t i = 0; i < 6; ++i) {
    const std::span<const float> all = x.as<float>();
    single.push_back({{"x", Tensor::of<float>({1, 4, 5}, {all.begin() + i * 20, all.begin() + (i + 1) * 20})}});
  }
  const LayerStatistics one =
      collect_statistics(parse_seeded(kLinear), std::vector<NamedTensors>{{{"x", x}}}).layers.at("w");
  const LayerStatistics many = collect_statistics(parse_seeded(kLinear), single).layers.at("w");
  EXPECT_EQ(one.moment, many.moment);
  EXPECT_EQ(one.mean, many.mean);
}

TEST(Collect, WithoutMomentsOnlyMeansAndRangesAreKept) {
  const std::vector<NamedTensors> batches{{{"x", normal({2, 3, 5}, 1)}}};
  const Statistics with = collect_statistics(parse_seeded(kLinear), batches);
  const Statistics without = collect_statistics(parse_seeded(kLinear), batches, {.moments = false});
  EXPECT_TRUE(without.layers.at("w").moment.empty());
  EXPECT_EQ(without.layers.at("w").mean, with.layers.at("w").mean);
  EXPECT_EQ(without.layers.at("w").max_abs, with.layers.at("w").max_abs);
}

TEST(Collect, OfAConvAreThoseOfItsWindows) {
  for (const ConvCase& c :
       {ConvCase{}, ConvCase{.stride = 2, .pad = 1}, ConvCase{.pad = 2, .dilation = 2}, ConvCase{.groups = 2, .pad = 1},
        ConvCase{.groups = 4, .stride = 2, .pad = 1}, ConvCase{.window = 1}}) {
    const std::string text = fmt::format(R"(
      %x : f32[B,4,7,6] = input "x"
      %w : f32[8,{0},{1},{1}] = const "w"
      %y = conv %x, %w {{groups={2}, strides=[{3},{3}], pads=[{4},{4},{4},{4}], dilations=[{5},{5}]}}
      return %y)",
                                         4 / c.groups, c.window, c.groups, c.stride, c.pad, c.dilation);
    SCOPED_TRACE(text);
    const Tensor x = normal({2, 4, 7, 6}, 5);
    const std::vector<NamedTensors> batches{{{"x", x}}};
    expect_statistics(collect_statistics(parse_seeded(text), batches).layers.at("w"), windows_of(x, c));
  }
}

TEST(Collect, AWeightMatrixAndChannelsThatLieLastGiveTheSameVectors) {
  const Graph graph = parse_seeded(R"(
    %x : f32[2,5,6,3] = input "x"
    %w : f32[8,27] = const "w"
    %y = conv %x, %w {kernel_shape=[3,3], auto_pad="same_upper", channels_last=1}
    return %y)");
  const Tensor x = normal({2, 3, 5, 6}, 6);
  std::vector<float> last;
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t pixel = 0; pixel < 30; ++pixel)
      for (int64_t c = 0; c < 3; ++c) last.push_back(x.as<float>()[static_cast<size_t>((n * 3 + c) * 30 + pixel)]);
  const std::vector<NamedTensors> batches{{{"x", Tensor::of<float>({2, 5, 6, 3}, last)}}};
  expect_statistics(collect_statistics(graph, batches).layers.at("w"), windows_of(x, {.pad = 1}));
}

TEST(Collect, OfAMatmulWithAConstantOnEitherSide) {
  const Graph graph = parse_seeded(R"(
    %x : f32[2,3,4] = input "x"
    %right : f32[4,5] = const "right"
    %left : f32[6,3] = const "left"
    %rows : f32[7,4] = const "rows"
    %a = matmul %x, %right
    %b = matmul %left, %x
    %c = matmul %rows, %x {transpose_b=1}
    return %a, %b, %c)");
  const Tensor x = normal({2, 3, 4}, 7);
  Vectors columns;
  for (size_t n = 0; n < 2; ++n)
    for (size_t j = 0; j < 4; ++j) {
      columns.emplace_back();
      for (size_t i = 0; i < 3; ++i) columns.back().push_back(x.as<float>()[(n * 3 + i) * 4 + j]);
    }
  const Statistics got = collect_statistics(graph, std::vector<NamedTensors>{{{"x", x}}});
  expect_statistics(got.layers.at("right"), {rows_of(x)});
  expect_statistics(got.layers.at("left"), {columns});
  expect_statistics(got.layers.at("rows"), {rows_of(x)});
}

TEST(Collect, AWeightOfSeveralLayersSeesTheVectorsOfAll) {
  const Graph graph = parse_seeded(R"(
    %x : f32[B,4] = input "x"
    %w : f32[4,4] = const "w"
    %h = linear %x, %w
    %y = linear %h, %w
    return %y, %h)");
  const Tensor x = normal({3, 4}, 8);
  const NamedTensors batch{{"x", x}};
  const LayerStatistics got = collect_statistics(graph, std::vector{batch}).layers.at("w");
  EXPECT_EQ(got.vectors, 6);
  double mean = 0;
  const std::vector<Tensor> outputs = Session(graph, {}).run(batch);
  for (const Tensor* t : {&x, &outputs[1]})
    for (size_t row = 0; row < 3; ++row) mean += static_cast<double>(t->as<float>()[row * 4]) / 6;
  EXPECT_NEAR(got.mean[0], mean, 1e-6 * std::abs(got.max_abs[0]));
}

TEST(Collect, RoundedActivationsAreSeenAsTheyAreMultiplied) {
  const Graph graph = parse_seeded(R"(
    %x : f32[B,4] = input "x"
    %w : f32[4,4] = const "w"
    %r = fake_quant %x {format=int8.f0}
    %y = linear %r, %w
    return %y)");
  const LayerStatistics got =
      collect_statistics(graph, std::vector<NamedTensors>{{{"x", Tensor::of<float>({1, 4}, {0.4f, 0.6f, -1.2f, 3})}}})
          .layers.at("w");
  EXPECT_EQ(got.mean, (std::vector<float>{0, 1, -1, 3}));
}

TEST(Collect, TokensThatTheMaskLeavesOutDoNotCount) {
  const Graph graph = parse_seeded(R"(
    %x : f32[B,S,5] = input "x"
    %mask : i64[B,S] = input "attention_mask"
    %w : f32[3,5] = const "w"
    %flat = reshape %x {shape=[B*S,5]}
    %v : f32[3,5] = const "v"
    %pool = reduce_mean %x {axes=[1], keepdims=0}
    %p : f32[3,5] = const "p"
    %a = linear %x, %w
    %b = linear %flat, %v
    %c = linear %pool, %p
    return %a, %b, %c, %mask)");
  const Tensor x = normal({2, 3, 5}, 9);
  const Tensor mask = Tensor::of<int64_t>({2, 3}, {1, 1, 0, 1, 0, 0});
  const Statistics got = collect_statistics(graph, std::vector<NamedTensors>{{{"x", x}, {"attention_mask", mask}}});
  const Vectors rows = rows_of(x);
  expect_statistics(got.layers.at("w"), {{rows[0], rows[1], rows[3]}});
  expect_statistics(got.layers.at("v"), {{rows[0], rows[1], rows[3]}});
  EXPECT_EQ(got.layers.at("p").vectors, 2) << "a pooled text is no token";
}

TEST(Collect, AMemoryLimitChangesNothingButThePasses) {
  const std::vector<NamedTensors> batches{encoder_inputs(2, 7), encoder_inputs(1, 5)};
  const Statistics at_once = collect_statistics(encoder(), batches);
  const Statistics one_by_one = collect_statistics(encoder(), batches, {.memory_bytes = 0});
  ASSERT_EQ(at_once.layers.size(), 5u);
  for (const auto& [label, want] : at_once.layers) {
    const LayerStatistics& got = one_by_one.layers.at(label);
    EXPECT_EQ(got.vectors, 19) << label;
    EXPECT_EQ(got.moment, want.moment) << label;
    EXPECT_EQ(got.max_abs, want.max_abs) << label;
  }
  EXPECT_EQ(at_once.layers.at("query").moment, at_once.layers.at("value").moment) << "they read one input";
}

TEST(Collect, OnlyTheWeightsThatAreAskedFor) {
  const std::vector<NamedTensors> batches{encoder_inputs(1, 5)};
  const Statistics got = collect_statistics(encoder(), batches, {.only = {"inner.weight"}});
  EXPECT_EQ(got.layers.size(), 1u);
  EXPECT_TRUE(got.layers.contains("inner.weight"));
}

TEST(Collect, ErrorsSayWhatIsMissing) {
  const std::vector<NamedTensors> batches{encoder_inputs(1, 5)};
  EXPECT_EQ(error_of([&] { collect_statistics(encoder(), {}); }),
            "the calibration data has no batches; at least one is needed");
  EXPECT_EQ(
      error_of([&] { collect_statistics(encoder(), batches, {.only = {"iner.weight"}}); }),
      "\"iner.weight\" is not the weight of a linear, conv or matmul. Did you mean inner.weight or outer.weight?");
  const Graph none = parse_seeded("%x : f32[2] = input \"x\"\n %y = tanh %x\n return %y");
  EXPECT_EQ(error_of([&] {
              collect_statistics(none, std::vector<NamedTensors>{{{"x", Tensor(DType::f32, {2})}}});
            }),
            "the graph has no linear, conv or matmul with a named weight; there is nothing to observe");
}

TEST(Collect, AnActivationThatIsNotFiniteNamesTheLayer) {
  const Graph graph = parse_seeded(R"(
    %x : f32[B,2] = input "x"
    %w : f32[2,2] = const "w"
    %h = log %x
    %y = linear %h, %w
    return %y)");
  const std::vector<NamedTensors> batches{{{"x", Tensor::of<float>({1, 2}, {1, 2})}},
                                          {{"x", Tensor::of<float>({1, 2}, {1, -2})}}};
  EXPECT_EQ(
      error_of([&] { collect_statistics(graph, batches); }),
      "calibration batch 1: the input of the layer of \"w\" has NaN at [0,1]\nTry: hone run MODEL --check-finite");
  const std::vector<NamedTensors> huge{{{"x", Tensor::of<float>({1, 5}, {1e30f, 0, 0, 0, 0}).reshaped({1, 1, 5})}}};
  EXPECT_EQ(error_of([&] { collect_statistics(parse_seeded(kLinear), huge); }),
            "the input of the layer of \"w\" reaches 1e+30, whose square is beyond f32");
}

TEST(Collect, AMaskOfZerosLeavesNothing) {
  const Graph graph = parse_seeded(R"(
    %x : f32[B,S,5] = input "x"
    %mask : i64[B,S] = input "attention_mask"
    %w : f32[3,5] = const "w"
    %y = linear %x, %w
    return %y, %mask)");
  const std::vector<NamedTensors> batches{
      {{"x", normal({1, 2, 5}, 1)}, {"attention_mask", Tensor::of<int64_t>({1, 2}, {0, 0})}}};
  EXPECT_EQ(error_of([&] { collect_statistics(graph, batches); }),
            "no vector reaches \"w\": the data is empty, or attention_mask is 0 everywhere");
}

}  // namespace
}  // namespace hone::test
