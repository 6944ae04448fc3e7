// Losses of the evaluation's graph against sums in double, with what does not count left out.
#include "train/losses/loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "measure/metric.h"
#include "runtime/session.h"
#include "tests/support/bound.h"
#include "tests/support/error_of.h"
#include "tests/support/normal_tensor.h"

namespace hone::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Sums {
  double sum = 0, count = 0;
};

Sums loss_of(const Tensor& x, const Tensor& labels, const LossOptions& options) {
  Graph graph;
  const ValueId given = graph.add_input("x", {.dtype = DType::f32, .shape = to_shape(x.shape())});
  const LossTerms terms = add_loss(graph, given, "labels", options);
  graph.add_output(terms.sum, "sum");
  graph.add_output(terms.count, "count");
  Session session(graph, {});
  const std::vector<Tensor> outputs = session.run({{"x", x}, {"labels", labels}});
  return {outputs[0].to_doubles()[0], outputs[1].to_doubles()[0]};
}

std::vector<double> log_softmax(const std::vector<double>& x, size_t row, size_t width) {
  const double* from = x.data() + row * width;
  double sum = 0, most = *std::max_element(from, from + width);
  for (size_t c = 0; c < width; ++c) sum += std::exp(from[c] - most);
  std::vector<double> result;
  for (size_t c = 0; c < width; ++c) result.push_back(from[c] - most - std::log(sum));
  return result;
}

// Each term takes about 20 roundings (exp and log have 4 ulp), and n of them are added.
void expect_sum(const Sums& is, double sum, double count, double sum_abs, double terms) {
  EXPECT_NEAR(is.sum, sum, (terms + 20) * kEpsF32 * sum_abs);
  EXPECT_NEAR(is.count, count, terms * kEpsF32 * count);
}

TEST(Loss, CrossEntropyWeighsSmoothsAndLeavesOut) {
  const Tensor x = normal_tensor(3, {4, 3}, 2);
  const std::vector<int64_t> labels = {2, kIgnored, 0, 2};
  const std::vector<double> values = x.to_doubles();
  for (const std::vector<double>& weights : {std::vector<double>{}, std::vector<double>{1, 0.25, 2}})
    for (double smoothing : {0.0, 0.3}) {
      double sum = 0, count = 0, sum_abs = 0;
      for (size_t row = 0; row < labels.size(); ++row) {
        if (labels[row] == kIgnored) continue;
        const std::vector<double> log_p = log_softmax(values, row, 3);
        const auto weight = [&](size_t c) { return weights.empty() ? 1.0 : weights[c]; };
        const auto label = static_cast<size_t>(labels[row]);
        sum -= (1 - smoothing) * weight(label) * log_p[label];
        for (size_t c = 0; c < 3; ++c) {
          sum -= smoothing / 3 * weight(c) * log_p[c];
          sum_abs += weight(c) * (std::abs(log_p[c]) + std::abs(values[row * 3 + c]));
        }
        count += weight(label);
      }
      expect_sum(loss_of(x, Tensor::of<int64_t>({4}, labels), {.label_smoothing = smoothing, .class_weights = weights}),
                 sum, count, sum_abs, 12);
    }
}

TEST(Loss, CrossEntropyOfWordsIsThatOfTheirRows) {
  const Tensor x = normal_tensor(3, {2, 3, 4}, 2);
  const std::vector<int64_t> labels = {0, 3, kIgnored, 1, kIgnored, 2};
  const Sums words = loss_of(x, Tensor::of<int64_t>({2, 3}, labels), {});
  const Sums rows = loss_of(x.reshaped({6, 4}), Tensor::of<int64_t>({6}, labels), {});
  EXPECT_EQ(words.sum, rows.sum);
  EXPECT_EQ(words.count, 4);
}

TEST(Loss, CrossEntropyOfAClassWithoutAnyChanceIsFiniteForOthers) {
  const float low = -std::numeric_limits<float>::infinity();
  const Sums is = loss_of(Tensor::of<float>({1, 3}, {0, low, 0}), Tensor::of<int64_t>({1}, {0}), {});
  EXPECT_NEAR(is.sum, std::log(2.0), 8 * kEpsF32);
}

TEST(Loss, MseIsOverNumbersThatAreKnown) {
  const Sums is =
      loss_of(Tensor::of<float>({2, 2}, {1, 2, 3, 4}), Tensor::of<float>({2, 2}, {0, kNaN, 5, 4}), {.loss = "mse"});
  EXPECT_EQ(is.sum, 1 + 4 + 0);
  EXPECT_EQ(is.count, 3);
}

TEST(Loss, BceIsFiniteForLogitsOfAnySize) {
  const Sums is = loss_of(Tensor::of<float>({1, 4}, {0, 100, -100, 5}), Tensor::of<float>({1, 4}, {1, 0, 0, kNaN}),
                          {.loss = "bce"});
  EXPECT_NEAR(is.sum, std::log(2.0) + 100, 200 * kEpsF32);
  EXPECT_EQ(is.count, 3);
}

TEST(Loss, KlIsZeroForTheSameProbabilities) {
  const Tensor x = Tensor::of<float>({2, 2}, {0, 0, std::log(3.0f), 0});
  const Sums same = loss_of(x, Tensor::of<float>({2, 2}, {0.5, 0.5, 0.75, 0.25}), {.loss = "kl"});
  EXPECT_NEAR(same.sum, 0, 20 * kEpsF32);
  EXPECT_EQ(same.count, 2);
  const Sums sure = loss_of(x, Tensor::of<float>({2, 2}, {1, 0, 0, 1}), {.loss = "kl"});
  EXPECT_NEAR(sure.sum, std::log(2.0) + std::log(4.0), 40 * kEpsF32);
}

TEST(Loss, RefusesWhatItDoesNotHave) {
  const Tensor x = normal_tensor(3, {4, 3}, 2), classes(DType::i64, {4}), numbers(DType::f32, {4, 3});
  const auto refused = [&](const Tensor& labels, const LossOptions& options) {
    return error_of([&] { loss_of(x, labels, options); });
  };
  EXPECT_EQ(refused(classes, {.loss = "cross_entropy"}),
            "unknown loss cross_entropy; known: cross-entropy, bce, mse, kl. Did you mean cross-entropy?");
  EXPECT_EQ(refused(classes, {.label_smoothing = 1}), "label-smoothing is 1; accepted: 0 to below 1");
  EXPECT_EQ(refused(classes, {.class_weights = {1, 2}}), "there are 2 class weights; the model has 3 classes");
  EXPECT_EQ(refused(classes, {.class_weights = {1, 2, -1}}), "a class weight is -1; accepted: 0 and above");
  EXPECT_EQ(refused(numbers, {.loss = "mse", .label_smoothing = 0.1}),
            "label-smoothing is of cross-entropy; the loss is mse");
  EXPECT_EQ(refused(numbers, {.loss = "bce", .class_weights = {1, 1, 1}}),
            "class weights are of cross-entropy; the loss is bce");
}

}  // namespace
}  // namespace hone::test
