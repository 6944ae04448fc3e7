// What rules give where differences say nothing: at kinks, ties, zeros, and in places that are written twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gradients/gradient.h"
#include "ops/calls/activations.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/comparison.h"
#include "ops/calls/cross_entropy.h"
#include "ops/calls/gather.h"
#include "ops/calls/gather_elements.h"
#include "ops/calls/reduce.h"
#include "ops/evaluate.h"

namespace hone {
namespace {

using testing::ElementsAre;
using Floats = std::vector<float>;

// The gradient of one operand of a call, floats or i64, where that of the result is `d`.
std::vector<double> gradient(const OpDef& op, const std::vector<Tensor>& operands, size_t by, const Tensor& d,
                             const Attributes& attributes = {}) {
  Graph graph;
  std::vector<ValueId> ids;
  for (const Tensor& x : operands) ids.push_back(graph.add_constant("", x));
  const NodeId node = graph.add_node(op, ids, attributes);
  const auto wanted = std::make_unique<bool[]>(ids.size());
  wanted[by] = true;
  const std::vector<ValueId> d_results{graph.add_constant("", d)};
  graph.add_output(gradients_of({graph, node, d_results, {wanted.get(), ids.size()}})[by], "d");
  return evaluate(graph, {})[0].to_doubles();
}

Tensor row(const Floats& values) { return Tensor::of<float>({std::ssize(values)}, values); }
Tensor scalar(float value) { return Tensor::scalar<float>(value); }
const Attributes kWhole{{"keepdims", int64_t{0}}};

TEST(Kinks, BothSidesOfATieShare) {
  EXPECT_THAT(gradient(relu_def, {row({-1, 0, 2})}, 0, row({8, 8, 8})), ElementsAre(0, 4, 8));
  EXPECT_THAT(gradient(max_def, {row({1, 2, 3}), row({3, 2, 1})}, 0, row({8, 8, 8})), ElementsAre(0, 4, 8));
  EXPECT_THAT(gradient(abs_def, {row({-1, 0, 2})}, 0, row({8, 8, 8})), ElementsAre(-8, 0, 8));
}

TEST(Kinks, ElementsThatAreTheExtremeShareItsGradient) {
  EXPECT_THAT(gradient(reduce_max_def, {row({5, 1, 5, 5, 2})}, 0, scalar(6), kWhole), ElementsAre(2, 0, 2, 2, 0));
  EXPECT_THAT(gradient(reduce_min_def, {row({5, 1, 5, 1, 2})}, 0, scalar(6), kWhole), ElementsAre(0, 3, 0, 3, 0));
}

TEST(Kinks, AFactorsGradientIsTheProductOfTheOthersEvenIfItIsZero) {
  EXPECT_THAT(gradient(reduce_prod_def, {row({2, 0, 5})}, 0, scalar(1), kWhole), ElementsAre(0, 10, 0));
  EXPECT_THAT(gradient(reduce_prod_def, {row({0, 3, 0})}, 0, scalar(1), kWhole), ElementsAre(0, 0, 0));
  const Tensor indices = Tensor::of<int64_t>({3}, {0, 0, 1});
  const Attributes mul{{"reduction", std::string("mul")}};
  const std::vector<Tensor> operands{row({2, 0}), indices, row({0, 5, 7})};  // 2 · 0 · 5 and 0 · 7
  EXPECT_THAT(gradient(scatter_elements_def, operands, 0, row({1, 1}), mul), ElementsAre(0, 7));
  EXPECT_THAT(gradient(scatter_elements_def, operands, 2, row({1, 1}), mul), ElementsAre(10, 0, 0));
}

TEST(Kinks, OfUpdatesInOnePlaceTheLastOneCounts) {
  const std::vector<Tensor> operands{row({1, 2, 3}), Tensor::of<int64_t>({3}, {1, 1, 0}), row({4, 5, 6})};
  EXPECT_THAT(gradient(scatter_elements_def, operands, 0, row({10, 20, 30})), ElementsAre(0, 0, 30));
  EXPECT_THAT(gradient(scatter_elements_def, operands, 2, row({10, 20, 30})), ElementsAre(0, 20, 10));
}

TEST(Kinks, RowsOfATableAreSummedWhereTheyWereReadOften) {
  const std::vector<Tensor> operands{row({1, 2, 3}), Tensor::of<int64_t>({4}, {2, 0, -1, 2})};
  EXPECT_THAT(gradient(gather_def, operands, 0, row({1, 10, 100, 1000})), ElementsAre(10, 0, 1101));
}

TEST(Kinks, AMaskedBranchGivesZeroEvenForAnInfiniteGradient) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor condition = Tensor::of<bool>({2}, {true, false});
  EXPECT_THAT(gradient(where_def, {condition, row({1, 1}), row({2, 2})}, 1, row({3, infinity})), ElementsAre(3, 0));
}

TEST(Kinks, IgnoredRowsHaveNoGradient) {
  const Tensor logits = Tensor::of<float>({2, 2}, {0, 0, 1, 2}), labels = Tensor::of<int64_t>({2}, {1, -100});
  EXPECT_THAT(gradient(cross_entropy_def, {logits, labels}, 0, scalar(1)), ElementsAre(0.5, -0.5, 0, 0));
}

}  // namespace
}  // namespace hone
