// Models that are made to break an importer: sizes, axes, ranks and counts that no exporter writes, and small files
// that ask for much work.
#include <gtest/gtest.h>

#include <limits>

#include "io/onnx/import_model.h"
#include "io/onnx/onnx.pb.h"
#include "tests/io/temporary_folder.h"

namespace hone {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;

constexpr int32_t kFloat = TensorProto::FLOAT, kInt64 = TensorProto::INT64, kUint8 = TensorProto::UINT8;

void add_attribute(NodeProto& node, const std::string& name, int64_t value) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::INT);
  attribute.set_i(value);
}

void add_input(GraphProto& graph, const std::string& name, int32_t type, const std::vector<int64_t>& dims) {
  onnx::ValueInfoProto& input = *graph.add_input();
  input.set_name(name);
  input.mutable_type()->mutable_tensor_type()->set_elem_type(type);
  auto& shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int64_t dim : dims) shape.add_dim()->set_dim_value(dim);
}

NodeProto& add_node(google::protobuf::RepeatedPtrField<NodeProto>& nodes, const std::string& op,
                    const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  NodeProto& node = *nodes.Add();
  node.set_op_type(op);
  for (const std::string& name : inputs) node.add_input(name);
  for (const std::string& name : outputs) node.add_output(name);
  return node;
}

ModelProto model_of_opset(int version) {
  ModelProto model;
  model.set_ir_version(10);
  model.add_opset_import()->set_version(version);
  model.mutable_graph()->set_name("g");
  model.mutable_graph()->add_output()->set_name("y");
  return model;
}

std::string outcome(const ModelProto& model) {
  try {
    const OnnxImport import = import_onnx_bytes(model.SerializeAsString(), "m.onnx");
    return import.unsupported.empty() ? "imported" : import.unsupported[0].reason;
  } catch (const Error& error) {
    return error.what();
  }
}

using Dims = std::vector<int64_t>;
struct Given {
  int32_t type;
  Dims dims;
  bool constant = false;  // filled with zeros
};
using Attributes = std::vector<std::pair<std::string, int64_t>>;

// A model of one node with these inputs a, b, c, ...
std::string outcome_of_node(const std::string& op, const std::string& domain, const std::vector<Given>& given,
                            const Attributes& attributes = {}, int opset = 23) {
  ModelProto model = model_of_opset(opset);
  GraphProto& graph = *model.mutable_graph();
  NodeProto& node = add_node(*graph.mutable_node(), op, {}, {"y"});
  node.set_domain(domain);
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    node.add_input(given[i].type == 0 ? "" : name);
    if (given[i].type == 0) continue;
    if (!given[i].constant) {
      add_input(graph, name, given[i].type, given[i].dims);
      continue;
    }
    TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(given[i].type);
    int64_t bytes = given[i].type == kUint8 ? 1 : given[i].type == kInt64 ? 8 : 4;
    for (int64_t dim : given[i].dims) tensor.add_dims(dim), bytes *= dim;
    tensor.set_raw_data(std::string(static_cast<size_t>(bytes), '\0'));
  }
  for (const auto& [name, value] : attributes) add_attribute(node, name, value);
  return outcome(model);
}

void expect_refused(const std::string& outcome, const std::string& part) {
  EXPECT_NE(outcome.find(part), std::string::npos) << "found: " << outcome << "\nexpected: " << part;
}

constexpr const char* kMicrosoft = "com.microsoft";
const Given kAbsent{.type = 0, .dims = {}};

TEST(OnnxHostile, CountsAndBlocksOfZero) {
  const Given x{kFloat, {2, 32}}, codes{kUint8, {4, 1, 16}, true}, scales{kFloat, {4}, true};
  for (const char* name : {"N", "K", "block_size"}) {
    Attributes attributes{{"N", 4}, {"K", 32}, {"block_size", 32}};
    for (auto& [known, value] : attributes)
      if (known == name) value = 0;
    expect_refused(outcome_of_node("MatMulNBits", kMicrosoft, {x, codes, scales}, attributes), name);
    for (auto& [known, value] : attributes)
      if (known == name) value = int64_t{1} << 62;
    expect_refused(outcome_of_node("MatMulNBits", kMicrosoft, {x, codes, scales}, attributes), name);
  }
  expect_refused(
      outcome_of_node("MatMulNBits", kMicrosoft, {x, codes, scales}, {{"N", 4}, {"K", 32}, {"block_size", 1}}),
      "multiples of 2");
  const Given table{kUint8, {4, 16}, true}, index{kInt64, {1}};
  expect_refused(outcome_of_node("GatherBlockQuantized", kMicrosoft, {table, index, scales}, {{"block_size", 0}}),
                 "block_size");
  expect_refused(outcome_of_node("GatherBlockQuantized", kMicrosoft, {{kUint8, {4, 0}, true}, index, scales}),
                 "expected codes");
  expect_refused(outcome_of_node("GatherBlockQuantized", kMicrosoft, {{kUint8, {}, true}, index, scales}), "axis");
  expect_refused(outcome_of_node("DequantizeLinear", "", {codes, {kFloat, {4, 1, 1}, true}}, {{"block_size", -1}}),
                 "block_size");
  expect_refused(outcome_of_node("GroupNormalization", "", {{kFloat, {1, 4, 2}}, {kFloat, {4}}, {kFloat, {4}}},
                                 {{"num_groups", 0}}),
                 "num_groups");
  expect_refused(outcome_of_node("DepthToSpace", "", {{kFloat, {1, 4, 2, 2}}}, {{"blocksize", int64_t{1} << 32}}),
                 "blocksize");
  expect_refused(outcome_of_node("LRN", "", {{kFloat, {1, 4, 2, 2}}}, {{"size", 0}}), "size");
}

TEST(OnnxHostile, RanksAndHeadsOfAttention) {
  for (const Dims& dims : {Dims{}, Dims{3}, Dims{2, 8}, Dims{2, 3, 8}, Dims{1, 2, 3, 4}, Dims{1, 2, 3, 4, 5}}) {
    const Given x{kFloat, dims}, ids{kInt64, dims};
    const std::vector<Given> many(12, x);
    for (int64_t heads : {int64_t{0}, int64_t{-1}, int64_t{2}, int64_t{1} << 62}) {
      const Attributes attributes{{"num_heads", heads},    {"kv_num_heads", heads}, {"q_num_heads", heads},
                                  {"do_rotary", 1},        {"is_causal", 1},        {"unidirectional", 1},
                                  {"local_window_size", 1}};
      for (size_t count : {1, 2, 3, 4, 5, 6, 7, 10}) {
        const std::vector<Given> given(many.begin(), many.begin() + static_cast<ptrdiff_t>(count));
        for (const char* op : {"Attention", "MultiHeadAttention", "GroupQueryAttention"})
          (void)outcome_of_node(op, kMicrosoft, given, attributes);
        (void)outcome_of_node("Attention", "", given, attributes);
      }
      (void)outcome_of_node("RotaryEmbedding", "", {x, x, x}, attributes);
      (void)outcome_of_node("RotaryEmbedding", kMicrosoft, {x, ids, x, x}, attributes);
    }
  }
  const Given q{kFloat, {1, 2, 8}};
  expect_refused(outcome_of_node("GroupQueryAttention", kMicrosoft, {{kFloat, {8}}, {kFloat, {8}}, {kFloat, {8}}},
                                 {{"num_heads", 2}, {"kv_num_heads", 2}}),
                 "expected 3 dimensions");
  expect_refused(outcome_of_node("Attention", "", {q, q, q, kAbsent, {kFloat, {}}, {kFloat, {}}},
                                 {{"q_num_heads", 2}, {"kv_num_heads", 2}}),
                 "concat");
  expect_refused(outcome_of_node("MultiHeadAttention", kMicrosoft, {q, q, q}, {{"num_heads", 0}}), "num_heads");
}

// Whatever the ranks and sizes, an answer comes back.
TEST(OnnxHostile, EveryRankOfEveryInput) {
  const std::pair<const char*, const char*> operators[] = {{"Split", ""},
                                                           {"Flatten", ""},
                                                           {"Trilu", ""},
                                                           {"EyeLike", ""},
                                                           {"GlobalLpPool", ""},
                                                           {"GlobalAveragePool", ""},
                                                           {"Hardmax", ""},
                                                           {"Softmax", ""},
                                                           {"LayerNormalization", ""},
                                                           {"InstanceNormalization", ""},
                                                           {"GroupNormalization", ""},
                                                           {"BatchNormalization", ""},
                                                           {"LRN", ""},
                                                           {"Gemm", ""},
                                                           {"MatMul", ""},
                                                           {"MatMulInteger", ""},
                                                           {"ConvInteger", ""},
                                                           {"QLinearMatMul", ""},
                                                           {"QLinearConv", ""},
                                                           {"DepthToSpace", ""},
                                                           {"SpaceToDepth", ""},
                                                           {"Transpose", ""},
                                                           {"Resize", ""},
                                                           {"Upsample", ""},
                                                           {"Conv", ""},
                                                           {"ConvTranspose", ""},
                                                           {"DeformConv", ""},
                                                           {"LSTM", ""},
                                                           {"GRU", ""},
                                                           {"OneHot", ""},
                                                           {"Slice", ""},
                                                           {"Pad", ""},
                                                           {"Tile", ""},
                                                           {"Expand", ""},
                                                           {"Reshape", ""},
                                                           {"Squeeze", ""},
                                                           {"Unsqueeze", ""},
                                                           {"TopK", ""},
                                                           {"Compress", ""},
                                                           {"Concat", ""},
                                                           {"Sum", ""},
                                                           {"Col2Im", ""},
                                                           {"GridSample", ""},
                                                           {"RoiAlign", ""},
                                                           {"MaxUnpool", ""},
                                                           {"CumSum", ""},
                                                           {"DFT", ""},
                                                           {"STFT", ""},
                                                           {"NonMaxSuppression", ""},
                                                           {"BiasSplitGelu", kMicrosoft},
                                                           {"BiasGelu", kMicrosoft},
                                                           {"EmbedLayerNormalization", kMicrosoft},
                                                           {"SkipLayerNormalization", kMicrosoft},
                                                           {"GroupNorm", kMicrosoft},
                                                           {"NhwcConv", kMicrosoft},
                                                           {"FusedMatMul", kMicrosoft},
                                                           {"FusedGemm", kMicrosoft},
                                                           {"QGemm", kMicrosoft},
                                                           {"QLinearSoftmax", kMicrosoft},
                                                           {"QLinearGlobalAveragePool", kMicrosoft},
                                                           {"DynamicQuantizeMatMul", kMicrosoft},
                                                           {"MatMulNBits", kMicrosoft},
                                                           {"GatherBlockQuantized", kMicrosoft}};
  const Attributes few{{"axis", 1}, {"layout", 1}, {"transA", 1}, {"transBatchA", 1}};
  Attributes odd;
  for (const char* name : {"axis", "blocksize", "block_size", "group", "groups", "num_groups", "size", "hidden_size",
                           "N", "K", "bits", "num_outputs", "k", "batch_axis", "quantize_axis", "gather_axis"})
    odd.emplace_back(name, std::numeric_limits<int64_t>::min());
  for (const auto& [op, domain] : operators)
    for (int32_t type : {kFloat, kUint8})
      for (const Dims& dims : {Dims{}, Dims{0}, Dims{2}, Dims{1, 2}, Dims{2, 1, 2}, Dims{1, 2, 2, 1}})
        for (size_t count : {1, 3, 9})
          for (bool constant : {false, true})
            for (const Attributes& attributes : {Attributes{}, few, odd})
              for (int opset : {6, 18})
                (void)outcome_of_node(op, domain, std::vector<Given>(count, {type, dims, constant}), attributes, opset);
}

TEST(OnnxHostile, AConstantOfShapeTakesOneNumber) {
  for (bool is_string : {false, true}) {
    ModelProto model = model_of_opset(21);
    add_input(*model.mutable_graph(), "x", kInt64, {1});
    NodeProto& node = add_node(*model.mutable_graph()->mutable_node(), "ConstantOfShape", {"x"}, {"y"});
    AttributeProto& value = *node.add_attribute();
    value.set_name("value");
    value.set_type(AttributeProto::TENSOR);
    value.mutable_t()->set_data_type(is_string ? TensorProto::STRING : kInt64);
    value.mutable_t()->add_dims(is_string ? 1 : 2);
    if (is_string) value.mutable_t()->add_string_data("a");
    else value.mutable_t()->add_int64_data(1), value.mutable_t()->add_int64_data(2);
    expect_refused(outcome(model), "expected one number");
  }
}

TEST(OnnxHostile, ListsThatOthersMeasure) {
  expect_refused(outcome_of_node("Reshape", "", {{kFloat, {4}}, {kInt64, {50'000'000}}}), "50000000 values");
  expect_refused(outcome_of_node("Slice", "", {{kFloat, {4}}, {kInt64, {50'000'000}}, {kInt64, {50'000'000}}}),
                 "starts");
  expect_refused(outcome_of_node("OneHot", "", {{kInt64, {4}}, {kInt64, {}}, {kFloat, {2}}},
                                 {{"axis", std::numeric_limits<int64_t>::min()}}),
                 "axis");
  expect_refused(outcome_of_node("Cast", "", {{kFloat, {4}}}, {{"to", (int64_t{1} << 32) + 1}}), "data type -1");
  expect_refused(outcome_of_node("Concat", "", {{kFloat, {4}}, kAbsent, {kFloat, {4}}}, {{"axis", 0}}), "absent");
  ModelProto model = model_of_opset(21);
  add_input(*model.mutable_graph(), "x", kFloat, {4});
  add_node(*model.mutable_graph()->mutable_node(), "Split", {"x"}, {});
  expect_refused(outcome(model), "the number of outputs is 0");
  ModelProto deep = model_of_opset(21);
  add_input(*deep.mutable_graph(), "x", kFloat, Dims(65, 1));
  expect_refused(outcome(deep), "65 dimensions");
}

// Shape of a scalar has no elements; what it is added to is known only as a symbol.
TEST(OnnxHostile, ArithmeticOfShapesWithoutElements) {
  ModelProto model = model_of_opset(21);
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {});
  onnx::ValueInfoProto& z = *graph.add_input();
  z.set_name("z");
  z.mutable_type()->mutable_tensor_type()->set_elem_type(kFloat);
  z.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_param("S");
  add_node(*graph.mutable_node(), "Shape", {"x"}, {"none"});
  add_node(*graph.mutable_node(), "Shape", {"z"}, {"one"});
  add_node(*graph.mutable_node(), "Add", {"none", "one"}, {"y"});
  EXPECT_EQ(outcome(model), "imported");
}

TEST(OnnxHostile, ALongNameOfADimensionBecomesAShortSymbol) {
  ModelProto model = model_of_opset(21);
  for (const char* name : {"x", "z"}) {
    onnx::ValueInfoProto& input = *model.mutable_graph()->add_input();
    input.set_name(name);
    input.mutable_type()->mutable_tensor_type()->set_elem_type(kFloat);
    auto& shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
    shape.add_dim()->set_dim_param(std::string(100'000, 'n'));
    shape.add_dim()->set_dim_param(std::string(100'000, 'n') + name);
  }
  add_node(*model.mutable_graph()->mutable_node(), "Identity", {"x"}, {"y"});
  const OnnxImport import = import_onnx_bytes(model.SerializeAsString(), "m.onnx");
  const Shape& x = import.graph.type(import.graph.inputs()[0]).shape;
  const Shape& z = import.graph.type(import.graph.inputs()[1]).shape;
  EXPECT_LT(x[0].to_string().size(), 100u);
  EXPECT_EQ(x[0], z[0]);
  EXPECT_NE(x[0], x[1]);
  EXPECT_NE(x[1], z[1]);
}

onnx::FunctionProto& add_function(ModelProto& model, const std::string& name) {
  onnx::FunctionProto& function = *model.add_functions();
  function.set_name(name);
  function.set_domain("f");
  function.add_input("a");
  function.add_output("b");
  return function;
}

TEST(OnnxHostile, FunctionsThatCallFunctionsAreBounded) {
  ModelProto model = model_of_opset(21);
  for (int i = 0; i < 20; ++i) {
    onnx::FunctionProto& function = add_function(model, "f" + std::to_string(i));
    std::string value = "a";
    for (int call = 0; call < 10; ++call) {
      const std::string next = call == 9 ? "b" : "v" + std::to_string(call);
      NodeProto& node =
          add_node(*function.mutable_node(), i == 0 ? "Relu" : "f" + std::to_string(i - 1), {value}, {next});
      if (i > 0) node.set_domain("f");
      value = next;
    }
  }
  add_input(*model.mutable_graph(), "x", kFloat, {1});
  add_node(*model.mutable_graph()->mutable_node(), "f19", {"x"}, {"y"}).set_domain("f");
  expect_refused(outcome(model), "its functions and bodies come to more than");
}

TEST(OnnxHostile, TensorsThatAFunctionCopiesAreBounded) {
  ModelProto model = model_of_opset(21);
  onnx::FunctionProto& function = add_function(model, "f");
  function.add_attribute("k");
  NodeProto& node = add_node(*function.mutable_node(), "Constant", {}, {"b"});
  AttributeProto& value = *node.add_attribute();
  value.set_name("value");
  value.set_type(AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(kUint8);
  value.mutable_t()->add_dims(1 << 20);
  value.mutable_t()->set_raw_data(std::string(1 << 20, 'x'));
  AttributeProto& reference = *node.add_attribute();
  reference.set_name("k");
  reference.set_ref_attr_name("k");
  add_input(*model.mutable_graph(), "x", kFloat, {1});
  for (int i = 0; i < 1000; ++i)
    add_node(*model.mutable_graph()->mutable_node(), "f", {"x"}, {i == 0 ? "y" : "y" + std::to_string(i)})
        .set_domain("f");
  expect_refused(outcome(model), "bytes, when they are put in place");
}

TEST(OnnxHostile, AFunctionWithAnUnsupportedNodeMayBeCalledAgain) {
  ModelProto model = model_of_opset(21);
  onnx::FunctionProto& function = add_function(model, "f");
  add_node(*function.mutable_node(), "NoSuchOperator", {"a"}, {"b"});
  add_input(*model.mutable_graph(), "x", kFloat, {1});
  add_node(*model.mutable_graph()->mutable_node(), "f", {"x"}, {"v"}).set_domain("f");
  add_node(*model.mutable_graph()->mutable_node(), "f", {"x"}, {"y"}).set_domain("f");
  expect_refused(outcome(model), "operator NoSuchOperator is not supported");
}

AttributeProto& add_body(NodeProto& node, const char* name) {
  AttributeProto& body = *node.add_attribute();
  body.set_name(name);
  body.set_type(AttributeProto::GRAPH);
  return body;
}

// Functions within bodies within functions lie deeper than messages may.
TEST(OnnxHostile, DepthIsBounded) {
  ModelProto model = model_of_opset(21);
  add_input(*model.mutable_graph(), "x", kFloat, {1});
  add_input(*model.mutable_graph(), "c", TensorProto::BOOL, {});
  for (int i = 0; i < 30; ++i) {
    onnx::FunctionProto& function = add_function(model, "f" + std::to_string(i));
    function.add_input("c");
    GraphProto* graph = nullptr;
    for (int depth = 0; depth < 5; ++depth) {
      auto& nodes = graph ? *graph->mutable_node() : *function.mutable_node();
      NodeProto& node = add_node(nodes, "If", {"c"}, {"b"});
      if (graph) graph->add_output()->set_name("b");
      GraphProto& other = *add_body(node, "else_branch").mutable_g();
      add_node(*other.mutable_node(), "Relu", {"a"}, {"e"});
      other.add_output()->set_name("e");
      graph = add_body(node, "then_branch").mutable_g();
    }
    graph->add_output()->set_name("b");
    NodeProto& last = add_node(*graph->mutable_node(), i == 0 ? "Relu" : "f" + std::to_string(i - 1), {"a"}, {"b"});
    if (i > 0) last.add_input("c"), last.set_domain("f");
  }
  add_node(*model.mutable_graph()->mutable_node(), "f29", {"x", "c"}, {"y"}).set_domain("f");
  expect_refused(outcome(model), "deep within each other");
}

// Each iteration hands every value on to the next place: one more shape changes each time the body is imported.
TEST(OnnxHostile, ValuesThatAreHandedOn) {
  constexpr int kPlaces = 200;
  ModelProto model = model_of_opset(21);
  GraphProto& graph = *model.mutable_graph();
  graph.mutable_output(0)->set_name("out0");
  NodeProto& loop = add_node(*graph.mutable_node(), "Loop", {"n", ""}, {});
  add_input(graph, "n", kInt64, {});
  GraphProto& body = *add_body(loop, "body").mutable_g();
  add_input(body, "i", kInt64, {});
  add_input(body, "c", TensorProto::BOOL, {});
  body.add_output()->set_name("c");
  for (int i = 0; i < kPlaces; ++i) {
    add_input(graph, "x" + std::to_string(i), kFloat, {i + 1});
    loop.add_input("x" + std::to_string(i));
    loop.add_output("out" + std::to_string(i));
    add_input(body, "v" + std::to_string(i), kFloat, {});
    body.add_output()->set_name(i == 0 ? "v0" : "v" + std::to_string(i - 1));
  }
  EXPECT_EQ(outcome(model), "imported");
}

TEST(OnnxHostile, SpellingsOfOnePlaceAreOneFile) {
  TemporaryFolder folder;
  folder.put("w.bin", std::string(4096, 'x'));
  ModelProto model = model_of_opset(21);
  std::string location = "w.bin";
  for (int i = 0; i < 8; ++i, location = "./" + location) {
    TensorProto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name("w" + std::to_string(i));
    tensor.set_data_type(TensorProto::BOOL);  // converted, which counts as a copy
    tensor.add_dims(4096);
    tensor.set_data_location(TensorProto::EXTERNAL);
    auto& entry = *tensor.add_external_data();
    entry.set_key("location");
    entry.set_value(location);
  }
  add_node(*model.mutable_graph()->mutable_node(), "Identity", {"w0"}, {"y"});
  const std::string path = folder.put("m.onnx", model.SerializeAsString());
  expect_refused(error_of([&] { import_onnx(path); }), "again and again");
}

}  // namespace
}  // namespace hone
