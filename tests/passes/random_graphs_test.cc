// Every pass keeps the outputs of random graphs and leaves them verified.
#include <gtest/gtest.h>

#include "passes/pipelines.h"
#include "passes/registry.h"
#include "tests/passes/parse_ops.h"
#include "tests/passes/same_outputs.h"

namespace hone {
namespace {

// Values are [B,4] or [B,2,2]; each step adds a node that keeps them of the order of 1.
class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed) : rng_(seed) {
    values_ = {graph_.add_input("x", parse_type("f32[B,4]")), graph_.add_input("u", parse_type("f32[B,2,2]"))};
    for (int i = 0; i < 14; ++i) values_.push_back(step());
    for (int i = 0; i < 3; ++i)
      graph_.add_output(values_[values_.size() - 1 - static_cast<size_t>(2 * i)], std::to_string(i));
  }
  const Graph& graph() const { return graph_; }

 private:
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

  Philox rng_;
  Graph graph_;
  std::vector<ValueId> values_;
};

TEST(RandomGraphs, KeepTheirOutputsUnderEveryPass) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Graph before = RandomGraph(seed).graph();
    verify(before);
    for (const PassDef* pass : passes::all()) {
      const std::string_view name = pass->name;
      if (name == "quantize" || name == "set_compute") continue;  // change values on purpose
      SCOPED_TRACE(fmt::format("seed {} pass {}", seed, name));
      const Graph after = pass->run(before, {});
      verify(after);
      // f32 with sums of 4 and a chain of at most 14 steps: a few hundred roundings of 2^-24.
      test::expect_same_outputs(before, after, 0x1p-15);
    }
  }
}

TEST(RandomGraphs, KeepTheirOutputsAndShrinkUnderThePipeline) {
  for (uint64_t seed = 100; seed < 160; ++seed) {
    SCOPED_TRACE(seed);
    const Graph before = RandomGraph(seed).graph();
    const Graph after = prepare_for_codegen(before, Compute::f32, {.disabled = {}, .verify = true, .after = {}});
    EXPECT_LE(after.nodes().size(), before.nodes().size());
    EXPECT_TRUE(after.nodes("dropout").empty());
    test::expect_same_outputs(before, after, 0x1p-15);
  }
}

}  // namespace
}  // namespace hone
