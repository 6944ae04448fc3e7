// Gradients that need sizes which a model leaves open: the data's decide, and one set of parameters is trained by the
// graphs of all of them.
#include "train/sized_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/calls/arithmetic.h"
#include "ops/calls/concat.h"
#include "ops/calls/det.h"
#include "ops/calls/gather.h"
#include "ops/calls/linear.h"
#include "ops/calls/reshape.h"
#include "ops/calls/shape_of.h"
#include "ops/calls/tile.h"
#include "tests/support/error_of.h"
#include "tests/support/normal_tensor.h"
#include "tests/support/pyramid.h"
#include "train/loop/trainer.h"
#include "train/registry.h"

namespace hone::test {
namespace {

using testing::HasSubstr;
// A table that is repeated for each row by a number of repeats that is computed from the rows.
Graph repeats_table() {
  Graph g;
  const ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), 2}});
  const ValueId shape = ops::shape_of(g, {x}), first = g.add_constant("", Tensor::of<int64_t>({1}, {0})),
                one = g.add_constant("", Tensor::of<int64_t>({1}, {1}));
  const ValueId repeats =
      ops::concat(g, {.inputs = {ops::gather(g, {.table = shape, .indices = first}), one}, .axis = 0});
  const ValueId rows =
      ops::tile(g, {.x = g.add_constant("table", normal_tensor(1, {1, 2})), .computed_repeats = repeats});
  const ValueId sum = ops::add(g, {x, rows});
  g.add_output(ops::linear(g, {.x = sum, .w = g.add_constant("head.weight", normal_tensor(3, {3, 2}))}), "logits");
  return g;
}

TrainGraphOptions with_sgd(std::function<Bindings(const Graph&)> sizes = {}) {
  TrainGraphOptions options;
  for (const OptimizerDef* def : train::all())
    if (std::string(def->name) == "sgd") options.optimizer = def, options.optimizer_options = def->options->defaults();
  options.sizes = std::move(sizes);
  return options;
}

Bindings largest(const Graph&) { return {{"B", 4}, {"H", 8}, {"W", 8}}; }

NamedTensors batch_of(std::vector<int64_t> shape, uint64_t seed) {
  std::vector<int64_t> labels;
  for (int64_t row = 0; row < shape[0]; ++row) labels.push_back(row % 3);
  return {{"x", normal_tensor(seed, shape)}, {"labels", Tensor::of<int64_t>({shape[0]}, labels)}};
}

double loss_of(Trainer& trainer, const NamedTensors& batch) { return trainer.step({&batch, 1}, 0.25).loss; }

TEST(SizedGraph, IsForAllSizesWhereGradientsAre) {
  Graph model = pyramid({8, 8});
  const TrainGraphs graphs = make_train_graphs(model, with_sgd([](const Graph&) -> Bindings {
                                                 ADD_FAILURE() << "sizes are not needed";
                                                 return {};
                                               }));
  EXPECT_TRUE(graphs.sizes.empty());
  EXPECT_FALSE(graphs.for_sizes);
}

TEST(SizedGraph, LeavesRowsOpenWhereTheyDoNotMatter) {
  EXPECT_THAT(error_of([] { make_train_graphs(pyramid(), with_sgd()); }), HasSubstr("not known before a run"));
  const TrainGraphs graphs = make_train_graphs(pyramid(), with_sgd(largest));
  EXPECT_EQ(graphs.sizes, (Bindings{{"H", 8}, {"W", 8}}));
}

// What a model of those sizes learns, step for step, from the weights that the steps before have left.
TEST(SizedGraph, EachSizeTrainsTheSameWeightsAsAModelOfThatSize) {
  for (const bool in_parts : {false, true}) {
    TrainGraphOptions options = with_sgd(largest);
    options.accumulate = in_parts;
    Trainer open(make_train_graphs(pyramid(), options), {});
    std::optional<std::map<std::string, Tensor>> before;
    uint64_t seed = 10;
    const std::vector<std::vector<int64_t>> shapes{
        {4, 1, 8, 8}, {4, 1, 6, 10}, {3, 1, 8, 8}, {1, 1, 6, 10}, {2, 1, 2, 4}};
    for (const std::vector<int64_t>& shape : shapes) {
      SCOPED_TRACE(testing::PrintToString(shape));
      Trainer fixed(make_train_graphs(pyramid({shape[2], shape[3]}), options), {});
      if (before) fixed.restore(*before, 0, "the step before");
      const NamedTensors batch = batch_of(shape, ++seed);
      EXPECT_EQ(loss_of(open, batch), loss_of(fixed, batch));
      before = fixed.tensors();
      for (const auto& [name, tensor] : open.tensors()) EXPECT_TRUE(tensor.same_bits(before->at(name))) << name;
    }
  }
}

TEST(SizedGraph, IsForEachNumberOfRowsWhereTheyMatter) {
  TrainGraphOptions options = with_sgd(largest);
  options.accumulate = true;
  const TrainGraphs graphs = make_train_graphs(repeats_table(), options);
  EXPECT_EQ(graphs.sizes, (Bindings{{"B", 4}}));
  Trainer parted(graphs, {}), whole(graphs, {});
  const NamedTensors four = batch_of({4, 2}, 1), three = batch_of({3, 2}, 2);
  for (Trainer* trainer : {&parted, &whole}) loss_of(*trainer, four);
  whole.step({&three, 1}, 0.25);
  const std::vector<NamedTensors> parts{three, batch_of({0, 2}, 2)};  // a process's share of a batch may be none
  parted.step(parts, 0.25);
  for (const auto& [name, tensor] : whole.tensors()) EXPECT_TRUE(tensor.same_bits(parted.tensors().at(name))) << name;
  EXPECT_FALSE(whole.tensors().at("parameter/table").same_bits(normal_tensor(1, {1, 2})));
}

TEST(SizedGraph, FewAreKeptAndTheOthersMadeAgain) {
  Trainer trainer(make_train_graphs(pyramid(), with_sgd(largest)), {.max_specialisations = 1});
  double first = 0, last = 0;
  for (int round = 0; round < 6; ++round)
    for (int64_t side : {4, 6}) (round == 0 ? first : last) = loss_of(trainer, batch_of({6, 1, side, side}, 7));
  EXPECT_LT(last, first);
}

TEST(SizedGraph, WhatHasNoRuleIsNamedWithSizesToo) {
  Graph g;
  const ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), 2, 2}});
  const ValueId y = ops::linear(g, {.x = x, .w = g.add_constant("w", normal_tensor(1, {2, 2}))});
  g.add_output(ops::reshape(g, {.x = ops::det(g, {y}), .shape = Shape{Dim::symbol("B"), 1}}), "logits");
  EXPECT_THAT(error_of([&] { make_train_graphs(g, with_sgd(largest)); }), HasSubstr("det has no gradient"));
}

}  // namespace
}  // namespace hone::test
