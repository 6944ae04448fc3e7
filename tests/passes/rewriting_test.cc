// The passes that change a model so that rounding hurts it less: each computes what the model computed before, and each
// lowers the error of the formats and outliers that it is for.
#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"
#include "passes/pipelines.h"
#include "tests/passes/layer_statistics.h"
#include "tests/passes/parse_ops.h"
#include "tests/passes/same_outputs.h"

namespace hone {
namespace {

const PipelineOptions kVerify{.disabled = {}, .verify = true, .after = {}};

using Inputs = std::map<std::string, Tensor>;

class Builder {
 public:
  explicit Builder(uint64_t seed) : rng(seed) {}
  ValueId constant(const char* label, std::vector<int64_t> shape, double scale = 1) {
    std::vector<double> values(static_cast<size_t>(element_count(shape)));
    for (double& v : values) v = scale * rng.normal();
    return graph.add_constant(label, Tensor::from_doubles(DType::f32, std::move(shape), values));
  }
  // Of ones, and `outlier` in every ninth place.
  ValueId outliers(const char* label, int64_t n, double outlier) {
    std::vector<double> values(static_cast<size_t>(n), 1.0);
    for (size_t i = 2; i < values.size(); i += 9) values[i] = outlier;
    return graph.add_constant(label, Tensor::from_doubles(DType::f32, {n}, values));
  }
  ValueId emit(const char* op, std::vector<ValueId> operands, Attributes attributes = {}) {
    return graph.emit(ops::get(op), std::move(operands), std::move(attributes));
  }
  Philox rng;
  Graph graph;
};

// layer_norm with outlier channels before the projections q and k, whose product is the result, and whose weights are
// small there: all channels matter alike. With `residual`, the norm is read by more than them.
Graph projections(bool residual) {
  Builder b(1);
  const auto weight = [&](const char* label) {
    Tensor tensor = *b.graph.constant(b.constant(label, {64, 64}, 0.1));
    const std::vector<double> large = b.graph.constant(b.graph.find_constant("ln.weight"))->to_doubles();
    for (size_t i = 0; i < 64 * 64; ++i) tensor.mutable_as<float>()[i] /= static_cast<float>(large[i % 64]);
    b.graph.set_constant(b.graph.find_constant(label), tensor);
    return b.graph.find_constant(label);
  };
  const ValueId x = b.graph.add_input("x", parse_type("f32[96,64]"));
  const ValueId n = b.emit("layer_norm", {x, b.outliers("ln.weight", 64, 40), b.constant("ln.bias", {64}, 0.1)});
  const ValueId q = b.emit("linear", {n, weight("q.weight"), b.constant("q.bias", {64})});
  const ValueId k = b.emit("linear", {n, weight("k.weight")});
  b.graph.add_output(b.emit("mul", {q, k}), "y");
  if (residual) b.graph.add_output(b.emit("exp", {b.emit("tanh", {n})}), "z");
  return std::move(b.graph);
}

Inputs inputs_of(const Graph& graph) {
  Philox rng(5);
  return test::random_inputs(graph, rng);
}

// Root of the mean squared difference of the first output, as a part of its own root mean square.
double error(const Graph& exact, const Graph& rounded) {
  const Inputs inputs = inputs_of(exact);
  const std::vector<double> a = evaluate(exact, inputs)[0].to_doubles(), b = evaluate(rounded, inputs)[0].to_doubles();
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) difference += (a[i] - b[i]) * (a[i] - b[i]), size += a[i] * a[i];
  return std::sqrt(difference / size);
}

Graph rewritten(const Graph& graph, const char* pass, const PassOptions& options) {
  const Statistics statistics = test::layer_statistics(graph, inputs_of(graph));
  return run_pass(graph, pass, {options, &statistics}, kVerify);
}

double error_after(const Graph& graph, const Graph& changed, const FormatRules& options) {
  return error(graph, run_pass(changed, "quantize", {options}, kVerify));
}

// The pass computes the same, keeps the names that rules give, and the error falls below `share` of what it was.
void expect_lower_error(const Graph& graph, const char* pass, const FormatRules& options, double share) {
  const Graph changed = rewritten(graph, pass, options);
  test::expect_same_outputs(graph, changed, 0x1p-17);  // factors and divided constants are rounded to 2^-24 each
  const QuantizationPlan before = plan_quantization(graph, options), after = plan_quantization(changed, options);
  ASSERT_EQ(before.constants.size(), after.constants.size());
  for (size_t i = 0; i < after.constants.size(); ++i)
    EXPECT_NE(changed.find_constant(before.constants[i].name), kNone) << before.constants[i].name;
  EXPECT_LT(error_after(graph, changed, options), share * error_after(graph, graph, options));
}

FormatRules options_for(const char* weights, const char* activations = "") {
  FormatRules options;
  options.to = weights;
  options.activations = activations;
  return options;
}

TEST(SmoothQuant, LowersTheErrorOfFourBitActivationsWithOutlierChannels) {
  for (bool residual : {false, true})
    expect_lower_error(projections(residual), "smooth_quant", options_for("int8.channel", "int4"), 0.6);
}

TEST(SmoothQuant, TheDivisionGoesIntoTheNormUnlessMoreReadsItAndLayersOfOneInputShareIt) {
  const FormatRules options = options_for("int8.channel", "int4");
  EXPECT_EQ(rewritten(projections(false), "smooth_quant", options).nodes("mul").size(), 1u);  // of the model itself
  const Graph multiplied = rewritten(projections(true), "smooth_quant", options);
  EXPECT_EQ(multiplied.nodes("mul").size(), 2u);
  const std::vector<NodeId> linears = multiplied.nodes("linear");
  EXPECT_EQ(multiplied.operand(linears[0], 0), multiplied.operand(linears[1], 0));
}

TEST(SmoothQuant, LeavesLayersAloneWhoseActivationsAreKept) {
  const Graph graph = projections(false);
  EXPECT_EQ(print(rewritten(graph, "smooth_quant", options_for("int4.channel"))), print(graph));
}

TEST(SmoothQuant, WithOneHalfIsDoneAfterOnce) {
  const Graph graph = projections(false);
  const FormatRules options = options_for("int8.channel", "int4");
  const Graph once = rewritten(graph, "smooth_quant", options), twice = rewritten(once, "smooth_quant", options);
  const std::vector<double> a = once.constant(once.find_constant("q.weight"))->to_doubles(),
                            b = twice.constant(twice.find_constant("q.weight"))->to_doubles();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5 * std::abs(a[i]));
}

TEST(SmoothQuant, RefusesAnAlphaOutsideOfZeroToOne) {
  const PassOptions options(options_for("int8", "int8"), SmoothQuantOptions{1.5});
  EXPECT_NE(test::error_of([&] { rewritten(projections(false), "smooth_quant", options); }).find("accepted: 0 to 1"),
            std::string::npos);
}

TEST(AwqScaling, LowersTheErrorOfFourBitWeightsUnderLargeActivations) {
  for (bool residual : {false, true})
    expect_lower_error(projections(residual), "awq_scaling", options_for("int4.g32"), 0.7);
}

TEST(AwqScaling, OfConvsScalesChannelsOverAllTaps) {
  Builder b(2);
  const ValueId x = b.graph.add_input("x", parse_type("f32[2,16,6,6]"));
  ValueId y = b.emit("batch_norm", {x, b.outliers("bn.weight", 16, 30), b.constant("bn.bias", {16}),
                                    b.constant("mean", {16}, 0.1), b.outliers("var", 16, 1)});
  y = b.emit("conv", {y, b.constant("conv.weight", {8, 16, 3, 3}, 0.2)}, {{"auto_pad", "same_upper"}});
  b.graph.add_output(y, "y");
  expect_lower_error(b.graph, "awq_scaling", options_for("int4.g32"), 0.7);
}

// The values of an attention pass on its scales: the output projection's go into the rows of v.
TEST(AwqScaling, ReachesThroughAttention) {
  Builder b(3);
  const ValueId x = b.graph.add_input("x", parse_type("f32[2,8,32]"));
  const auto projection = [&](const char* label) { return b.emit("linear", {x, b.constant(label, {32, 32}, 0.3)}); };
  const ValueId q = projection("q.weight"), k = projection("k.weight"), v = projection("v.weight");
  const ValueId heads = b.emit("attention", {q, k, v}, {{"heads", int64_t{4}}, {"scale", 0.3}});
  b.graph.add_output(b.emit("linear", {heads, b.constant("o.weight", {32, 32})}), "y");
  FormatRules options;
  options.rule = {"name:o.weight=int4.g32"};
  const Graph changed = rewritten(b.graph, "awq_scaling", options);
  EXPECT_TRUE(changed.nodes("mul").empty());
  EXPECT_FALSE(changed.constant(changed.find_constant("v.weight"))
                   ->same_bits(*b.graph.constant(b.graph.find_constant("v.weight"))));
  test::expect_same_outputs(b.graph, changed, 0x1p-17);
}

// Rows of the first and columns of the second that differ by a factor of up to 64, as training leaves them.
Graph two_products(const char* between, bool is_conv, bool with_norm) {
  Builder b(4);
  const std::vector<int64_t> taps = is_conv ? std::vector<int64_t>{3, 3} : std::vector<int64_t>();
  const auto weight = [&](const char* label, std::vector<int64_t> shape) {
    shape.insert(shape.end(), taps.begin(), taps.end());
    return b.constant(label, shape, 0.2);
  };
  const auto scale = [&](ValueId id, bool rows) {
    Tensor tensor = *b.graph.constant(id);
    const size_t per_row = static_cast<size_t>(tensor.elements() / tensor.dim(0)),
                 per_channel = static_cast<size_t>(element_count(taps));
    for (size_t i = 0; i < static_cast<size_t>(tensor.elements()); ++i) {
      const size_t channel = rows ? i / per_row : i / per_channel % static_cast<size_t>(tensor.dim(1));
      tensor.mutable_as<float>()[i] *= std::exp2f((rows ? 1.f : -1.f) * static_cast<float>(channel % 7));
    }
    b.graph.set_constant(id, tensor);
  };
  const Attributes same = is_conv ? Attributes{{"auto_pad", "same_upper"}} : Attributes();
  ValueId x = b.graph.add_input("x", parse_type(is_conv ? "f32[2,6,5,5]" : "f32[32,6]"));
  const char* op = is_conv ? "conv" : "linear";
  const ValueId first = weight("first.weight", {14, 6}), second = weight("second.weight", {8, 14});
  scale(first, true), scale(second, false);
  x = b.emit(op, {x, first, b.constant("first.bias", {14})}, same);
  if (with_norm)
    x = b.emit("batch_norm", {x, b.outliers("bn.weight", 14, 2), b.constant("bn.bias", {14}), b.constant("mean", {14}),
                              b.outliers("var", 14, 9)});
  x = b.emit(between, {x});
  b.graph.add_output(b.emit(op, {x, second}, same), "y");
  return std::move(b.graph);
}

TEST(EqualiseLayers, LowersTheErrorOfFourBitsPerTensor) {
  for (bool is_conv : {false, true}) {
    expect_lower_error(two_products("relu", is_conv, false), "equalise_layers", options_for("int4"), 0.6);
    expect_lower_error(two_products("leaky_relu", is_conv, false), "equalise_layers", options_for("int4"), 0.6);
  }
  expect_lower_error(two_products("relu", true, true), "equalise_layers", options_for("int4"), 0.6);
}

TEST(EqualiseLayers, GivesRowsAndColumnsTheSameRangeAndThenChangesNothing) {
  const Graph once = rewritten(two_products("relu", false, false), "equalise_layers", options_for("int4"));
  const std::vector<double> a = once.constant(once.find_constant("first.weight"))->to_doubles(),
                            b = once.constant(once.find_constant("second.weight"))->to_doubles();
  for (size_t c = 0; c < 14; ++c) {
    double row = 0, column = 0;
    for (size_t i = 0; i < 6; ++i) row = std::max(row, std::abs(a[c * 6 + i]));
    for (size_t i = 0; i < 8; ++i) column = std::max(column, std::abs(b[i * 14 + c]));
    EXPECT_NEAR(row, column, 1e-6 * row);
  }
  const Graph twice = rewritten(once, "equalise_layers", options_for("int4"));
  const std::vector<double> again = twice.constant(twice.find_constant("first.weight"))->to_doubles();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], again[i], 1e-6 * std::abs(a[i]));
}

TEST(EqualiseLayers, StopsAtWhatIsNotHomogeneousAndAtOtherReaders) {
  const Graph through_gelu = two_products("gelu", false, false);
  EXPECT_EQ(print(rewritten(through_gelu, "equalise_layers", options_for("int4"))), print(through_gelu));
  Graph read_twice = two_products("relu", false, false);
  read_twice.add_output(read_twice.result(read_twice.nodes("relu")[0]), "hidden");
  EXPECT_EQ(print(rewritten(read_twice, "equalise_layers", options_for("int4"))), print(read_twice));
}

// A few weights of every row are a hundred times the others, and so are a few activations.
Graph with_outliers() {
  Builder b(6);
  const ValueId x = b.graph.add_input("x", parse_type("f32[64,256]"));
  const ValueId spiked = b.emit("mul", {x, b.outliers("spikes", 256, 20)});
  const ValueId weight = b.constant("fc.weight", {64, 256}, 0.02);
  Tensor values = *b.graph.constant(weight);
  for (size_t i = 5; i < static_cast<size_t>(values.elements()); i += 37) values.mutable_as<float>()[i] *= 30;
  b.graph.set_constant(weight, values);
  b.graph.add_output(b.emit("linear", {spiked, weight}), "y");
  return std::move(b.graph);
}

TEST(RotateHadamard, LowersTheErrorOfFourBitWeightsAndActivations) {
  expect_lower_error(with_outliers(), "rotate_hadamard", options_for("int4.g128"), 0.8);
  expect_lower_error(with_outliers(), "rotate_hadamard", options_for("int4.channel", "int4.channel"), 0.8);
}

TEST(RotateHadamard, RotatesOnceAndOnlyWhatItsBlocksDivide) {
  const Graph once = rewritten(with_outliers(), "rotate_hadamard", options_for("int4.g32"));
  EXPECT_EQ(once.nodes("linear").size(), 2u);
  EXPECT_EQ(print(rewritten(once, "rotate_hadamard", options_for("int4.g32"))), print(once));
  const Graph narrow = two_products("relu", false, false);  // 6 and 14 channels
  EXPECT_EQ(print(rewritten(narrow, "rotate_hadamard", options_for("int4"))), print(narrow));
}

// The matrix of the rotation is no weight: formats chosen by default leave it and its input alone.
TEST(RotateHadamard, TheRotationItselfIsNotRounded) {
  const FormatRules options = options_for("int4.g32", "int8");
  const Graph rotated = rewritten(with_outliers(), "rotate_hadamard", options);
  EXPECT_EQ(run_pass(rotated, "quantize", {options}).nodes("fake_quant").size(), 2u);
}

}  // namespace
}  // namespace hone
