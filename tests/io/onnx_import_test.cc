// What the importer makes of a model's structure: names, scopes, control flow, functions, shapes; and what it refuses.
#include "io/onnx/import_model.h"

#include <gtest/gtest.h>

#include "io/onnx/onnx.pb.h"
#include "io/onnx/tensors.h"
#include "ir/text.h"
#include "ops/evaluate.h"
#include "tests/io/temporary_folder.h"

namespace hone {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;

// Builds a message step by step: a graph takes nodes by operator, inputs and outputs.
NodeProto& add_node(google::protobuf::RepeatedPtrField<NodeProto>& nodes, const char* op,
                    std::initializer_list<const char*> inputs, std::initializer_list<const char*> outputs) {
  NodeProto& node = *nodes.Add();
  node.set_op_type(op);
  for (const char* name : inputs) node.add_input(name);
  for (const char* name : outputs) node.add_output(name);
  return node;
}

void add_input(GraphProto& graph, const char* name, int32_t data_type, const std::vector<std::string>& dims) {
  onnx::ValueInfoProto& input = *graph.add_input();
  input.set_name(name);
  auto& tensor = *input.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(data_type);
  tensor.mutable_shape();
  for (const std::string& dim : dims) {
    auto& added = *tensor.mutable_shape()->add_dim();
    if (dim.find_first_not_of("-0123456789") == std::string::npos && !dim.empty()) added.set_dim_value(std::stoll(dim));
    else if (!dim.empty()) added.set_dim_param(dim);
  }
}

void add_output(GraphProto& graph, const char* name) { graph.add_output()->set_name(name); }

void add_attribute(NodeProto& node, const char* name, int64_t value) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::INT);
  attribute.set_i(value);
}

GraphProto& add_graph(NodeProto& node, const char* name) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::GRAPH);
  return *attribute.mutable_g();
}

void add_integers(GraphProto& graph, const char* name, const std::vector<int64_t>& values) {
  TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(TensorProto::INT64);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  for (int64_t value : values) tensor.add_int64_data(value);
}

ModelProto model_of_opset(int version) {
  ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(version);
  model.mutable_graph()->set_name("g");
  return model;
}

OnnxImport import_message(const ModelProto& model) { return import_onnx_bytes(model.SerializeAsString(), "m.onnx"); }
std::string import_error(const ModelProto& model) {
  return error_of([&] { import_message(model); });
}

ModelProto two_adds() {
  ModelProto model = model_of_opset(13);
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", TensorProto::FLOAT, {"N", "3"});
  add_node(*graph.mutable_node(), "Add", {"x", "x"}, {"y"});
  add_node(*graph.mutable_node(), "Relu", {"y"}, {"z"});
  add_output(graph, "z");
  return model;
}

Tensor floats(std::vector<int64_t> shape, const std::vector<float>& values) {
  return Tensor::of<float>(std::move(shape), values);
}

// --- structure -------------------------------------------------------------------------------------------------------

TEST(OnnxImport, KeepsNamesAndSymbolicSizes) {
  const OnnxImport import = import_message(two_adds());
  const Graph& graph = import.graph;
  EXPECT_EQ(to_string(graph.type(graph.inputs()[0])), "f32[N,3]");
  EXPECT_NE(graph.find_value("y"), kNone);
  EXPECT_EQ(graph.outputs()[0].label, "z");
  EXPECT_EQ(evaluate(graph, {{"x", floats({1, 3}, {1, -2, 3})}})[0].to_floats(), (std::vector<float>{2, 0, 6}));
}

TEST(OnnxImport, NamesOfSizesThatAreNoSymbolsAreMadeSome) {
  ModelProto model = two_adds();
  model.mutable_graph()->clear_input();
  add_input(*model.mutable_graph(), "x", TensorProto::FLOAT, {"dyn.0", "?", "", "past + 1"});
  const OnnxImport import = import_message(model);
  EXPECT_EQ(to_string(import.graph.type(import.graph.inputs()[0])), "f32[dyn_0,x_1,x_2,past+1]");
}

TEST(OnnxImport, AnInitializerWinsOverAnInputOfItsName) {
  ModelProto model = two_adds();
  GraphProto& graph = *model.mutable_graph();
  graph.mutable_node(0)->set_input(1, "w");
  add_input(graph, "w", TensorProto::FLOAT, {"1"});
  TensorProto& w = *graph.add_initializer();
  w.set_name("w");
  w.set_data_type(TensorProto::FLOAT);
  w.add_dims(1);
  w.add_float_data(5);
  const OnnxImport import = import_message(model);
  ASSERT_EQ(import.graph.inputs().size(), 1u);
  EXPECT_EQ(evaluate(import.graph, {{"x", floats({1, 3}, {1, 2, 3})}})[0].to_floats(), (std::vector<float>{6, 7, 8}));
}

TEST(OnnxImport, FollowsShapesSoThatAReshapeStaysSymbolic) {
  ModelProto model = model_of_opset(13);
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", TensorProto::FLOAT, {"B", "S", "8"});
  add_integers(graph, "zero", {0});
  add_integers(graph, "rest", {-1});
  add_node(*graph.mutable_node(), "Shape", {"x"}, {"shape"});
  add_node(*graph.mutable_node(), "Gather", {"shape", "zero"}, {"batch"});
  add_attribute(add_node(*graph.mutable_node(), "Concat", {"batch", "rest"}, {"target"}), "axis", 0);
  add_node(*graph.mutable_node(), "Reshape", {"x", "target"}, {"y"});
  add_output(graph, "y");
  const OnnxImport import = import_message(model);
  EXPECT_EQ(to_string(import.graph.type(import.graph.outputs()[0].value)), "f32[B,8*S]") << print(import.graph);
}

// Pads as torch.nn.functional.pad is exported: for each axis before and after, the last axis first, turned around in a
// matrix of two columns.
TEST(OnnxImport, FollowsTheSizesOfWindowsThroughPadsThatAreComputed) {
  for (const auto& [height, padded] : {std::pair("4", "f32[B,6]"), {"H", "f32[B,-3*((2*H)/3)+3*H]"}}) {
    ModelProto model = model_of_opset(17);
    GraphProto& graph = *model.mutable_graph();
    add_input(graph, "x", TensorProto::FLOAT, {"B", height});
    add_integers(graph, "zero", {0});
    add_integers(graph, "one", {1});
    add_integers(graph, "three", {3});
    add_integers(graph, "no_pads", {0, 0});
    add_integers(graph, "pairs", {-1, 2});
    add_integers(graph, "flat", {-1});
    add_integers(graph, "last", {-1});
    add_integers(graph, "before_first", {-9});
    auto& nodes = *graph.mutable_node();
    add_node(nodes, "Shape", {"x"}, {"shape"});
    add_node(nodes, "Gather", {"shape", "one"}, {"height"});
    add_node(nodes, "Neg", {"height"}, {"negative"});
    add_node(nodes, "Mod", {"negative", "three"}, {"after"});
    add_attribute(add_node(nodes, "Concat", {"zero", "after", "no_pads"}, {"listed"}), "axis", 0);
    add_node(nodes, "Reshape", {"listed", "pairs"}, {"matrix"});
    add_node(nodes, "Slice", {"matrix", "last", "before_first", "zero", "last"}, {"turned"});
    add_node(nodes, "Transpose", {"turned"}, {"columns"});
    add_node(nodes, "Reshape", {"columns", "flat"}, {"pads"});
    add_node(nodes, "Pad", {"x", "pads"}, {"padded"});
    add_node(nodes, "Add", {"height", "after"}, {"whole"});
    add_node(nodes, "Div", {"whole", "three"}, {"windows"});
    add_attribute(add_node(nodes, "Concat", {"flat", "windows", "three"}, {"parts"}), "axis", 0);
    add_node(nodes, "Reshape", {"padded", "parts"}, {"y"});
    add_output(graph, "padded");
    add_output(graph, "y");
    const Graph read = import_message(model).graph;
    EXPECT_EQ(to_string(read.type(read.outputs()[0].value)), padded) << print(read);
    const std::vector<Tensor> y = evaluate(read, {{"x", floats({1, 4}, {1, 2, 3, 4})}});
    EXPECT_EQ(y[1].shape(), (std::vector<int64_t>{1, 2, 3}));
    EXPECT_EQ(y[1].to_floats(), (std::vector<float>{1, 2, 3, 4, 0, 0}));
  }
}

TEST(OnnxImport, ABranchThatSizesDecideIsTheOnlyOneThatStays) {
  ModelProto model = model_of_opset(17);
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", TensorProto::FLOAT, {"B", "4"});
  add_integers(graph, "one", {1});
  add_integers(graph, "seven", {7});
  auto& nodes = *graph.mutable_node();
  add_node(nodes, "Shape", {"x"}, {"shape"});
  add_node(nodes, "Gather", {"shape", "one"}, {"size"});
  add_node(nodes, "Add", {"size", "size"}, {"twice"});
  add_node(nodes, "Sub", {"twice", "one"}, {"distances"});
  add_node(nodes, "Equal", {"distances", "seven"}, {"same"});
  NodeProto& choice = add_node(nodes, "If", {"same"}, {"y"});
  for (const auto& [branch, op] : {std::pair("then_branch", "Abs"), {"else_branch", "Neg"}}) {
    GraphProto& body = add_graph(choice, branch);
    add_node(*body.mutable_node(), op, {"x"}, {"chosen"});
    add_output(body, "chosen");
  }
  add_output(graph, "y");
  const Graph read = import_message(model).graph;
  EXPECT_TRUE(read.nodes("if").empty());
  EXPECT_EQ(read.nodes("abs").size(), 1u) << print(read);
}

TEST(OnnxImport, ABodyCapturesWhatIsAroundIt) {
  ModelProto model = model_of_opset(13);
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "c", TensorProto::BOOL, {});
  add_input(graph, "x", TensorProto::FLOAT, {"3"});
  NodeProto& choice = add_node(*graph.mutable_node(), "If", {"c"}, {"y"});
  GraphProto& yes = add_graph(choice, "then_branch");
  add_node(*yes.mutable_node(), "Neg", {"x"}, {"r"});
  add_output(yes, "r");
  GraphProto& no = add_graph(choice, "else_branch");
  add_node(*no.mutable_node(), "Add", {"x", "x"}, {"r"});
  add_output(no, "r");
  add_output(graph, "y");
  const OnnxImport import = import_message(model);
  verify(import.graph);
  const Tensor x = floats({3}, {1, 2, 3});
  EXPECT_EQ(evaluate(import.graph, {{"c", Tensor::scalar(true)}, {"x", x}})[0].to_floats(),
            (std::vector<float>{-1, -2, -3}));
  EXPECT_EQ(evaluate(import.graph, {{"c", Tensor::scalar(false)}, {"x", x}})[0].to_floats(),
            (std::vector<float>{2, 4, 6}));
}

// --- tensors of the file ---------------------------------------------------------------------------------------------

void set_floats(TensorProto& tensor, const std::vector<float>& values) {
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  for (float value : values) tensor.add_float_data(value);
}

void add_floats(GraphProto& graph, const char* name, const std::vector<float>& values) {
  set_floats(*graph.add_initializer(), values);
  graph.mutable_initializer()->rbegin()->set_name(name);
}

// However few numbers they are, weights have names; what is computed of them stays a node.
TEST(OnnxImport, SmallWeightsKeepTheirNamesThroughMoves) {
  ModelProto model = model_of_opset(13);
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", TensorProto::FLOAT, {"N", "3", "2"});
  NodeProto& constant = add_node(*graph.mutable_node(), "Constant", {}, {"shift"});
  AttributeProto& value = *constant.add_attribute();
  value.set_name("value");
  value.set_type(AttributeProto::TENSOR);
  set_floats(*value.mutable_t(), {0, 0});
  add_floats(graph, "scale", {1, 1, 1});
  add_integers(graph, "last", {1});
  add_node(*graph.mutable_node(), "Unsqueeze", {"scale", "last"}, {"column"});
  add_node(*graph.mutable_node(), "Mul", {"x", "column"}, {"scaled"});
  add_node(*graph.mutable_node(), "Add", {"scaled", "shift"}, {"y"});
  add_output(graph, "y");
  const Graph read = import_message(model).graph;
  EXPECT_NE(read.find_constant("scale"), kNone);
  EXPECT_NE(read.find_constant("shift"), kNone);
  EXPECT_EQ(read.nodes("unsqueeze").size(), 1u);
}

// PyTorch stores equal weights once, and names the others by an Identity.
TEST(OnnxImport, AnIdentityOfAFreshWeightIsAWeightAndOfAnotherIsShared) {
  ModelProto model = model_of_opset(17);
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", TensorProto::FLOAT, {"2", "2"});
  *graph.add_initializer() = onnx::to_proto(floats({2}, {1, 1}), "first.scale");
  *graph.add_initializer() = onnx::to_proto(floats({2, 2}, {1, 2, 3, 4}), "table");
  add_node(*graph.mutable_node(), "Identity", {"first.scale"}, {"second.scale"});
  add_node(*graph.mutable_node(), "Identity", {"table"}, {"head"});
  add_node(*graph.mutable_node(), "MatMul", {"x", "table"}, {"a"});
  add_node(*graph.mutable_node(), "LayerNormalization", {"a", "first.scale"}, {"b"});
  add_node(*graph.mutable_node(), "MatMul", {"b", "head"}, {"c"});
  add_node(*graph.mutable_node(), "LayerNormalization", {"c", "second.scale"}, {"y"});
  add_output(graph, "y");
  const Graph read = import_message(model).graph;
  EXPECT_NE(read.find_constant("second.scale"), kNone);
  EXPECT_EQ(read.find_constant("head"), kNone);
  EXPECT_EQ(read.use_count(read.find_constant("table")), 2);
}

TEST(OnnxImport, SizesThatAreComputedFromTensorsOfTheFileAreKnown) {
  ModelProto model = model_of_opset(13);
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", TensorProto::FLOAT, {"N", "1", "4", "4"});
  add_floats(graph, "ones", {1, 1});
  add_floats(graph, "twos", {2, 2});
  add_attribute(add_node(*graph.mutable_node(), "Concat", {"ones", "twos"}, {"scales"}), "axis", 0);
  add_node(*graph.mutable_node(), "Resize", {"x", "", "scales"}, {"y"});
  add_output(graph, "y");
  const Graph read = import_message(model).graph;
  EXPECT_EQ(to_string(read.type(read.outputs()[0].value)), "f32[N,1,8,8]");
}

TEST(OnnxImport, BodiesCaptureSmallWeights) {
  ModelProto model = model_of_opset(13);
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "c", TensorProto::BOOL, {});
  add_input(graph, "x", TensorProto::FLOAT, {"N", "3"});
  add_floats(graph, "bias", {0, 0, 0});
  NodeProto& branch = add_node(*graph.mutable_node(), "If", {"c"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    GraphProto& body = add_graph(branch, name);
    add_node(*body.mutable_node(), "Add", {"x", "bias"}, {"sum"});
    add_output(body, "sum");
  }
  add_output(graph, "y");
  const Graph read = import_message(model).graph;
  const ValueId bias = read.find_constant("bias");
  ASSERT_NE(bias, kNone);
  EXPECT_EQ(read.use_count(bias), 2) << "captured by both";
}

TEST(OnnxImport, ALoopWhoseValueGrowsHasNoFixedSize) {
  ModelProto model = model_of_opset(13);
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "n", TensorProto::INT64, {});
  add_input(graph, "x", TensorProto::FLOAT, {"2"});
  NodeProto& loop = add_node(*graph.mutable_node(), "Loop", {"n", "", "x"}, {"y"});
  GraphProto& body = add_graph(loop, "body");
  add_input(body, "i", TensorProto::INT64, {});
  add_input(body, "go", TensorProto::BOOL, {});
  add_input(body, "v", TensorProto::FLOAT, {});
  add_node(*body.mutable_node(), "Identity", {"go"}, {"go_on"});
  add_attribute(add_node(*body.mutable_node(), "Concat", {"v", "x"}, {"longer"}), "axis", 0);
  add_output(body, "go_on");
  add_output(body, "longer");
  add_output(graph, "y");
  const OnnxImport import = import_message(model);
  verify(import.graph);
  const std::map<std::string, Tensor> inputs{{"n", Tensor::scalar<int64_t>(2)}, {"x", floats({2}, {1, 2})}};
  EXPECT_EQ(evaluate(import.graph, inputs)[0].to_floats(), (std::vector<float>{1, 2, 1, 2, 1, 2}));
}

// As PyTorch writes tensor_split: a loop that fills a sequence with slices, of which one is normalised.
TEST(OnnxImport, ItemsOfASequenceThatALoopFillsHaveARank) {
  ModelProto model = model_of_opset(17);
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", TensorProto::FLOAT, {"2", "S", "4"});
  add_input(graph, "n", TensorProto::INT64, {});
  add_node(*graph.mutable_node(), "SequenceEmpty", {}, {"none"});
  NodeProto& loop = add_node(*graph.mutable_node(), "Loop", {"n", "", "none"}, {"parts"});
  GraphProto& body = add_graph(loop, "body");
  add_input(body, "i", TensorProto::INT64, {});
  add_input(body, "go", TensorProto::BOOL, {});
  add_input(body, "before", TensorProto::FLOAT, {});
  add_integers(body, "one", {1});
  add_node(*body.mutable_node(), "Identity", {"go"}, {"go_on"});
  add_node(*body.mutable_node(), "Unsqueeze", {"i", "axis"}, {"start"});
  add_integers(body, "axis", {0});
  add_node(*body.mutable_node(), "Add", {"start", "one"}, {"end"});
  add_node(*body.mutable_node(), "Slice", {"x", "start", "end", "one"}, {"slice"});
  add_node(*body.mutable_node(), "SequenceInsert", {"before", "slice"}, {"after"});
  add_output(body, "go_on");
  add_output(body, "after");
  add_integers(graph, "last", {-1});
  add_integers(graph, "no_axes", {0});
  add_node(*graph.mutable_node(), "Squeeze", {"last", "no_axes"}, {"position"});
  add_node(*graph.mutable_node(), "SequenceAt", {"parts", "position"}, {"part"});
  *graph.add_initializer() = onnx::to_proto(floats({4}, {1, 1, 1, 1}), "scale");
  add_node(*graph.mutable_node(), "LayerNormalization", {"part", "scale"}, {"y"});
  add_output(graph, "y");
  const OnnxImport import = import_message(model);
  ASSERT_TRUE(import.unsupported.empty()) << import.unsupported[0].reason;
  verify(import.graph);
  const std::map<std::string, Tensor> inputs{{"n", Tensor::scalar<int64_t>(2)},
                                             {"x", floats({2, 2, 4}, {0, 0, 0, 0, 3, 3, -3, -3,  //
                                                                      0, 0, 0, 0, 5, -5, 5, -5})}};
  const Tensor y = evaluate(import.graph, inputs)[0];
  EXPECT_EQ(y.shape(), (std::vector<int64_t>{2, 1, 4}));
  const std::vector<float> signs{1, 1, -1, -1, 1, -1, 1, -1};
  for (size_t i = 0; i < signs.size(); ++i) EXPECT_NEAR(y.to_floats()[i], signs[i], 1e-5);
}

TEST(OnnxImport, AFunctionIsInlinedWithTheAttributesOfItsCall) {
  ModelProto model = model_of_opset(13);
  model.add_opset_import()->set_domain("mine");
  model.mutable_opset_import(1)->set_version(1);
  onnx::FunctionProto& function = *model.add_functions();
  function.set_domain("mine");
  function.set_name("Leak");
  function.add_input("a");
  function.add_output("b");
  function.add_attribute("slope");
  NodeProto& inner = add_node(*function.mutable_node(), "LeakyRelu", {"a"}, {"b"});
  AttributeProto& alpha = *inner.add_attribute();
  alpha.set_name("alpha");
  alpha.set_type(AttributeProto::FLOAT);
  alpha.set_ref_attr_name("slope");
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", TensorProto::FLOAT, {"2"});
  NodeProto& call = add_node(*graph.mutable_node(), "Leak", {"x"}, {"y"});
  call.set_domain("mine");
  AttributeProto& slope = *call.add_attribute();
  slope.set_name("slope");
  slope.set_type(AttributeProto::FLOAT);
  slope.set_f(0.5f);
  add_output(graph, "y");
  EXPECT_EQ(evaluate(import_message(model).graph, {{"x", floats({2}, {-4, 4})}})[0].to_floats(),
            (std::vector<float>{-2, 4}));
}

// --- refusals --------------------------------------------------------------------------------------------------------

TEST(OnnxImport, ListsEveryNodeThatIsNotSupportedAtOnce) {
  ModelProto model = two_adds();
  GraphProto& graph = *model.mutable_graph();
  add_node(*graph.mutable_node(), "Frobnicate", {"z"}, {"p"}).set_name("first");
  add_node(*graph.mutable_node(), "Relu", {"p"}, {"q"});
  add_node(*graph.mutable_node(), "Twiddle", {"y"}, {"r"}).set_name("second");
  const OnnxImport import = import_message(model);
  ASSERT_EQ(import.unsupported.size(), 2u) << "the node that only reads a missing value is not listed";
  EXPECT_EQ(import.unsupported[0].node, "first");
  EXPECT_EQ(import.unsupported[1].op_type, "Twiddle");
  const std::string text = unsupported_text("m.onnx", import.unsupported);
  EXPECT_NE(text.find("Frobnicate"), std::string::npos);
  EXPECT_NE(text.find("hone doctor m.onnx"), std::string::npos);
}

TEST(OnnxImport, FaultsOfStructureNameTheNode) {
  ModelProto undefined = two_adds();
  undefined.mutable_graph()->mutable_node(0)->set_input(1, "nowhere");
  EXPECT_NE(import_error(undefined).find("m.onnx: node \"y\" (Add): reads \"nowhere\""), std::string::npos)
      << import_error(undefined);

  ModelProto cyclic = two_adds();
  cyclic.mutable_graph()->mutable_node(0)->set_input(1, "z");
  EXPECT_NE(import_error(cyclic).find("reads \"z\""), std::string::npos);

  ModelProto twice = two_adds();
  twice.mutable_graph()->mutable_node(1)->set_output(0, "y");
  EXPECT_NE(import_error(twice).find("\"y\" is defined twice"), std::string::npos);

  ModelProto no_output = two_adds();
  no_output.mutable_graph()->clear_output();
  EXPECT_NE(import_error(no_output).find("no outputs"), std::string::npos);

  ModelProto lost_output = two_adds();
  lost_output.mutable_graph()->mutable_output(0)->set_name("elsewhere");
  EXPECT_NE(import_error(lost_output).find("elsewhere"), std::string::npos);
}

TEST(OnnxImport, FaultsOfTypesNameTheNodeAndShowTheTypes) {
  ModelProto model = two_adds();
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "w", TensorProto::FLOAT, {"4"});
  graph.mutable_node(0)->set_input(1, "w");
  const std::string why = import_error(model);
  EXPECT_NE(why.find("(Add)"), std::string::npos) << why;
  EXPECT_NE(why.find("[N,3]"), std::string::npos) << why;
  EXPECT_NE(why.find("[4]"), std::string::npos) << why;
}

TEST(OnnxImport, AnOpsetFromTheFutureIsAnErrorThatSaysWhatToDo) {
  ModelProto model = two_adds();
  model.mutable_opset_import(0)->set_version(99);
  EXPECT_NE(import_error(model).find("opset_version=28"), std::string::npos);
}

TEST(OnnxImport, AttributesOfTheWrongKindAndFunctionsThatCallThemselvesAreErrors) {
  ModelProto model = model_of_opset(13);
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", TensorProto::FLOAT, {"2"});
  add_attribute(add_node(*graph.mutable_node(), "LeakyRelu", {"x"}, {"y"}), "alpha", 1);
  add_output(graph, "y");
  EXPECT_NE(import_error(model).find("attribute alpha is integer; expected float"), std::string::npos)
      << import_error(model);

  onnx::FunctionProto& function = *model.add_functions();
  function.set_domain("mine");
  function.set_name("Again");
  function.add_input("a");
  function.add_output("b");
  add_node(*function.mutable_node(), "Again", {"a"}, {"b"}).set_domain("mine");
  graph.clear_node();
  add_node(*graph.mutable_node(), "Again", {"x"}, {"y"}).set_domain("mine");
  EXPECT_NE(import_error(model).find("calls itself"), std::string::npos) << import_error(model);
}

}  // namespace
}  // namespace hone
