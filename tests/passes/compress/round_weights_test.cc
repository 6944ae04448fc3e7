// Better rounding, measured by what it is for: the error of a layer's output, tr(E H Eᵀ) of the weights' errors E under
// the second moment H of the inputs.
#include "passes/compress/round_weights.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"
#include "base/text.h"
#include "formats/packed.h"
#include "passes/compress/cholesky.h"
#include "passes/pipelines.h"
#include "tests/passes/parse_ops.h"

namespace hone {
namespace {

using test::error_of;

constexpr int64_t kRows = 70, kWidth = 96;  // more than a tile of rows, and several blocks of columns

std::vector<float> normals(int64_t count, uint64_t seed) {
  Philox random(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = random.normal();
  return values;
}

// Moments of `samples` vectors that mix a few shared directions with noise, channels of very different size.
LayerStatistics statistics_of(int64_t width, int64_t samples, int64_t groups = 1) {
  LayerStatistics s{.vectors = samples, .width = width, .groups = groups};
  s.mean.assign(static_cast<size_t>(groups * width), 0);
  s.max_abs = s.mean;
  s.moment.assign(static_cast<size_t>(groups * width * width), 0);
  constexpr int64_t kShared = 5;
  for (int64_t g = 0; g < groups; ++g) {
    const std::vector<float> mix = normals(kShared * width, 11 + static_cast<uint64_t>(g));
    for (int64_t i = 0; i < samples; ++i) {
      const std::vector<float> shared = normals(kShared, 1000 + static_cast<uint64_t>(g * samples + i));
      std::vector<float> x = normals(width, 5000 + static_cast<uint64_t>(g * samples + i));
      for (int64_t k = 0; k < width; ++k) {
        float& v = x[static_cast<size_t>(k)];
        for (int64_t d = 0; d < kShared; ++d)
          v += 2 * shared[static_cast<size_t>(d)] * mix[static_cast<size_t>(d * width + k)];
        v *= std::exp2(static_cast<float>(k % 7) - 3);
      }
      for (int64_t a = 0; a < width; ++a)
        for (int64_t b = 0; b < width; ++b)
          s.moment[static_cast<size_t>((g * width + a) * width + b)] +=
              x[static_cast<size_t>(a)] * x[static_cast<size_t>(b)] / static_cast<float>(samples);
    }
  }
  return s;
}

LayerStatistics with_moment(int64_t width, std::vector<float> moment) {
  return {.vectors = 1,
          .width = width,
          .groups = 1,
          .mean = std::vector<float>(static_cast<size_t>(width)),
          .max_abs = {},
          .moment = std::move(moment)};
}

Tensor weights(int64_t rows = kRows, int64_t width = kWidth) {
  return Tensor::of<float>({rows, width}, normals(rows * width, 3));
}

double output_error(const Tensor& before, const Tensor& after, const LayerStatistics& s) {
  const std::vector<float> a = before.to_floats(), b = after.to_floats();
  const auto width = static_cast<size_t>(s.width), rows = a.size() / width,
             rows_of_group = rows / static_cast<size_t>(s.groups);
  double sum = 0;
  for (size_t r = 0; r < rows; ++r) {
    const float* h = s.moment.data() + r / rows_of_group * width * width;
    for (size_t i = 0; i < width; ++i)
      for (size_t j = 0; j < width; ++j)
        sum += static_cast<double>(a[r * width + i] - b[r * width + i]) * static_cast<double>(h[i * width + j]) *
               static_cast<double>(a[r * width + j] - b[r * width + j]);
  }
  return sum;
}

Tensor rounded(const Tensor& weight, const std::string& format, const LayerStatistics* s, const std::string& method) {
  return round_weight(weight, parse_format(format), s, {.method = method});
}

TEST(RoundWeight, GptqLowersTheErrorOfTheOutputInEveryFormatOfFourBits) {
  const LayerStatistics s = statistics_of(kWidth, 300);
  for (const char* format :
       {"int4.g32", "int4.g32.s=bf16", "int4.channel", "int4", "uint4.g32.asym", "mxint4", "mxint4.rule=mse", "mxfp4",
        "nvfp4", "bfp4", "bminifloat_e2m1", "int4.g8x8", "int4.f2", "minifloat_e2m1", "int4.g16.ax0"}) {
    const Tensor w = weights();
    const double nearest = output_error(w, rounded(w, format, &s, "nearest"), s),
                 searched = output_error(w, rounded(w, format, &s, "scale-search"), s),
                 gptq = output_error(w, rounded(w, format, &s, "gptq"), s);
    EXPECT_LT(gptq, 0.5 * nearest) << format;
    EXPECT_LT(gptq, 0.6 * searched) << format;
  }
}

TEST(RoundWeight, LargeInputsFirstIsBetterThanTheGivenOrder) {
  const LayerStatistics s = statistics_of(kWidth, 300);
  const Tensor w = weights();
  RoundingOptions options{.method = "gptq"};
  const double ordered = output_error(w, round_weight(w, parse_format("mxint4"), &s, options), s);
  options.activation_order = false;
  EXPECT_LT(ordered, output_error(w, round_weight(w, parse_format("mxint4"), &s, options), s));
}

TEST(RoundWeight, InputsWithoutCorrelationGetTheNearestCodes) {
  std::vector<float> identity(kWidth * kWidth, 0);
  for (size_t k = 0; k < kWidth; ++k) identity[k * kWidth + k] = 1;
  const LayerStatistics s = with_moment(kWidth, identity);
  for (const char* format : {"int4.g32", "mxfp4", "uint4.g16.asym"})
    EXPECT_TRUE(rounded(weights(), format, &s, "gptq").same_bits(rounded(weights(), format, nullptr, "scale-search")))
        << format;
}

TEST(RoundWeight, MomentsWithoutFullRankAreNoObstacle) {
  const Tensor w = weights();
  LayerStatistics dead = statistics_of(kWidth, 300);
  for (size_t i = 0; i < kWidth; ++i)
    for (size_t j = 0; j < kWidth; ++j)
      if (i % 3 == 0 || j % 3 == 0) dead.moment[i * kWidth + j] = 0;
  for (const LayerStatistics& s : {statistics_of(kWidth, 1), statistics_of(kWidth, 10), dead}) {
    const double nearest = output_error(w, rounded(w, "int4.g32", &s, "nearest"), s);
    EXPECT_LT(output_error(w, rounded(w, "int4.g32", &s, "gptq"), s), 0.5 * nearest);
  }
  const LayerStatistics none = with_moment(kWidth, std::vector<float>(kWidth * kWidth, 0));
  EXPECT_TRUE(rounded(w, "mxint4", &none, "gptq").same_bits(rounded(w, "mxint4", nullptr, "nearest")))
      << "no input, no reason to move a scale";
}

TEST(RoundWeight, EachGroupOfAConvHasItsOwnMoments) {
  const LayerStatistics s = statistics_of(9, 200, 5);
  const Tensor w = weights(20, 9);
  const double nearest = output_error(w, rounded(w, "int4.channel", &s, "nearest"), s);
  EXPECT_LT(output_error(w, rounded(w, "int4.channel", &s, "gptq"), s), 0.7 * nearest);
}

TEST(RoundWeight, ScaleSearchIsNeverWorseInWhatItMinimises) {
  LayerStatistics s = statistics_of(kWidth, 300);
  for (size_t i = 0; i < kWidth; ++i)
    for (size_t j = 0; j < kWidth; ++j)
      if (i != j) s.moment[i * kWidth + j] = 0;
  for (const FormatDef* family : formats::all())
    for (const std::string& text : split(family->examples, ' ')) {
      const Tensor w = weights(8);
      const Format format = parse_format(text);
      if (is_fake_only(format)) continue;
      const Tensor nearest = rounded(w, text, &s, "nearest"), searched = rounded(w, text, &s, "scale-search");
      EXPECT_LE(output_error(w, searched, s), output_error(w, nearest, s)) << text;
      EXPECT_EQ(searched.bytes(), nearest.bytes()) << text;
    }
}

TEST(RoundWeight, NearestIsPlainPackingAndPlainFormatsKnowNothingElse) {
  const LayerStatistics s = statistics_of(kWidth, 300);
  const Tensor w = weights();
  EXPECT_TRUE(rounded(w, "mxint4", &s, "nearest").same_bits(pack(parse_format("mxint4"), w)));
  EXPECT_TRUE(rounded(w, "bf16", &s, "gptq").same_bits(pack(parse_format("bf16"), w)));
}

TEST(RoundWeight, ErrorsSayWhatIsMissing) {
  const LayerStatistics s = statistics_of(8, 4);
  LayerStatistics no_moment = s;
  no_moment.moment.clear();
  EXPECT_EQ(error_of([&] { rounded(weights(), "mxint4", &s, "nearst"); }),
            "unknown rounding method nearst; known: nearest, scale-search, gptq. Did you mean nearest?");
  EXPECT_EQ(
      error_of([&] { rounded(weights(), "mxint4", &s, "gptq"); }),
      "a weight of shape [70,96] can't be rounded by statistics of 1 groups of 8 inputs; gather them for this model");
  for (const LayerStatistics* missing : std::initializer_list<const LayerStatistics*>{nullptr, &no_moment})
    EXPECT_EQ(error_of([&] { rounded(weights(4, 8), "mxint4", missing, "gptq"); }),
              "rounding by gptq needs the second moments of the layer's input; gather them on calibration data");
}

// --- the pass --------------------------------------------------------------------------------------------------------

Graph model() {
  return test::parse(R"(
    %ids : i64[B] = input
    %table : f32[3,4] = const "table" {1, 2, 3, 4, 5, 6, 7, 8.3, 9, 10, 11, 12}
    %w : f32[2,4] = const "w" {1, -1, 0.3, 0.7, 0.11, 0.21, 0.31, 0.41}
    %t = fake_quant %table {format=int4.g4}
    %v = fake_quant %w {format=int4.g4}
    %x = gather %t, %ids
    %r = fake_quant %x {format=int8}
    %y = linear %r, %v
    return %y)");
}

TEST(RoundWeights, PacksEveryRoundedConstantByItsMethod) {
  Statistics statistics;
  statistics.layers["w"] = statistics_of(4, 50);
  const Graph graph = run_pass(model(), "round_weights", {RoundingOptions{.method = "gptq"}, &statistics},
                               {.disabled = {}, .verify = true, .after = {}});
  EXPECT_EQ(graph.nodes("fake_quant").size(), 1u) << "that of the activation stays";
  const Graph before = model();
  const Tensor &w = *before.constant(before.find_constant("w")),
               &table = *before.constant(before.find_constant("table"));
  EXPECT_TRUE(
      graph.constant(graph.find_constant("w"))->same_bits(rounded(w, "int4.g4", &statistics.layers["w"], "gptq")));
  EXPECT_TRUE(
      graph.constant(graph.find_constant("table"))->same_bits(rounded(table, "int4.g4", nullptr, "scale-search")));
}

TEST(RoundWeights, GptqWithoutCalibrationIsRefused) {
  EXPECT_EQ(error_of([] { run_pass(model(), "round_weights", {RoundingOptions{.method = "gptq"}}); }),
            "rounding by gptq needs calibration data; give some, or choose scale-search");
}

// --- the factor ------------------------------------------------------------------------------------------------------

TEST(Cholesky, TheFactorTimesItsTransposeIsTheMatrix) {
  for (const int64_t n : {1, 2, 7, 64, 65, 131}) {
    const std::vector<float> x = normals(n * 2 * n, 17);
    std::vector<double> a(static_cast<size_t>(n * n));
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t s = 0; s < 2 * n; ++s)
          a[static_cast<size_t>(i * n + j)] += static_cast<double>(x[static_cast<size_t>(s * n + i)]) *
                                               static_cast<double>(x[static_cast<size_t>(s * n + j)]);
    std::vector<double> l = a;
    ASSERT_TRUE(cholesky(l, n));
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j) {
        double product = 0, magnitude = 0;
        for (int64_t t = 0; t <= j; ++t) {
          const double term = l[static_cast<size_t>(i * n + t)] * l[static_cast<size_t>(j * n + t)];
          product += term, magnitude += std::abs(term);
        }
        EXPECT_NEAR(product, a[static_cast<size_t>(i * n + j)], static_cast<double>(n + 4) * 0x1p-53 * magnitude * 2)
            << n;
      }
  }
}

TEST(Cholesky, AMatrixThatIsNotPositiveDefiniteHasNone) {
  std::vector<double> rank_one = {1, 1, 1, 1}, negative = {-1}, nan = {std::nan("")};
  EXPECT_FALSE(cholesky(rank_one, 2));
  EXPECT_FALSE(cholesky(negative, 1));
  EXPECT_FALSE(cholesky(nan, 1));
}

}  // namespace
}  // namespace hone
