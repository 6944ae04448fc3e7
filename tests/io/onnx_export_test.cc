// Graphs that are written as ONNX and read again give the same outputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "io/onnx/export_model.h"
#include "io/onnx/export_size.h"
#include "io/onnx/import_model.h"
#include "io/onnx/onnx.pb.h"
#include "ops/calls/linear.h"
#include "passes/pipelines.h"
#include "tests/io/temporary_folder.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/graph_bound.h"
#include "tests/support/op_cases.h"
#include "tests/support/packed_examples.h"

namespace hone {
namespace {

using test::Bounded;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using NamedTensors = std::map<std::string, Tensor>;

struct Exported {
  onnx::ModelProto model;
  OnnxExport report;
};

Exported exported(const Graph& graph, std::optional<int> opset = {}) {
  Exported result;
  result.model = onnx_model(graph, {.opset = opset}, result.report);
  return result;
}

OnnxImport reimported(const Graph& graph, std::optional<int> opset = {}) {
  return import_onnx_bytes(exported(graph, opset).model.SerializeAsString(), "exported");
}

std::vector<std::string> operators(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const auto& node : graph.node()) names.push_back(node.op_type());
  return names;
}

// --- every op --------------------------------------------------------------------------------------------------------

struct Call {
  Graph graph;
  NamedTensors inputs;
};

// ONNX has numbers of attributes in f32.
Attributes rounded(Attributes attributes) {
  for (auto [name, value] : attributes.items()) {
    if (auto* number = std::get_if<double>(&value)) *number = static_cast<float>(*number);
    if (auto* numbers = std::get_if<std::vector<double>>(&value))
      for (double& number : *numbers) number = static_cast<float>(number);
    attributes.set(name, value);
  }
  return attributes;
}

// Packed operands, and the weights of linear and conv, are constants.
Call call_of(const OpDef& op, const OpCase& one) {
  Call call;
  std::vector<ValueId> operands;
  const std::string_view name = op.name;
  for (size_t i = 0; i < one.operands.size(); ++i) {
    const std::string label = fmt::format("operand {}", i);
    if (!one.operands[i]) {
      operands.push_back(kNone);
    } else if (one.operands[i]->is_packed() || (i > 0 && (name == "linear" || name == "conv"))) {
      operands.push_back(call.graph.add_constant(label, *one.operands[i]));
    } else {
      operands.push_back(call.graph.add_input(label, one.operands[i]->type()));
      call.inputs[label] = *one.operands[i];
    }
  }
  const NodeId node = call.graph.add_node(op, operands, op.pointwise ? one.attributes : rounded(one.attributes));
  for (size_t r = 0; r < call.graph.node(node).results.size(); ++r)
    call.graph.add_output(call.graph.result(node, static_cast<int>(r)), fmt::format("result {}", r));
  return call;
}

// Bounds are carried through tensors of sizes that are known.
bool has_bounds(const Graph& graph) {
  return graph.unbacked_symbols() == 0 &&
         std::ranges::all_of(graph.outputs(), [&](const Output& o) { return graph.type(o.value).is_static(); });
}

// What the graph read again gives is held to what the graph gives, within what rounding each of its nodes once allows.
std::string difference(const Call& call, const Graph& again) {
  const std::vector<Tensor> wanted = evaluate(call.graph, call.inputs);
  NamedTensors inputs;
  for (ValueId v : again.inputs()) inputs[again.value(v).label] = call.inputs.at(again.value(v).label);
  const bool sums_codes = call.graph.node(call.graph.nodes()[0]).op == &linear_def && !is_float(wanted[0].dtype());
  if (sums_codes || !has_bounds(again)) {
    const std::vector<Tensor> got = evaluate(again, inputs);
    for (size_t i = 0; i < wanted.size(); ++i)
      if (!got.at(i).same_bits(wanted[i])) return fmt::format("output {} differs", i);
    return "";
  }
  std::vector<Bounded> got = test::bounded_outputs(again, inputs);
  // log(sum(exp)) of classes within 2 is within 4 + log 5 < 8, each of its five operations rounds; the mean adds seven.
  if (std::string_view(call.graph.node(call.graph.nodes()[0]).op->name) == "cross_entropy")
    got.at(0).error = {8 * (5 + 7) * 2 * test::kEpsF32};
  for (size_t i = 0; i < wanted.size(); ++i)
    if (const std::string fault = test::fault_of(wanted[i], got.at(i)); !fault.empty())
      return fmt::format("output {}: {}", i, fault);
  return "";
}

// Cases that ONNX can't hold, with a part of the reason.
const std::multimap<std::string, std::string> kRefused = {
    {"bit_shift", "BitShift takes unsigned"},
    {"fake_quant", "QuantizeLinear can't round to"},  // formats of groups, powers of two, floats and zero points
    {"round_to", "QuantizeLinear can't round to"},    // floats
    {"round_scaled", "has bitcast"},                  // what fake_quant becomes inside a session
    {"round_scaled_gradient", "has bitcast"},
    {"resize", "ceil_if_smaller"},            // of opset 10
    {"lstm", "does not round its state"},     // com.microsoft's DynamicQuantizeLSTM
    {"map_values", "no operator for it"},     // of ai.onnx.ml
    {"tree_ensemble", "no operator for it"},  // of ai.onnx.ml
    {"cache_append", "no operator for it"},   // pages
    {"quantize", "no operator for it"},       // values that are codes of a format
    {"dequantize", "no operator for it"},
    {"recurrent_steps", "no operator for it"},
    {"quantize_dynamic", "no operator for it"},  // scales that are another's than DynamicQuantizeLinear's
    {"block_linear", "no operator for it"},
    {"conv", "codes"},  // of the format's integers
    {"cross_entropy", "smooths no labels"},
    {"softmax_gradient", "no operator for it"},  // of training
    {"log_softmax_gradient", "no operator for it"},
    {"layer_norm_gradient", "no operator for it"},
    {"rms_norm_gradient", "no operator for it"},
    {"l2_normalise_gradient", "no operator for it"},
    {"gather_gradient", "no operator for it"},
    {"attention_gradient", "no operator for it"},
    {"avg_pool_gradient", "no operator for it"},
    {"barrier", "no operator for it"},
    {"batch_norm_gradient", "no operator for it"},
    {"batch_norm_train", "are read"},  // and ONNX has no names for them
    {"conv_input_gradient", "no operator for it"},
    {"conv_weight_gradient", "no operator for it"},
    {"dropout_train", "has mulhi"},
    {"max_pool_gradient", "no operator for it"},
    {"sum_over_ranks", "no operator for it"},
    {"cosine_window", "coefficients"},  // other than those of Hann, Hamming and Blackman
};

bool is_refused(const OpDef& op, const std::string& message) {
  const auto [first, last] = kRefused.equal_range(op.name);
  return std::any_of(first, last, [&](const auto& known) { return message.find(known.second) != std::string::npos; });
}

class EveryOp : public testing::TestWithParam<const OpDef*> {};

TEST_P(EveryOp, GivesTheSameOutputsReadAgain) {
  const OpDef& op = *GetParam();
  Philox rng(1);
  int number = 0;
  for (const OpCase& one : cases_for(op, rng)) {
    const std::string what = fmt::format("{} {} ({})", op.name, number++, one.text());
    const Call call = call_of(op, one);
    Exported file;
    try {
      file = exported(call.graph);
    } catch (const Error& error) {
      EXPECT_TRUE(is_refused(op, error.what())) << what << ": " << error.what();
      continue;
    }
    if (const char* folder = std::getenv("HONE_EXPORTED"))  // for other readers
      std::ofstream(fmt::format("{}/{}_{}.onnx", folder, op.name, number - 1), std::ios::binary)
          << file.model.SerializeAsString();
    const OnnxImport again = import_onnx_bytes(file.model.SerializeAsString(), "exported");
    EXPECT_EQ(unsupported_text("", again.unsupported), unsupported_text("", {})) << what;
    if (!again.unsupported.empty()) continue;
    EXPECT_EQ(difference(call, again.graph), "") << what;
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryOp, testing::ValuesIn(ops::all().begin(), ops::all().end()),
                         [](const auto& info) { return std::string(info.param->name); });

// --- models ----------------------------------------------------------------------------------------------------------

TEST(OnnxExport, WhatRowsTheModelTakesIsItsOwnAgain) {
  Graph graph = test::parse("%x : f32[B,4] = input\n%y = relu %x\nreturn %y as \"y\"");
  const std::map<std::string, std::string> of_rows{
      {"text.max_length", "64"}, {"image.size", "8,8"}, {"classes", "[\"a\"]"}, {"file.vocab.txt", "a\nb\n"}};
  graph.metadata = of_rows;
  graph.metadata["family"] = "mlp";
  const onnx::ModelProto model = exported(graph).model;
  Graph again = import_onnx_bytes(model.SerializeAsString(), "exported").graph;
  for (const auto& [key, value] : of_rows) EXPECT_EQ(again.metadata[key], value) << key;
  EXPECT_FALSE(again.metadata.contains("family"));
}

// The one size that is left open would be what the elements of the operand leave, which depends on data.
TEST(OnnxExport, AReshapeKeepsASizeThatItsOperandDoesNotTell) {
  const Graph graph = test::parse(R"(
    %x : f32[B] = input "x"
    %places = non_zero %x
    %y = reshape %places {shape=[B,1]}
    return %y as "y")");
  const Graph again = reimported(graph).graph;
  EXPECT_EQ(to_string(again.type(again.outputs()[0].value)), "i64[B,1]");
}

TEST(OnnxExport, NamesSymbolsAndMetadataAreKept) {
  Graph graph = test::parse(R"(
    %x : f32[B,(S+1)/2,4] = input "tokens in"
    %w : f32[3,4] = const "dense.weight" {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
    %y = linear %x, %w
    return %y as "last hidden")");
  graph.metadata = {{"family", "bert"}, {"source", "elsewhere"}, {"onnx.license", "mit"}};
  const onnx::ModelProto model = exported(graph).model;
  EXPECT_EQ(model.producer_name(), "hone");
  EXPECT_EQ(model.ir_version(), 8);
  ASSERT_EQ(model.metadata_props_size(), 2);
  EXPECT_EQ(model.metadata_props(0).key(), "family");
  EXPECT_EQ(model.metadata_props(1).key(), "license");
  const onnx::GraphProto& g = model.graph();
  EXPECT_EQ(g.input(0).name(), "tokens in");
  const auto& shape = g.input(0).type().tensor_type().shape();
  EXPECT_EQ(shape.dim(0).dim_param(), "B");
  EXPECT_EQ(shape.dim(1).dim_param(), "(S+1)/2");
  EXPECT_EQ(shape.dim(2).dim_value(), 4);
  EXPECT_EQ(g.output(0).name(), "last hidden");
  ASSERT_EQ(g.initializer_size(), 1);
  EXPECT_EQ(g.initializer(0).name(), "dense.weight");
  EXPECT_THAT(g.initializer(0).dims(), testing::ElementsAre(4, 3));  // MatMul takes it transposed
  EXPECT_THAT(operators(g), testing::ElementsAre("MatMul"));
}

TEST(OnnxExport, ShapesThatDependOnInputsAreComputed) {
  const Graph graph = test::parse(R"(
    %x : f32[B,S,4] = input "x"
    %y = reshape %x {shape=[B,S,2,2]}
    %z = reshape %x {shape=[2*S,2*B]}
    %e = full {shape=[B*S/2+1,S-1], value=2}
    %i = iota {shape=[S], axis=0}
    return %y as "y", %z as "z", %e as "e", %i as "i")");
  const OnnxImport again = reimported(graph);
  ASSERT_TRUE(again.unsupported.empty());
  Philox rng(1);
  const NamedTensors inputs{{"x", random_floats(rng, {3, 5, 4})}};
  const std::vector<Tensor> wanted = evaluate(graph, inputs), got = evaluate(again.graph, inputs);
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(got[i].same_bits(wanted[i])) << i;
}

TEST(OnnxExport, BodiesReadWhatTheyCaptureByItsName) {
  const Graph graph = test::parse(R"(
    %most : i64[] = input "most"
    %x : f32[N] = input "x"
    %step : f32[N] = input "step"
    %limit : f32[] = const {100}
    %last, %all = loop %most, _, %x, %step, %limit {carried=1} do
      graph body {
        %i : i64[] = input "i"
        %go : bool[] = input "go"
        %v : f32[N] = input "v"
        %by : f32[N] = input "by"
        %cap : f32[] = input "cap"
        %sum = add %v, %by
        %next = min %sum, %cap
        return %go as "0", %next as "1", %next as "2"
      }
    return %last as "last", %all as "all")");
  const onnx::ModelProto model = exported(graph).model;
  ASSERT_THAT(operators(model.graph()), testing::ElementsAre("Loop"));
  EXPECT_EQ(model.graph().node(0).attribute(0).g().input_size(), 3);
  const OnnxImport again = import_onnx_bytes(model.SerializeAsString(), "exported");
  const NamedTensors inputs{{"most", Tensor::scalar<int64_t>(3)},
                            {"x", Tensor::of<float>({2}, {1, 98})},
                            {"step", Tensor::of<float>({2}, {1, 2})}};
  const std::vector<Tensor> got = evaluate(again.graph, inputs);
  EXPECT_TRUE(got[0].same_bits(Tensor::of<float>({2}, {4, 100})));
  EXPECT_TRUE(got[1].same_bits(Tensor::of<float>({3, 2}, {2, 100, 3, 100, 4, 100})));
}

TEST(OnnxExport, AnInputOrConstantThatIsAnOutputIsHandedOn) {
  const Graph graph = test::parse(R"(
    %x : f32[2] = input "x"
    %c : f32[] = const {1}
    %y = neg %x
    return %x as "same", %c as "one", %y as "y", %y as "y too")");
  const OnnxImport again = reimported(graph);
  const std::vector<Tensor> got = evaluate(again.graph, {{"x", Tensor::of<float>({2}, {1, 2})}});
  ASSERT_EQ(got.size(), 4u);
  EXPECT_TRUE(got[0].same_bits(Tensor::of<float>({2}, {1, 2})));
  EXPECT_TRUE(got[1].same_bits(Tensor::scalar(1.0f)));
  EXPECT_TRUE(got[3].same_bits(Tensor::of<float>({2}, {-1, -2})));
}

TEST(OnnxExport, FilesHoldTheModelAndLargeWeightsBesideIt) {
  const TemporaryFolder folder;
  Graph graph;
  const ValueId x = graph.add_input("x", {.dtype = DType::f32, .shape = {4096}});
  const ValueId w = graph.add_constant("w", Tensor::of<float>({4096}, std::vector<float>(4096, 2)));
  graph.add_output(graph.emit(ops::get("mul"), {x, w}), "y");
  const OnnxExport small = export_onnx(graph, folder / "small.onnx");
  EXPECT_EQ(small.files.size(), 1u);
  EXPECT_EQ(onnx_bytes(graph), small.bytes);
  const OnnxExport large = export_onnx(graph, folder / "large.onnx", {.max_bytes = 1000});
  EXPECT_EQ(large.files.size(), 2u);
  EXPECT_GT(large.bytes, 4 * 4096);
  const Tensor ones = Tensor::of<float>({4096}, std::vector<float>(4096, 1));
  EXPECT_EQ(evaluate(import_onnx(folder / "large.onnx").graph, {{"x", ones}})[0].to_floats()[4095], 2);
  EXPECT_EQ(folder.entries(), 3u);
}

TEST(OnnxExport, AllThatDoesNotFitIsRefusedAtOnce) {
  Graph graph = test::parse(R"(
    %x : f32[2,64] = input "x"
    %y = fake_quant %x {format=mxint8}
    %z = fake_quant %y {format=int4.g32}
    return %z as "out")");
  const ValueId w = graph.add_constant("w", pack(parse_format("int24.f8"), Tensor(DType::f32, {2, 64})));
  graph.add_output(graph.emit(ops::get("add"), {graph.outputs()[0].value, w}), "sum");
  EXPECT_THAT(test::error_of([&] { exported(graph); }),
              AllOf(HasSubstr("y (fake_quant): QuantizeLinear can't round to mxint8"),
                    HasSubstr("out (fake_quant): QuantizeLinear can't round to int4.g32"),
                    HasSubstr("w (constant int24.f8[2,64]): "), HasSubstr("the nearest format that fits: int16")));
}

TEST(OnnxExport, ScalesThatAreGivenAreQuantizeLinears) {
  const std::map<std::string, std::vector<float>> formats{
      {"int8", {0.0137f}}, {"uint8", {0.0081f}}, {"uint8.asym", {0.0123f, 100.4f}}};
  for (const auto& [format, given] : formats) {
    Philox rng(3);
    Call call;
    const Tensor x = random_floats(rng, {3, 40});
    std::vector<ValueId> operands{call.graph.add_input("x", x.type())};
    for (float number : given) operands.push_back(call.graph.add_constant("", Tensor::scalar(number)));
    const NodeId node = call.graph.add_node(ops::get("fake_quant"), operands, {{"format", parse_format(format)}});
    call.graph.add_output(call.graph.result(node), "y");
    call.inputs["x"] = x;
    const OnnxImport again = import_onnx_bytes(exported(call.graph).model.SerializeAsString(), "exported");
    EXPECT_TRUE(again.graph.nodes("fake_quant").empty());
    EXPECT_EQ(difference(call, again.graph), "") << format;
  }
}

TEST(OnnxExport, AnOpsetThatIsTooOldIsRefused) {
  Graph graph = test::parse(R"(
    %x : u8[2] = input "x"
    %y = bitwise_not %x
    return %y as "y")");
  EXPECT_THAT(test::error_of([&] { exported(graph, 17); }),
              AllOf(HasSubstr("y (bitwise_not)"), HasSubstr("needs opset 18"), HasSubstr("written for 17")));
  EXPECT_EQ(exported(graph).report.opset, 18);
  EXPECT_EQ(exported(graph, 23).report.opset, 23);
  EXPECT_EQ(test::error_of([&] { exported(graph, 29); }), "opset 29 is not supported; accepted: 17 to 28");
}

// --- packed constants ------------------------------------------------------------------------------------------------

Graph of_constant(const Tensor& tensor) {
  Graph graph;
  const ValueId w = graph.add_constant("w", tensor);
  graph.add_output(graph.emit(ops::get("identity"), {w}), "y");
  return graph;
}

std::string written(const Graph& graph) { return exported(graph).report.formats.at(0).written; }

// Formats of which some tensors don't fit, with the nearest that does.
const std::map<std::string, std::string> kRefusedFormats = {{"int32.f8", "int16"},
                                                            {"minifloat_e3m4", "fp8_e4m3"},
                                                            {"minifloat_e5m10", "fp16 or bf16"},
                                                            {"minifloat_e7m2", "fp16 or bf16"},
                                                            {"rsign2", "int8"},
                                                            {"log8", "int8"},
                                                            {"mxint8.compat=mase-cuda", "int8"}};

// Integers of up to 16 bits, signs and the floats that are types of ONNX, under any scales; minimums are no part of it.
bool always_fits(const std::string& text) {
  if (has_minimum(parse_format(text))) return false;
  for (const char* head : {"int", "uint", "mx", "fp8", "bfp", "nvfp4", "binary", "ternary", "rsign1"})
    if (text.starts_with(head)) return !kRefusedFormats.contains(text) && text.find("mase-cuda") == std::string::npos;
  return false;
}

TEST(OnnxExport, PackedConstantsDecodeToTheSameBitsOrAreRefused) {
  Philox rng(1);
  const Tensor plain = random_floats(rng, {6, 70});
  std::map<std::string, std::string> refused;
  for (const std::string& text : test::packed_examples()) {
    const Tensor packed = pack(parse_format(text), plain);
    const Graph graph = of_constant(packed);
    const std::string error = test::error_of([&] { exported(graph); });
    if (!error.empty()) {
      EXPECT_FALSE(always_fits(text)) << error;
      refused[text] = error;
      continue;
    }
    EXPECT_TRUE(evaluate(reimported(graph).graph, {})[0].same_bits(unpack(packed))) << text;
  }
  for (const auto& [text, nearest] : kRefusedFormats)
    EXPECT_THAT(refused[text], HasSubstr("the nearest format that fits: " + nearest)) << text;
}

TEST(OnnxExport, APackedMatrixOfAConvIsReadBackAsOne) {
  Philox rng(1);
  Graph graph;
  const ValueId x = graph.add_input("x", {.dtype = DType::f32, .shape = {1, 32, 5, 5}});
  const ValueId w = graph.add_constant("w", pack(parse_format("mxint8"), random_floats(rng, {3, 32 * 6})));
  graph.add_output(graph.emit(ops::get("conv"), {x, w}, {{"kernel_shape", std::vector<int64_t>{3, 2}}}), "y");
  const Graph again = canonicalise(reimported(graph).graph);
  ASSERT_EQ(again.nodes().size(), 1u);
  const NodeId conv = again.nodes()[0];
  EXPECT_TRUE(again.constant(again.operand(conv, 1))->same_bits(*graph.constant(w)));
  EXPECT_EQ(again.node(conv).attributes.get<std::vector<int64_t>>("kernel_shape"), (std::vector<int64_t>{3, 2}));
}

TEST(OnnxExport, AMatrixOfAConvIsStoredAsTheWindowsItStandsFor) {
  const Graph graph = test::parse(R"(
    %x : f32[1,2,1,2] = input "x"
    %w : f32[1,4] = const "w" {1, 2, 3, 4}
    %y = conv %x, %w {kernel_shape=[1, 2]}
    return %y as "y")");
  const auto file = exported(graph);
  EXPECT_EQ(operators(file.model.graph()), (std::vector<std::string>{"Conv"}));
  const OnnxImport again = reimported(graph);
  EXPECT_TRUE(
      again.graph.constant(again.graph.find_constant("w"))->same_bits(Tensor::of<float>({1, 2, 1, 2}, {1, 3, 2, 4})));
}

TEST(OnnxExport, CodesAreStoredInTheSmallestTypeThatHoldsThem) {
  Philox rng(1);
  const Tensor plain = random_floats(rng, {4, 64});
  const auto how = [&](const char* format) { return written(of_constant(pack(parse_format(format), plain))); };
  EXPECT_EQ(how("int8"), "int8, one scale");
  EXPECT_EQ(how("int8.channel"), "int8, scale per index of axis 0");
  EXPECT_EQ(how("int4.g32"), "int4, scale per 32 along axis 1");
  EXPECT_EQ(how("uint4.g32.asym"), "uint4, scale per 32 along axis 1, zero point");
  EXPECT_EQ(how("int3.g16"), "int4, scale per 16 along axis 1");
  EXPECT_EQ(how("mxint8"), "int8, scale per 32 along axis 1");
  EXPECT_EQ(how("mxfp8_e4m3"), "float8e4m3fn, scale per 32 along axis 1");
  EXPECT_EQ(how("mxfp4"), "float4e2m1, scale per 32 along axis 1");
}

}  // namespace
}  // namespace hone
