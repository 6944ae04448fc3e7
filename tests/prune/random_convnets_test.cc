// Random networks of grouped and depthwise convolutions, group norms, residuals and concatenations: whatever goes, what
// is left is a valid network of the same outputs' shapes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/calls/activations.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/batch_norm.h"
#include "ops/calls/concat.h"
#include "ops/calls/conv.h"
#include "ops/calls/linear.h"
#include "ops/calls/normalisation.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/evaluate.h"
#include "passes/compress/coupled_channels.h"
#include "prune/prune_weights.h"
#include "tests/passes/parse_ops.h"
#include "tests/passes/same_outputs.h"
#include "tests/support/error_of.h"
#include "tests/support/normal_tensor.h"
#include "train/train_graph.h"

namespace hone::test {
namespace {

// Constants without values are zeros.
Graph zeros(const std::string& text) {
  ParseContext context = op_context();
  context.find_constant = [](std::string_view, const TensorType& type) {
    return Tensor(type.dtype, constant_shape(type.shape));
  };
  return parse_graph(text, context);
}

class RandomConvnet {
 public:
  // Norms have that many groups at least.
  explicit RandomConvnet(uint64_t seed, int64_t least_groups = 1)
      : random_(seed), is_open_(random_.below(2) == 0), least_groups_(least_groups) {}

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
  int64_t groups_of(int64_t channels, int64_t least = 1) {
    std::vector<int64_t> divisors;
    for (int64_t d = least; d <= channels; ++d)
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
    const int64_t groups = groups_of(channels(x), least_groups_);
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
  const int64_t least_groups_;
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

// The graph with the values of those slices 0.
Graph zeroed(Graph graph, const std::vector<ChannelUnit>& units) {
  for (const ChannelUnit& unit : units)
    for (const ChannelSlice& slice : unit.slices) {
      const Tensor& tensor = *graph.constant(slice.constant);
      std::vector<double> values = tensor.to_doubles();
      int64_t inner = 1;
      for (size_t axis = static_cast<size_t>(slice.axis) + 1; axis < tensor.shape().size(); ++axis)
        inner *= tensor.shape()[axis];
      const int64_t length = tensor.dim(slice.axis);
      for (int64_t i = 0; i < tensor.elements(); ++i)
        if (i / inner % length == slice.index) values[static_cast<size_t>(i)] = 0;
      graph.set_constant(slice.constant, Tensor::from_doubles(tensor.dtype(), tensor.shape(), values));
    }
  return graph;
}

bool has_group_norm(const Graph& graph) { return !graph.nodes("layer_norm").empty(); }

// Groups of a norm do not see each other: without some, the others compute what they did beside zeros.
TEST(RandomConvnets, ComputeWithoutGroupsWhatTheyDoBesideZeros) {
  int behind_norms = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Graph graph = RandomConvnet(seed, 2).build();
    std::vector<ChannelUnit> gone;
    for (const ChannelFamily& family : channel_families(graph)) {
      if (!family.kept_because.empty()) continue;
      const size_t half = family.units.size() / 2;
      gone.insert(gone.end(), family.units.begin(), family.units.begin() + static_cast<std::ptrdiff_t>(half));
    }
    if (gone.empty()) continue;
    behind_norms += has_group_norm(graph) ? 1 : 0;
    const Graph left = remove_units(graph, gone);
    verify(left);
    Philox rng(seed);
    const auto inputs = random_inputs(graph, rng);
    const std::vector<double> want = evaluate(zeroed(graph, gone), inputs)[0].to_doubles(),
                              got = evaluate(left, inputs)[0].to_doubles();
    ASSERT_EQ(got.size(), want.size());
    // Sums of the same terms in another order: a few roundings of the largest.
    double largest = 1;
    for (double value : want) largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5 * largest);
  }
  EXPECT_GE(behind_norms, 20) << "networks with group norms of which groups went";
}

// conv → norm of 4 groups → grouped conv → norm of 2 groups: units are what both agree on, four channels.
TEST(GroupNorms, GoInWholeGroupsWithGroupedConvolutions) {
  const auto text = [](const std::string& elements) {
    return R"(graph g {
      %x : f32[B,3,4,4] = input "x"
      %w : f32[8,3,1,1] = const "stem.weight"
      %s : f32[8,1,1] = const "norm.weight"
      %b : f32[8,1,1] = const "norm.bias"
      %v : f32[8,2,1,1] = const "grouped.weight"
      %l : f32[2,8] = const "head.weight"
      %c = conv %x, %w
      %f = reshape %c {shape=[B,)" +
           elements + R"(]}
      %n = layer_norm %f
      %r = reshape %n {shape=[B,8,4,4]}
      %m = mul %r, %s
      %a = add %m, %b
      %g = conv %a, %v {groups=4}
      %f2 = reshape %g {shape=[B,2,64]}
      %n2 = layer_norm %f2
      %r2 = reshape %n2 {shape=[B,8,4,4]}
      %p = reduce_mean %r2 {axes=[2,3], keepdims=0}
      %y = linear %p, %l
      return %y as "logits"
    })";
  };
  ParseContext context = op_context();
  context.find_constant = [](std::string_view label, const TensorType& type) {
    return normal_tensor(label.size(), constant_shape(type.shape));
  };
  const Graph graph = parse_graph(text("4,32"), context);
  const std::vector<ChannelFamily> families = channel_families(graph);
  ASSERT_EQ(families.size(), 2u);
  EXPECT_EQ(families[0].name, "stem.weight");
  EXPECT_EQ(families[0].kept_because, "");
  ASSERT_EQ(families[0].units.size(), 2u);
  const Graph left = remove_units(graph, {&families[0].units[1], 1});
  verify(left);
  EXPECT_EQ(left.constant(left.find_constant("stem.weight"))->shape(), (std::vector<int64_t>{4, 3, 1, 1}));
  EXPECT_EQ(left.constant(left.find_constant("norm.weight"))->shape(), (std::vector<int64_t>{4, 1, 1}));
  EXPECT_EQ(left.constant(left.find_constant("grouped.weight"))->shape(), (std::vector<int64_t>{4, 2, 1, 1}));
  const Node& grouped = left.node(left.nodes("conv")[1]);
  EXPECT_EQ(grouped.attributes.get<int64_t>("groups"), 2);
  EXPECT_EQ(to_string(left.type(left.result(left.nodes("layer_norm")[0]))), "f32[B,2,32]");
  EXPECT_EQ(to_string(left.type(left.result(left.nodes("layer_norm")[1]))), "f32[B,1,64]");

  const std::vector<ChannelFamily> across = channel_families(parse_graph(text("16,8"), context));
  EXPECT_EQ(across[0].units.size(), 2u) << "groups smaller than a channel: the norms of one go with it";
}

TEST(GroupNorms, OfOneGroupAndOpenSizesSayWhyTheyStay) {
  const Graph graph = zeros(R"(graph g {
    %x : f32[B,3,H,W] = input "x"
    %w : f32[8,3,1,1] = const "stem.weight"
    %l : f32[2,8] = const "head.weight"
    %c = conv %x, %w
    %f = reshape %c {shape=[B,1,8*H*W]}
    %n = layer_norm %f
    %r = reshape %n {shape=[B,8,H,W]}
    %p = reduce_mean %r {axes=[2,3], keepdims=0}
    %y = linear %p, %l
    return %y as "logits"
  })");
  EXPECT_EQ(channel_families(graph)[0].kept_because,
            "reshape (%f) joins them with a number of places that is left open");
}

}  // namespace
}  // namespace hone::test
