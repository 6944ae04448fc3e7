#include <gtest/gtest.h>

#include <cmath>

#include "allocate/output_measure.h"
#include "tests/allocate/small_model.h"

namespace hone::test {
namespace {

double plain_divergence(std::span<const float> p, std::span<const float> q) {
  double p_sum = 0, q_sum = 0, sum = 0;
  for (size_t i = 0; i < p.size(); ++i) p_sum += std::exp(p[i]), q_sum += std::exp(q[i]);
  for (size_t i = 0; i < p.size(); ++i)
    sum += std::exp(p[i]) / p_sum * (p[i] - q[i] - std::log(p_sum) + std::log(q_sum));
  return sum;
}

// Of rows that count: here all but the first of each batch.
TEST(OutputMeasure, ADivergenceIsFromWhatTheReferenceGives) {
  const Graph reference = small_model();
  const std::vector<NamedTensors> batches = small_batches(3, 4);
  std::vector<int64_t> counts(4, 0);
  counts[0] = kIgnored;
  OutputTask task{.metric = parse_metric("kl"),
                  .judged = Judged::next_tokens,
                  .right = std::vector<RightAnswers>(3, {.classes = counts}),
                  .differences = true,
                  .output = [](const auto&, const auto&) { return size_t{0}; }};
  SessionOptions options;
  options.optimise = 1;
  const OutputMeasure measure(reference, batches, task, options);
  EXPECT_EQ(measure.of_reference().figure->value, 0);

  QuantizeOptions to;
  to.to = "int3.g32";
  const Graph rounded = run_pass(run_pass(reference, "quantize", {FormatRules(to)}), "fold_fake_quant", {});
  Session before(reference, options), after(rounded, options);
  double sum = 0;
  for (const NamedTensors& batch : batches) {
    const std::vector<float> p = before.run(batch).at(0).to_floats(), q = after.run(batch).at(0).to_floats();
    for (size_t row = 1; row < 4; ++row)
      sum += plain_divergence(std::span(p).subspan(row * 10, 10), std::span(q).subspan(row * 10, 10));
  }
  const OutputDistance got = measure(rounded);
  EXPECT_GT(sum / 9, 1e-4);
  EXPECT_NEAR(got.figure->value, sum / 9, 1e-5);
  EXPECT_EQ(got.figure->counted, 9);
  EXPECT_NEAR(got.difference->value, got.figure->value, 1e-12);
}

}  // namespace
}  // namespace hone::test
