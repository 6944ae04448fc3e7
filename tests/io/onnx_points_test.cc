// How operators on single elements, reductions and products become ops, beyond what ONNX's own cases show: symbolic
// shapes, old versions, spellings that passes recognise.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/registry.h"
#include "io/onnx/import_model.h"
#include "io/onnx/onnx.pb.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "passes/registry.h"

namespace hone {
namespace {

using Floats = std::vector<float>;

// A model of one node with the inputs x0, x1, ... and the outputs y0, y1, ...
class OneNode {
 public:
  OneNode(const char* op, int opset, const std::vector<const char*>& inputs, int outputs = 1) {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(opset);
    node_ = model_.mutable_graph()->add_node();
    node_->set_op_type(op);
    for (const char* type : inputs) add_input(parse_type(type));
    for (int i = 0; i < outputs; ++i) {
      node_->add_output(fmt::format("y{}", i));
      model_.mutable_graph()->add_output()->set_name(node_->output(i));
    }
  }
  OneNode& integer(const char* name, int64_t value) {
    onnx::AttributeProto* attribute = add_attribute(name, onnx::AttributeProto::INT);
    attribute->set_i(value);
    return *this;
  }
  OneNode& text(const char* name, const char* value) {
    add_attribute(name, onnx::AttributeProto::STRING)->set_s(value);
    return *this;
  }
  OneNode& constant(Floats values, std::vector<int64_t> shape) {
    onnx::TensorProto& tensor = add_initializer(kFloat);
    for (int64_t size : shape) tensor.add_dims(size);
    for (float value : values) tensor.add_float_data(value);
    return *this;
  }
  OneNode& constant(bool value) {
    add_initializer(kBool).add_int32_data(value);
    return *this;
  }
  OnnxImport import() const { return import_onnx_bytes(model_.SerializeAsString(), "test.onnx"); }

 private:
  static constexpr int kFloat = 1, kBool = 9;  // of TensorProto.data_type

  onnx::TensorProto& add_initializer(int data_type) {
    onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
    tensor.set_name(fmt::format("x{}", node_->input_size()));
    tensor.set_data_type(data_type);
    node_->add_input(tensor.name());
    return tensor;
  }
  onnx::AttributeProto* add_attribute(const char* name, int type) {
    onnx::AttributeProto* attribute = node_->add_attribute();
    attribute->set_name(name);
    attribute->set_type(type);
    return attribute;
  }
  void add_input(const TensorType& type) {
    node_->add_input(fmt::format("x{}", node_->input_size()));
    onnx::ValueInfoProto* input = model_.mutable_graph()->add_input();
    input->set_name(node_->input(node_->input_size() - 1));
    auto* tensor = input->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(kFloat);
    tensor->mutable_shape();
    for (const Dim& dim : type.shape) {
      auto* to = tensor->mutable_shape()->add_dim();
      if (dim.is_constant()) to->set_dim_value(dim.constant());
      else to->set_dim_param(dim.to_string());
    }
  }

  onnx::ModelProto model_;
  onnx::NodeProto* node_;
};

Graph graph_of(const OneNode& node) {
  OnnxImport result = node.import();
  EXPECT_EQ(result.unsupported.size(), 0u);
  return result.graph;
}

Tensor f32(std::vector<int64_t> shape, const Floats& values) { return Tensor::of<float>(std::move(shape), values); }

Tensor counting(std::vector<int64_t> shape) {
  Floats values(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) - 2;
  return f32(std::move(shape), values);
}

std::vector<Tensor> run(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::map<std::string, Tensor> named;
  for (size_t i = 0; i < inputs.size(); ++i) named[fmt::format("x{}", i)] = inputs[i];
  return evaluate(graph, named);
}

TEST(OnnxSoftmax, BeforeVersion13DimensionsFromTheAxisOnAreOne) {
  const Graph graph = graph_of(OneNode("Softmax", 11, {"f32[B,2,N]"}));
  EXPECT_EQ(to_string(graph.type(graph.outputs()[0].value)), "f32[B,2,N]");
  EXPECT_EQ(run(graph, {f32({1, 2, 2}, {0, 0, 0, 0})})[0].to_floats(), (Floats{0.25f, 0.25f, 0.25f, 0.25f}));
  const Graph later = graph_of(OneNode("Softmax", 13, {"f32[B,2,N]"}));
  EXPECT_EQ(run(later, {f32({1, 2, 2}, {0, 0, 0, 0})})[0].to_floats(), (Floats{0.5f, 0.5f, 0.5f, 0.5f}));
}

TEST(OnnxHardmax, IsOneAtTheFirstOfTheLargest) {
  const Graph graph = graph_of(OneNode("Hardmax", 13, {"f32[B,3]"}));
  EXPECT_EQ(run(graph, {f32({2, 3}, {1, 5, 5, 9, 2, 3})})[0].to_floats(), (Floats{0, 1, 0, 1, 0, 0}));
}

TEST(OnnxAdd, BeforeVersion7TheAxisSaysWhereTheSecondOperandLies) {
  const Graph graph = graph_of(OneNode("Add", 6, {"f32[2,2]", "f32[2]"}).integer("broadcast", 1).integer("axis", 0));
  EXPECT_EQ(run(graph, {f32({2, 2}, {1, 2, 3, 4}), f32({2}, {10, 20})})[0].to_floats(), (Floats{11, 12, 23, 24}));
}

TEST(OnnxPRelu, BeforeVersion7ASlopePerChannelLiesAlongAxis1) {
  const Graph graph = graph_of(OneNode("PRelu", 6, {"f32[1,2,2]", "f32[2]"}));
  EXPECT_EQ(run(graph, {f32({1, 2, 2}, {-1, -1, -1, 1}), f32({2}, {2, 3})})[0].to_floats(), (Floats{-2, -2, -3, 1}));
}

TEST(OnnxClip, ConstantBoundsBecomeAttributes) {
  const Graph graph = graph_of(OneNode("Clip", 13, {"f32[3]"}).constant({0}, {}).constant({6}, {}));
  ASSERT_EQ(graph.nodes().size(), 1u);
  EXPECT_EQ(graph.node(graph.nodes()[0]).attributes.get<double>("max"), 6);
  const Graph computed = graph_of(OneNode("Clip", 13, {"f32[3]", "f32[]", "f32[]"}));
  EXPECT_EQ(run(computed, {f32({3}, {-1, 2, 9}), f32({}, {0}), f32({}, {6})})[0].to_floats(), (Floats{0, 2, 6}));
}

TEST(OnnxGemm, OfWeightsIsRecognisedAsLinear) {
  for (const int64_t transposed : {0, 1}) {
    Graph graph = graph_of(OneNode("Gemm", 13, {"f32[B,2]"})
                               .constant({1, 2, 3, 4}, {2, 2})
                               .constant({10, 20}, {2})
                               .integer("transB", transposed));
    graph = find_def(passes::all(), "recognise_linear")->run(graph, {});
    ASSERT_EQ(graph.nodes().size(), 1u) << "transB " << transposed;
    EXPECT_STREQ(graph.node(graph.nodes()[0]).op->name, "linear");
    EXPECT_EQ(run(graph, {f32({1, 2}, {1, 1})})[0].to_floats(), transposed ? (Floats{13, 27}) : (Floats{14, 26}));
  }
}

TEST(OnnxEinsum, AProductOfTwoOperandsIsAMatmul) {
  const struct {
    const char* equation;
    std::vector<int64_t> a, b;
  } kCases[] = {
      {"ij,jk->ik", {2, 3}, {3, 4}},
      {"bqhd,bkhd->bhqk", {2, 3, 2, 4}, {2, 5, 2, 4}},
      {"bhqk,bkhd->bqhd", {2, 2, 3, 5}, {2, 5, 2, 4}},
      {"...ij,...jk->...ik", {2, 2, 3}, {2, 3, 2}},
      {"i,j->ji", {2}, {3}},
      {"ijx,kj", {2, 3, 4}, {5, 3}},
      {"ij,ij->", {2, 3}, {2, 3}},
      {"ai,bi->i", {2, 3}, {4, 3}},
  };
  for (const auto& [equation, a, b] : kCases) {
    SCOPED_TRACE(equation);
    const std::string left = to_string(TensorType{.dtype = DType::f32, .shape = to_shape(a), .format = {}}),
                      right = to_string(TensorType{.dtype = DType::f32, .shape = to_shape(b), .format = {}});
    const Graph graph = graph_of(OneNode("Einsum", 12, {left.c_str(), right.c_str()}).text("equation", equation));
    EXPECT_EQ(graph.nodes("matmul").size(), 1u);
    EXPECT_EQ(graph.nodes("einsum").size(), 0u);
    const std::vector<Tensor> inputs{counting(a), counting(b)};
    const Tensor* operands[] = {&inputs[0], &inputs[1]};
    const Tensor want = evaluate_node(ops::get("einsum"), operands, {{"equation", std::string(equation)}})[0];
    EXPECT_TRUE(run(graph, inputs)[0].same_bits(want));  // whole numbers: exact
  }
}

TEST(OnnxEinsum, DiagonalsAndBroadcastDimensionsStayOneOp) {
  const Graph diagonal = graph_of(OneNode("Einsum", 12, {"f32[2,2]", "f32[2]"}).text("equation", "ii,i->i"));
  EXPECT_EQ(diagonal.nodes("einsum").size(), 1u);
  const Graph stretched = graph_of(OneNode("Einsum", 12, {"f32[1,2]", "f32[3,2]"}).text("equation", "ij,ij->ij"));
  EXPECT_EQ(stretched.nodes("einsum").size(), 1u);
}

TEST(OnnxReduce, LogSumExpOfInfinities) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Graph graph = graph_of(OneNode("ReduceLogSumExp", 13, {"f32[3,2]"}).integer("keepdims", 0));
  const Graph rows = graph_of(OneNode("ReduceLogSumExp", 18, {"f32[N,2]"}));
  EXPECT_FLOAT_EQ(run(graph, {f32({3, 2}, {1000, 1000, -kInfinity, 0, 0, 0})})[0].to_floats()[0],
                  1000 + std::log(2.0f));
  EXPECT_EQ(run(rows, {f32({1, 2}, {-kInfinity, -kInfinity})})[0].to_floats(), (Floats{-kInfinity}));
  EXPECT_EQ(run(rows, {f32({1, 2}, {kInfinity, 0})})[0].to_floats(), (Floats{kInfinity}));
}

TEST(OnnxLayerNormalisation, OverSeveralAxesWithAScaleThatBroadcasts) {
  const Graph graph = graph_of(OneNode("LayerNormalization", 17, {"f32[B,2,2]", "f32[2]"}, 3).integer("axis", 1));
  const std::vector<Tensor> y = run(graph, {f32({1, 2, 2}, {1, 3, 3, 1}), f32({2}, {1, 10})});
  EXPECT_NEAR(y[0].to_floats()[0], -1, 1e-4);
  EXPECT_NEAR(y[0].to_floats()[1], 10, 1e-3);
  EXPECT_EQ(y[1].to_floats(), (Floats{2}));
  EXPECT_EQ(y[1].shape(), (std::vector<int64_t>{1, 1, 1}));
  EXPECT_NEAR(y[2].to_floats()[0], 1, 1e-4);
}

TEST(OnnxDropout, IsNothingInInferenceAndUnsupportedInTraining) {
  const Graph graph = graph_of(OneNode("Dropout", 13, {"f32[B,2]"}, 2));
  const std::vector<Tensor> y = run(graph, {f32({1, 2}, {1, 2})});
  EXPECT_EQ(y[0].to_floats(), (Floats{1, 2}));
  EXPECT_EQ(y[1].to_integers(), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(y[1].dtype(), DType::boolean);
  const OnnxImport training = OneNode("Dropout", 13, {"f32[2]"}).constant({0.5f}, {}).constant(true).import();
  ASSERT_EQ(training.unsupported.size(), 1u);
  EXPECT_NE(training.unsupported[0].reason.find("training_mode is true"), std::string::npos);
}

std::string import_error(const OneNode& node) {
  try {
    node.import();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(OnnxPoints, AxesOutsideTheTensorAreErrors) {
  constexpr int64_t kFar = std::numeric_limits<int64_t>::min() + 1;
  for (const char* op : {"Softmax", "Hardmax", "LogSoftmax", "LpNormalization", "ArgMax"})
    for (int opset : {11, 13})
      EXPECT_NE(import_error(OneNode(op, opset, {"f32[2,3]"}).integer("axis", kFar)).find("does not exist"),
                std::string::npos)
          << op << " of opset " << opset;
  EXPECT_NE(import_error(OneNode("Add", 6, {"f32[2,3]", "f32[2]"}).integer("axis", kFar)).find("does not fit"),
            std::string::npos);
  EXPECT_NE(import_error(OneNode("LayerNormalization", 17, {"f32[2,3]", "f32[3]"}).integer("axis", 2)).find("axis 2"),
            std::string::npos);
}

}  // namespace
}  // namespace hone
