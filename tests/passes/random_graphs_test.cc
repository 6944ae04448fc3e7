// Every pass keeps the outputs of random graphs, but for what it promises to change, and leaves them verified.
#include <gtest/gtest.h>

#include "passes/pipelines.h"
#include "passes/registry.h"
#include "tests/passes/parse_ops.h"
#include "tests/passes/pass_promises.h"

namespace hone {
namespace {

// What the graphs below are built with.
class RandomGraph {
 public:
  const Graph& graph() const { return graph_; }

 protected:
  explicit RandomGraph(uint64_t seed) : rng_(seed) {}

  ValueId emit(const char* op, std::vector<ValueId> operands, Attributes attributes = {}) {
    return graph_.emit(ops::get(op), std::move(operands), std::move(attributes));
  }
  ValueId any() { return values_[rng_.below(static_cast<uint32_t>(values_.size()))]; }
  ValueId any(size_t rank) {
    for (;;)
      if (const ValueId id = any(); graph_.type(id).rank() == rank) return id;
  }
  ValueId weight(std::vector<int64_t> shape) {
    std::vector<float> values(static_cast<size_t>(element_count(shape)));
    for (float& v : values) v = rng_.normal() / 2;
    const std::string label = rng_.below(2) ? "" : "w" + std::to_string(graph_.value_capacity());
    return graph_.add_constant(label, Tensor::of<float>(std::move(shape), values));
  }
  ValueId number() {
    const float numbers[] = {0, 1, 0.5f, -1};
    return graph_.add_scalar(numbers[rng_.below(4)]);
  }
  void add_outputs() {
    for (int i = 0; i < 3; ++i)
      graph_.add_output(values_[values_.size() - 1 - static_cast<size_t>(2 * i)], std::to_string(i));
  }

  Philox rng_;
  Graph graph_;
  std::vector<ValueId> values_;
};

// Values are [B,4] or [B,2,2]; each step adds a node that keeps them of the order of 1.
class RandomMatrices : public RandomGraph {
 public:
  explicit RandomMatrices(uint64_t seed) : RandomGraph(seed) {
    values_ = {graph_.add_input("x", parse_type("f32[B,4]")), graph_.add_input("u", parse_type("f32[B,2,2]"))};
    for (int i = 0; i < 14; ++i) values_.push_back(step());
    add_outputs();
  }

 private:
  ValueId step() {
    const ValueId x = any();
    const size_t rank = graph_.type(x).rank();
    switch (rng_.below(14)) {
      case 0:
        return emit("tanh", {emit("add", {x, any(rank)})});
      case 1:
        return emit("mul", {x, number()});
      case 2:
        return emit("add", {number(), x});
      case 3:
        return emit("sub", {x, emit("mul", {number(), number()})});
      case 4:
        return emit("dropout", {x});
      case 5:
        return emit("tanh", {emit("add", {emit("matmul", {any(2), weight({4, 4})}), weight({4})})});
      case 6:
        return emit("reshape", {any(2)}, {{"shape", Shape{Dim(-1), 2, 2}}});
      case 7:
        return emit("flatten", {any(3)});
      case 8:
        return emit("transpose", {any(3)}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
      case 9:
        return emit("softmax", {x});
      case 10:
        return emit("batch_norm", {emit("linear", {any(2), weight({4, 4})}), weight({4}), weight({4}), weight({4}),
                                   graph_.add_constant("", Tensor::of<float>({4}, {1, 2, 0.5f, 1}))});
      case 11:
        return emit("cast", {x}, {{"dtype", DType::f32}});
      case 12:
        return emit("mul", {x, emit("full", {}, {{"shape", graph_.type(x).shape}, {"value", 0.5}})});
      default:
        return emit("linear", {any(2), emit("fake_quant", {weight({4, 4})}, {{"format", parse_format("mxint8")}})});
    }
  }
};

// Values are [B,C,H,W] and [B,C,L].
class RandomImages : public RandomGraph {
 public:
  explicit RandomImages(uint64_t seed) : RandomGraph(seed) {
    values_ = {graph_.add_input("x", parse_type("f32[B,2,5,4]")), graph_.add_input("u", parse_type("f32[B,3,4]"))};
    for (int i = 0; i < 14; ++i) values_.push_back(emit("tanh", {step()}));
    add_outputs();
  }

 private:
  using List = std::vector<int64_t>;

  int64_t dim(ValueId x, size_t axis) { return graph_.type(x).shape[axis].constant(); }
  int64_t below(uint32_t n) { return rng_.below(n); }

  // Pads of 1 keep any window of 1 to 3 on a plane of any size.
  Attributes window(size_t dims) { return {{"strides", List(dims, 1 + below(2))}, {"pads", List(2 * dims, 1)}}; }
  ValueId with_bias(const char* op, ValueId x, const List& w, int64_t outputs, const Attributes& attributes) {
    const ValueId weights = weight(w);
    return below(2) ? emit(op, {x, weights}, attributes) : emit(op, {x, weights, weight({outputs})}, attributes);
  }
  ValueId convolution(ValueId x) {
    const size_t dims = graph_.type(x).rank() - 2;
    const int64_t groups = below(3) == 0 ? dim(x, 1) : 1, outputs = groups * (1 + below(3)), extent = 1 + below(3);
    Attributes attributes = below(3) ? window(dims) : Attributes{};
    if (!attributes.has("pads") && extent > 1) attributes.set("auto_pad", std::string("same_upper"));
    attributes.set("groups", groups);
    List w{outputs, dim(x, 1) / groups};
    w.insert(w.end(), dims, extent);
    return with_bias("conv", x, w, outputs, attributes);
  }
  ValueId transposed_convolution(ValueId x) {
    const size_t dims = graph_.type(x).rank() - 2;
    const int64_t groups = below(3) == 0 ? dim(x, 1) : 1, stride = 1 + below(3);
    Attributes attributes{{"strides", List(dims, stride)}, {"dilations", List(dims, 1 + below(2))}, {"groups", groups}};
    List w{dim(x, 1), 1 + below(2)};
    for (size_t i = 0; i < dims; ++i) w.push_back(1 + below(4));
    if (below(3) == 0) attributes.set("auto_pad", std::string(below(2) ? "same_upper" : "same_lower"));
    else if (w.back() > 2 && w[w.size() - 2] > 2) attributes.set("pads", List(2 * dims, below(2)));
    if (below(2)) attributes.set("output_padding", List(dims, below(static_cast<uint32_t>(stride))));
    return with_bias("conv_transpose", x, w, w[1] * groups, attributes);
  }
  ValueId pool(ValueId x) {
    const size_t dims = graph_.type(x).rank() - 2;
    Attributes attributes = window(dims);
    attributes.set("kernel_shape", List(dims, 2));
    attributes.set("ceil_mode", below(2));
    return emit(below(2) ? "max_pool" : "avg_pool", {x}, attributes);
  }
  ValueId same_type(ValueId x) {
    for (;;)
      if (const ValueId id = any(); graph_.type(id) == graph_.type(x)) return id;
  }
  ValueId per_channel(ValueId x) {
    List shape(graph_.type(x).rank() - 1, 1);
    shape[0] = dim(x, 1);
    return weight(shape);
  }
  ValueId squeeze_and_excite(ValueId x) {
    const ValueId mean = emit("reduce_mean", {x}, {{"axes", List{2, 3}}});
    return emit("mul", {x, emit("sigmoid", {emit("conv", {mean, weight({dim(x, 1), dim(x, 1), 1, 1})})})});
  }

  ValueId step() {
    const ValueId x = any(), image = any(4);
    switch (below(16)) {
      case 0:
      case 1:
      case 2:
        return convolution(x);
      case 3:
        return transposed_convolution(x);
      case 4:
        return pool(x);
      case 5:
        return emit("add", {x, same_type(x)});
      case 6:
        return emit(below(2) ? "mul" : "add", {per_channel(x), x});
      case 7:
        return squeeze_and_excite(image);
      case 8:
        return emit("concat", {x, same_type(x)}, {{"axis", int64_t{1}}});
      case 9:
        return emit("slice", {x}, {{"axes", List{2}}, {"starts", Shape{0}}, {"ends", Shape{(dim(x, 2) + 1) / 2}}});
      case 10:
        return emit("pad", {image}, {{"pads", Shape{0, 0, 1, 0, 0, 0, 0, 1}}});
      case 11:
        return emit("resize", {image}, {{"axes", List{2, 3}}, {"sizes", Shape{dim(image, 2) + 1, 3}}});
      case 12:
        return emit("softmax", {x}, {{"axis", 1 + below(2)}});
      case 13:
        return emit("reshape", {image}, {{"shape", Shape{Dim(-1), dim(image, 1), dim(image, 2) * dim(image, 3)}}});
      case 14:
        return emit("unsqueeze", {any(3)}, {{"axes", List{2 + below(2)}}});
      default:
        return emit(
            "batch_norm",
            {x, weight({dim(x, 1)}), weight({dim(x, 1)}), weight({dim(x, 1)}),
             graph_.add_constant("", Tensor::from_doubles(DType::f32, {dim(x, 1)},
                                                          std::vector<double>(static_cast<size_t>(dim(x, 1)), 0.5)))});
    }
  }
};

void expect_every_pass_keeps_its_promise(const Graph& before) {
  verify(before);
  for (const PassDef* pass : passes::all()) {
    SCOPED_TRACE(pass->name);
    test::expect_promise(*pass, before, test::run_verified(*pass, before));
  }
}

TEST(RandomGraphs, KeepTheirOutputsUnderEveryPass) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    expect_every_pass_keeps_its_promise(RandomMatrices(seed).graph());
  }
}

TEST(RandomImages, KeepTheirOutputsUnderEveryPass) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    expect_every_pass_keeps_its_promise(RandomImages(seed).graph());
  }
}

TEST(RandomImages, KeepTheirOutputsUnderThePipelineWhichLeavesNoConvOrPoolWithChannelsFirst) {
  for (uint64_t seed = 100; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    const Graph before = RandomImages(seed).graph();
    const Graph after = prepare_for_codegen(before, Compute::f32, {.disabled = {}, .verify = true, .after = {}});
    EXPECT_TRUE(after.nodes("conv_transpose").empty());
    for (const char* op : {"conv", "max_pool", "avg_pool"})
      for (NodeId id : after.nodes(op)) EXPECT_EQ(after.node(id).attributes.get_or<int64_t>("channels_last", 0), 1);
    test::expect_kept_outputs(before, after);
  }
}

TEST(RandomGraphs, KeepTheirOutputsAndShrinkUnderThePipeline) {
  for (uint64_t seed = 100; seed < 160; ++seed) {
    SCOPED_TRACE(seed);
    const Graph before = RandomMatrices(seed).graph();
    const Graph after = prepare_for_codegen(before, Compute::f32, {.disabled = {}, .verify = true, .after = {}});
    EXPECT_LE(after.nodes().size(), before.nodes().size());
    EXPECT_TRUE(after.nodes("dropout").empty());
    test::expect_kept_outputs(before, after);
  }
}

}  // namespace
}  // namespace hone
