// Random networks of grouped and depthwise convolutions, group norms, residuals and concatenations: whatever goes, what
// is left is a valid network of the same outputs' shapes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/calls.h"
#include "ops/evaluate.h"
#include "prune/prune_weights.h"
#include "tests/passes/same_outputs.h"
#include "tests/support/error_of.h"
#include "tests/support/normal_tensor.h"
#include "train/train_graph.h"

namespace hone::test {
namespace {

class RandomConvnet {
 public:
  explicit RandomConvnet(uint64_t seed) : random_(seed), is_open_(random_.below(2) == 0) {}

  Graph build() {
    const Dim side = is_open_ ? Dim::symbol("H") : Dim(4);
    ValueId x = graph_.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), 3, side, side}});
    x = conv(x, any_of({4, 6, 8, 12}), 1);
    for (uint32_t layers = 2 + random_.below(4); layers > 0; --layers) x = layer(x);
    const ValueId mean = ops::reduce_mean(graph_, {.x = x, .axes = std::vector<int64_t>{2, 3}, .keepdims = 0});
    graph_.add_output(ops::linear(graph_, {.x = mean, .w = constant({2, channels(x)}), .b = constant({2})}), "logits");
    return canonicalise_for_training(std::move(graph_));
  }

 private:
  int64_t any_of(std::vector<int64_t> values) { return values[random_.below(static_cast<uint32_t>(values.size()))]; }
  int64_t channels(ValueId x) const { return graph_.type(x).shape[1].constant(); }
  // A number of groups that the channels fall into.
  int64_t groups_of(int64_t channels) {
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= channels; ++d)
      if (channels % d == 0) divisors.push_back(d);
    return any_of(divisors);
  }
  ValueId constant(const std::vector<int64_t>& shape) {
    ++weights_;
    return graph_.add_constant(fmt::format("w{}", weights_), normal_tensor(static_cast<uint64_t>(weights_), shape));
  }

  ValueId conv(ValueId x, int64_t outputs, int64_t groups) {
    const int64_t window = any_of({1, 3}), pad = window / 2;
    return ops::conv(graph_, {.x = x,
                              .w = constant({outputs, channels(x) / groups, window, window}),
                              .b = random_.below(2) == 0 ? constant({outputs}) : kNone,
                              .pads = std::vector<int64_t>{pad, pad, pad, pad},
                              .groups = groups});
  }

  // As exporters spell it: a layer norm of [rows, groups, elements], and a scale and a shift for each channel.
  ValueId group_norm(ValueId x) {
    const Shape shape = graph_.type(x).shape;
    const int64_t groups = groups_of(channels(x));
    const Dim elements = floordiv(shape[1] * shape[2] * shape[3], Dim(groups));
    const ValueId flat = ops::reshape(graph_, {.x = x, .shape = Shape{shape[0], groups, elements}});
    ValueId y = ops::reshape(graph_, {.x = ops::layer_norm(graph_, {.x = flat}), .shape = shape});
    const ValueId scale = constant({channels(x), 1, 1}), shift = constant({channels(x), 1, 1});
    y = random_.below(2) == 0 ? ops::mul(graph_, {y, scale}) : ops::mul(graph_, {scale, y});
    return random_.below(2) == 0 ? ops::add(graph_, {y, shift}) : ops::add(graph_, {shift, y});
  }

  ValueId batch_norm(ValueId x) {
    const int64_t c = channels(x);
    const ValueId variance =
        graph_.add_constant(fmt::format("w{}", ++weights_), Tensor::from_doubles(DType::f32, {c}, std::vector(c, 1.5)));
    return ops::batch_norm(
        graph_, {.x = x, .scale = constant({c}), .bias = constant({c}), .mean = constant({c}), .variance = variance});
  }

  ValueId layer(ValueId x) {
    const int64_t c = channels(x), groups = groups_of(c);
    switch (random_.below(8)) {
      case 0:
        return conv(x, any_of({4, 6, 8}), 1);
      case 1:
        return conv(x, groups * any_of({1, 2, 3}), groups);
      case 2:
        return conv(x, c * any_of({1, 2}), c);  // depthwise
      case 3:
      case 4:
        return group_norm(x);
      case 5:
        return batch_norm(x);
      case 6:
        return ops::add(graph_, {x, group_norm(conv(ops::relu(graph_, {x}), c, groups))});
      default:
        return ops::concat(graph_, {.inputs = {x, ops::relu(graph_, {conv(x, c, groups)})}, .axis = 1});
    }
  }

  Philox random_;
  Graph graph_;
  const bool is_open_;
  int weights_ = 0;
};

// What went, or why nothing can.
void expect_valid(const Graph& graph, const PruneOptions& options) {
  PrunedGraph pruned;
  const std::string refused = error_of([&] { pruned = prune_weights(graph, options, {}); });
  if (!refused.empty()) {
    EXPECT_THAT(refused, testing::AnyOf(testing::HasSubstr("channels would go; prune less"),
                                        testing::HasSubstr("the model has no channels that can be pruned")));
    return;
  }
  verify(pruned.graph);
  Philox rng(7);
  const auto inputs = random_inputs(graph, rng);
  const Tensor before = evaluate(graph, inputs)[0], after = evaluate(pruned.graph, inputs)[0];
  EXPECT_EQ(after.shape(), before.shape());
  for (float value : after.to_floats()) EXPECT_TRUE(std::isfinite(value));
}

TEST(RandomConvnets, StayValidWhateverGoes) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const Graph graph = RandomConvnet(seed).build();
    for (const char* scope : {"local", "global"})
      for (double sparsity : {0.25, 0.5, 0.8}) {
        SCOPED_TRACE(fmt::format("seed {}, {} {}", seed, scope, sparsity));
        expect_valid(graph, {.sparsity = sparsity, .method = "l1", .structure = "channels", .scope = scope});
      }
  }
}

}  // namespace
}  // namespace hone::test
