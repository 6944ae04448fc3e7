// How operators of shapes and places become ops, beyond what ONNX's own cases show: symbolic sizes stay symbolic, and
// those that depend on data are found while the model runs.
#include <gtest/gtest.h>

#include <limits>

#include "passes/pipelines.h"
#include "tests/io/one_node.h"

namespace hone {
namespace {

constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();

class Model {
 public:
  Model() {
    proto_.set_ir_version(8);
    proto_.add_opset_import()->set_version(18);
  }
  Model& input(const char* name, const char* text) {
    add_input(graph(), name, text);
    return *this;
  }
  Model& vector(const char* name, const Integers& values) {
    *graph().add_initializer() =
        onnx::to_proto(Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values), name);
    return *this;
  }
  Model& scalar(const char* name, int64_t value) {
    *graph().add_initializer() = onnx::to_proto(Tensor::scalar(value), name);
    return *this;
  }
  Model& node(const char* op, const std::vector<std::string>& inputs, const char* output) {
    onnx::NodeProto* added = graph().add_node();
    added->set_op_type(op);
    for (const std::string& each : inputs) added->add_input(each);
    added->add_output(output);
    return *this;
  }
  Graph import(const char* output) {
    graph().clear_output();
    graph().add_output()->set_name(output);
    OnnxImport result = import_onnx_bytes(proto_.SerializeAsString(), "test.onnx");
    EXPECT_TRUE(result.unsupported.empty()) << unsupported_text("test.onnx", result.unsupported);
    return result.graph;
  }
  std::string type(const char* output) {
    const Graph imported = import(output);
    return to_string(imported.type(imported.outputs()[0].value));
  }

 private:
  onnx::GraphProto& graph() { return *proto_.mutable_graph(); }
  onnx::ModelProto proto_;
};

std::string sliced(const char* x, int64_t start, int64_t end, int64_t step = 1) {
  Model model;
  model.input("x", x).vector("start", {start}).vector("end", {end}).vector("axis", {0}).vector("step", {step});
  const Graph graph = model.node("Slice", {"x", "start", "end", "axis", "step"}, "y").import("y");
  const ValueId y = graph.outputs()[0].value;
  const OpDef* op = graph.producer_op(y);
  return (op ? std::string(op->name) : "x") + " " + to_string(graph.type(y));
}

TEST(OnnxSlice, IsTheOpSliceWhereTheBoundsLieInside) {
  EXPECT_EQ(sliced("f32[S]", 0, kToTheEnd), "x f32[S]");
  EXPECT_EQ(sliced("f32[S]", 1, kToTheEnd), "slice f32[S-1]");
  EXPECT_EQ(sliced("f32[S]", 0, kToTheEnd, 2), "slice f32[(S+1)/2]");
  EXPECT_EQ(sliced("f32[S]", -1, kToTheEnd), "slice f32[1]");
  EXPECT_EQ(sliced("f32[5]", 2, 100), "slice f32[3]");
  EXPECT_EQ(sliced("f32[S]", -1, -kToTheEnd, -1), "strided_slice f32[S]");
  EXPECT_EQ(sliced("f32[S]", 0, 7), "strided_slice f32[_1]");  // S may be shorter
}

TEST(OnnxReshape, CopiesASymbolForAZero) {
  Model model;
  model.input("x", "f32[B,S,12]").vector("shape", {0, 0, 3, -1}).node("Reshape", {"x", "shape"}, "y");
  EXPECT_EQ(model.type("y"), "f32[B,S,3,4]");
}

TEST(OnnxSize, StaysASymbolThatShapesFollow) {
  Model model;
  model.input("x", "f32[B,3]").node("Size", {"x"}, "n").vector("one", {1}).node("Reshape", {"n", "one"}, "v");
  EXPECT_EQ(model.node("ConstantOfShape", {"v"}, "y").type("y"), "f32[3*B]");
}

TEST(OnnxRange, CountsToASymbolWithoutData) {
  Model model;
  model.input("x", "f32[S]").node("Shape", {"x"}, "shape").scalar("zero", 0).scalar("one", 1);
  model.node("Squeeze", {"shape"}, "length").node("Range", {"zero", "length", "one"}, "y");
  const Graph graph = model.import("y");
  EXPECT_EQ(to_string(graph.type(graph.outputs()[0].value)), "i64[S]");
  EXPECT_EQ(evaluate(graph, {{"x", Tensor(DType::f32, {3})}})[0].to_integers(), (Integers{0, 1, 2}));
}

// The nodes that find a size stay, although shapes are all that depends on it.
TEST(OnnxShapes, ThatDependOnDataAreFoundWhileTheModelRuns) {
  Model model;
  model.input("x", "f32[S]").node("NonZero", {"x"}, "found").node("Shape", {"found"}, "shape");
  model.node("ConstantOfShape", {"shape"}, "zeros").vector("zero", {0}).node("Unsqueeze", {"zeros", "zero"}, "y");
  const Tensor x = Tensor::of<float>({4}, Floats{0, 2, 0, 1});
  for (const Graph& graph : {model.import("y"), canonicalise(model.import("y"))}) {
    const Tensor y = evaluate(graph, {{"x", x}})[0];
    EXPECT_EQ(y.shape(), (Integers{1, 1, 2}));
    EXPECT_EQ(y.to_floats(), (Floats{0, 0}));
  }
}

}  // namespace
}  // namespace hone
