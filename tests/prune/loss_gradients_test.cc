// Scores by gradients, of models that leave sizes open.
#include "prune/loss_gradients.h"

#include <gtest/gtest.h>

#include "prune/synaptic_flow.h"
#include "tests/support/pyramid.h"

namespace hone::test {
namespace {

NamedTensors images(int64_t side, uint64_t seed) {
  return {{"x", normal_tensor(seed, {2, 1, side, side})}, {"labels", Tensor::of<int64_t>({2}, {0, 2})}};
}

TEST(ScoresByGradients, OfOpenSizesAreThoseOfTheData) {
  const std::vector<std::string> labels{"fine.weight", "coarse.weight"};
  const LossData data{.batches = {images(8, 1), images(8, 2)}};
  const auto open = loss_gradients(pyramid(), labels, data, {}),
             fixed = loss_gradients(pyramid({8, 8}), labels, data, {});
  for (const std::string& label : labels) EXPECT_TRUE(open.at(label).same_bits(fixed.at(label))) << label;
  const NamedTensors like{{"x", normal_tensor(1, {1, 1, 8, 8})}};
  EXPECT_EQ(synaptic_flow(pyramid(), labels, like, {}), synaptic_flow(pyramid({8, 8}), labels, like, {}));
}

TEST(ScoresByGradients, AreSummedOverBatchesOfSeveralSizes) {
  const std::vector<std::string> labels{"fine.weight"};
  const auto score = [&](std::vector<NamedTensors> batches) {
    return loss_gradients(pyramid(), labels, {.batches = std::move(batches)}, {}).at(labels[0]).to_doubles();
  };
  const std::vector<double> both = score({images(8, 1), images(6, 2)}), one = score({images(8, 1)}),
                            other = score({images(6, 2)});
  for (size_t i = 0; i < both.size(); ++i) EXPECT_FLOAT_EQ(both[i], 0.5 * (one[i] + other[i]));
}

}  // namespace
}  // namespace hone::test
