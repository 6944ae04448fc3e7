#include "allocate/sensitivity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "allocate/layer_error.h"
#include "base/error.h"
#include "calibrate/collect.h"
#include "tests/allocate/small_model.h"

namespace hone::test {
namespace {

const std::vector<std::string> kFormats = {"mxint3", "mxint4", "mxint8"};

size_t index_of(const Candidates& candidates, const std::string& name) {
  for (size_t t = 0; t < candidates.tensors.size(); ++t)
    if (candidates.tensors[t].name == name) return t;
  ADD_FAILURE() << name;
  return 0;
}

class SensitivityTest : public testing::Test {
 protected:
  Graph graph_ = small_model();
  Candidates candidates_ = small_candidates(kFormats);
  OutputMeasure measure_{graph_, small_batches(), std::nullopt, {}};
  Statistics statistics_ = collect_statistics(graph_, small_batches());
  std::vector<TensorSensitivity> measured(Measurements& known, bool all) {
    return measure_sensitivity(candidates_, statistics_, measure_, known, {.measure_all = all});
  }
};

TEST_F(SensitivityTest, CandidatesCountWhatIsStored) {
  ASSERT_EQ(candidates_.tensors.size(), 3U);
  const int64_t elements = 64 * 64 * 2 + 640;
  EXPECT_EQ(candidates_.elements, elements);
  EXPECT_EQ(candidates_.other_bytes, 0);
  EXPECT_EQ(candidates_.stored_bytes(candidates_.uniform(2)), elements + elements / 32);
  EXPECT_DOUBLE_EQ(candidates_.average_bits(candidates_.uniform(1)), 4.25);
  EXPECT_DOUBLE_EQ(candidates_.average_bits(candidates_.uniform(kPlain)), 32);
  const Graph mixed = candidates_.with(std::vector<int>{0, kPlain, 2});
  EXPECT_EQ(sizes(mixed).weight_bytes, candidates_.stored_bytes(std::vector<int>{0, kPlain, 2}));
}

TEST_F(SensitivityTest, OutputErrorIsRelativeAndZeroForTheOriginal) {
  EXPECT_EQ(measure_(graph_).error, 0);
  // One tensor doubled: outputs are linear in the last one.
  Graph doubled = candidates_.graph;
  const CandidateTensor& last = candidates_.tensors[index_of(candidates_, "last.weight")];
  std::vector<float> values = last.plain.to_floats();
  for (float& v : values) v *= 2;
  doubled.set_constant(last.value, Tensor::of<float>(last.plain.shape(), values));
  EXPECT_NEAR(measure_(doubled).error, 1, 1e-5);
}

TEST_F(SensitivityTest, LayerErrorIsThatOfTheLayersOutputs) {
  // Against the outputs themselves, of the batches that the statistics are of.
  const CandidateTensor& strong = candidates_.tensors[index_of(candidates_, "strong.weight")];
  LayerError layer_error({});
  const double estimate = layer_error(strong.plain, strong.rounded[0], &statistics_.layers.at("strong.weight"));
  const std::vector<float> w = strong.plain.to_floats(), v = strong.rounded[0].to_floats();
  double noise = 0, signal = 0;
  for (const NamedTensors& batch : small_batches())
    for (int64_t row = 0; row < 16; ++row)
      for (size_t n = 0; n < 64; ++n) {
        double y = 0, d = 0;
        for (size_t k = 0; k < 64; ++k) {
          const double x = batch.at("x").as<float>()[static_cast<size_t>(row) * 64 + k];
          y += x * w[n * 64 + k], d += x * (w[n * 64 + k] - v[n * 64 + k]);
        }
        noise += d * d, signal += y * y;
      }
  EXPECT_NEAR(estimate / (noise / signal), 1, 1e-4);
  EXPECT_EQ(layer_error(strong.plain, strong.plain, nullptr), 0);
}

TEST_F(SensitivityTest, TellsWhatMattersFromWhatDoesNot) {
  Measurements known;
  const auto all = measured(known, true);
  const size_t strong = index_of(candidates_, "strong.weight"), weak = index_of(candidates_, "weak.weight");
  for (size_t f = 0; f < kFormats.size(); ++f) {
    EXPECT_GT(all[strong].loss(f), 1000 * all[weak].loss(f)) << kFormats[f];
    EXPECT_NEAR(all[strong].layer_error[f] / all[weak].layer_error[f], 1, 0.3);  // relative: alike
  }
  const EstimateQuality quality = estimate_quality(all);
  EXPECT_EQ(quality.pairs, 9U);
  EXPECT_GT(quality.estimate, 0.9);
}

TEST_F(SensitivityTest, EstimatesFollowFromOneMeasurementATensor) {
  Measurements known, known_all;
  const auto few = measured(known, false), all = measured(known_all, true);
  for (size_t t = 0; t < few.size(); ++t) {
    EXPECT_EQ(std::ranges::count_if(few[t].output_error, [](auto& e) { return e.has_value(); }), 1);
    for (size_t f = 0; f < kFormats.size(); ++f)
      EXPECT_NEAR(std::log10(few[t].loss(f) / all[t].loss(f)), 0, 0.3) << candidates_.tensors[t].name << kFormats[f];
  }
}

TEST_F(SensitivityTest, AnExactFormatIsNotWhatEstimatesComeFrom) {
  Measurements known;
  candidates_ = small_candidates({"fp32", "mxint2"});  // mxint2 loses more than a tenth
  for (const TensorSensitivity& s : measured(known, false)) {
    EXPECT_EQ(s.loss(0), 0);
    EXPECT_GT(s.loss(1), 0);
  }
}

TEST_F(SensitivityTest, AChoiceIsMeasuredWhereThatIsNotKnown) {
  Measurements known;
  auto sensitivities = measured(known, false);
  const std::vector<int> chosen(3, 2);
  EXPECT_TRUE(measure_chosen(chosen, sensitivities, candidates_, measure_, known, {}));
  for (const TensorSensitivity& s : sensitivities) {
    ASSERT_TRUE(s.output_error[2].has_value());
    EXPECT_EQ(s.loss(2), *s.output_error[2]);
  }
  const int64_t before = known.measured();
  EXPECT_FALSE(measure_chosen(chosen, sensitivities, candidates_, measure_, known, {}));
  EXPECT_EQ(known.measured(), before);
}

// A format whose layer error is small where the output's is large, as with outliers that only some formats keep.
TEST(TensorSensitivity, LossesFollowTheMostSimilarMeasurement) {
  const TensorSensitivity s{.layer_error = {0.4, 0.08, 0.02, 0.001, 0},
                            .output_error = {std::nullopt, 0.04, std::nullopt, 0.01, std::nullopt},
                            .first = 1};
  EXPECT_DOUBLE_EQ(s.loss(0), 0.2);
  EXPECT_DOUBLE_EQ(s.loss(1), 0.04);
  EXPECT_DOUBLE_EQ(s.loss(2), 0.01);  // a quarter of that of 0.08, which is nearer than 0.001
  EXPECT_DOUBLE_EQ(s.loss(3), 0.01);
  EXPECT_EQ(s.loss(4), 0);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ((TensorSensitivity{.layer_error = {0.1, infinity}, .output_error = {0.1, std::nullopt}}.loss(1)), infinity);
  EXPECT_DOUBLE_EQ(s.estimate(3), 0.0005);
}

TEST_F(SensitivityTest, AChangedChoiceMeasuresOnlyWhatItMust) {
  Measurements known;
  measured(known, true);
  const int64_t before = known.measured();
  measured(known, true);
  EXPECT_EQ(known.measured(), before);
  candidates_ = small_candidates({"mxint3", "mxint4", "mxint8", "mxint6"});
  measured(known, true);
  EXPECT_EQ(known.measured() - before, 2 * 3);  // layer and output error of three tensors in the new format
}

TEST(OutputMeasure, CountsRowsWithTheRightLabel) {
  const Graph graph = small_model();
  std::vector<RightAnswers> right;
  Session session(graph, {});
  for (const NamedTensors& batch : small_batches()) {
    const Tensor scores = session.run(batch)[0];
    RightAnswers& of_batch = right.emplace_back();
    for (int64_t row = 0; row < 16; ++row) {
      const auto values = scores.as<float>().subspan(static_cast<size_t>(row) * 10, 10);
      of_batch.classes.push_back(std::ranges::max_element(values) - values.begin());
    }
    for (size_t i = 0; i < 16; i += 4) of_batch.classes[i] = (of_batch.classes[i] + 1) % 10;
  }
  const auto task = [&](const char* metric) {
    return OutputTask{
        .metric = parse_metric(metric), .right = right, .output = [](const auto&, const auto&) { return size_t{0}; }};
  };
  const OutputMeasure measure(graph, small_batches(), task("accuracy"), {});
  EXPECT_EQ(measure(graph).figure->value, 0.75);
  EXPECT_EQ(measure.of_reference().figure->value, 0.75);
  EXPECT_EQ(measure.of_reference().figure->ci95->low,
            share_interval(0.75, 16.0 * static_cast<double>(right.size())).low);
  EXPECT_LT(OutputMeasure(graph, small_batches(), task("mcc"), {}).of_reference().figure->value, 0.75);
  EXPECT_THROW(OutputMeasure(graph, small_batches(), task("mse"), {}), Error);
  right.back().classes.pop_back();
  EXPECT_THROW(OutputMeasure(graph, small_batches(), task("accuracy"), {}), Error);
  EXPECT_THROW(OutputMeasure(graph, {}, std::nullopt, {}), Error);
}

}  // namespace
}  // namespace hone::test
