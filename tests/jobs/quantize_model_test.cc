// The table of a quantization is of the file that was written, not of what was planned.
#include "jobs/quantize_model.h"

#include "io/numpy.h"
#include "ir/bodies.h"
#include "jobs/calibration_data.h"
#include "measure/quality.h"
#include "ops/calls/activations.h"
#include "ops/calls/linear.h"
#include "ops/evaluate.h"
#include "tests/jobs/jobs_fixture.h"
#include "tests/support/branching_model.h"
#include "tests/support/op_case.h"
#include "views/info.h"
#include "views/quantize.h"

namespace hone {
namespace {

class QuantizeModel : public JobsTest {
 protected:
  static Record written(const std::string& source, const QuantizeOptions& options, std::optional<Compute> compute,
                        const std::string& output) {
    const Model original = load_model(source);
    QuantizeFlags flags;
    static_cast<QuantizeOptions&>(flags) = options;
    const QuantizedModel quantized = quantize_model(original, options, compute);
    return view_of(quantized, flags, original, output, save_model(output, quantized.graph, original));
  }
  Record write(const std::string& source, QuantizeOptions options, std::optional<Compute> compute = {}) const {
    return written(source, options, compute, file);
  }
  std::string file = folder / "q.safetensors";
};

QuantizeOptions to(std::string format, std::vector<std::string> rules = {}) {
  QuantizeOptions options;
  options.to = std::move(format);
  options.rule = std::move(rules);
  return options;
}

TEST_F(QuantizeModel, EachRowIsWhatTheFileHolds) {
  const Record record = write(model, to("mxint8", {"layer\\.1\\.=mxfp4", "query=keep"}));
  const Graph before = canonicalise(load_model(model).graph), after = load_model(file).graph;
  const Table& table = table_of(record, "tensors");
  int packed = 0;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    const std::string name = text_of(cell(table, "name", row));
    const Tensor& old_values = *before.constant(before.find_constant(name));
    const Tensor& new_values = *after.constant(after.find_constant(name));
    EXPECT_EQ(value_of(cell(table, "bytes_before", row)), static_cast<double>(old_values.bytes())) << name;
    EXPECT_EQ(value_of(cell(table, "bytes_after", row)), static_cast<double>(new_values.bytes())) << name;
    if (!new_values.is_packed()) {
      EXPECT_TRUE(new_values.same_bits(old_values)) << name;
      EXPECT_TRUE(is_empty(cell(table, "sqnr_db", row))) << name;
      continue;
    }
    ++packed;
    EXPECT_EQ(text_of(cell(table, "after", row)), to_string(*new_values.format())) << name;
    EXPECT_EQ(value_of(cell(table, "sqnr_db", row)), compare(old_values.to_floats(), new_values.to_floats()).sqnr_db)
        << name;
  }
  // Two tables and six matrices a layer, without the two queries. The token types are one row by then: nothing to
  // quantize.
  EXPECT_EQ(packed, 2 + 2 * 6 - 2);
}

TEST_F(QuantizeModel, WeightsOfConvsAreShownAndComparedAsTheirMatrix) {
  const std::string source = put_graph("conv.safetensors", R"(
    %x : f32[1,2,4,4] = input
    %w : f32[1,2,2,1] = const "w" {1, 64, -0.5, 3}
    %y = conv %x, %w
    return %y)");
  const Record record = write(source, to("int8.channel"));
  const Table& table = table_of(record, "tensors");
  EXPECT_EQ(text_of(cell(table, "shape", 0)), "[1,4]");
  const Graph after = load_model(file).graph;
  const std::vector<float> columns{1, -0.5f, 64, 3};  // channels of a tap lie together
  EXPECT_EQ(value_of(cell(table, "sqnr_db", 0)),
            compare(columns, after.constant(after.find_constant("w"))->to_floats()).sqnr_db);
  EXPECT_GT(value_of(cell(table, "sqnr_db", 0)), 40);
}

TEST_F(QuantizeModel, WeightsInBodiesArePackedAndCounted) {
  const std::string source = folder / "branching.safetensors";
  save_artefact(source, test::branching_model());
  const Record record = write(source, to("mxint8", {"name:w.3=int8"}));
  const Table& table = table_of(record, "tensors");
  std::map<std::string, std::string> formats;
  for (size_t row = 0; row < table.rows.size(); ++row)
    formats[text_of(cell(table, "name", row))] = text_of(cell(table, "after", row));
  EXPECT_EQ(formats, (std::map<std::string, std::string>{
                         {"w", "mxint8"}, {"w.2", "mxint8"}, {"w.3", "int8"}, {"w.4", "mxint8"}}));
  const Graph before = load_model(source).graph, after = load_model(file).graph;
  for (const auto& [name, format] : formats)
    EXPECT_EQ(to_string(*find_labelled(after, name).tensor().format()), format);
  const Record shown = view_of(info(load_model(file)));
  EXPECT_EQ(value_of(item(record, "totals", "elements")), value_of(item(shown, "summary", "parameters")));
  EXPECT_EQ(value_of(item(record, "totals", "bytes_after")), value_of(item(shown, "summary", "weight_bytes")));
  for (bool branch : {false, true}) {
    const NamedTensors inputs{{"c", Tensor::scalar<bool>(branch)}, {"x", test::waves({2, 32}, 3)}};
    const std::vector<float> exact = evaluate(before, inputs)[0].to_floats(),
                             rounded = evaluate(after, inputs)[0].to_floats();
    const Quality quality = compare(exact, rounded);
    EXPECT_GT(quality.sqnr_db, 30) << branch;
    EXPECT_LT(quality.sqnr_db, 80) << branch;
  }
}

// Decoders that are exported with and without a cache share their weights like this.
TEST_F(QuantizeModel, AWeightThatBothBranchesCaptureIsPackedOnce) {
  Graph graph;
  const ValueId c = graph.add_input("c", plain_type(DType::boolean, {})),
                x = graph.add_input("x", plain_type(DType::f32, {2, 64}));
  const ValueId w = graph.add_constant("w", test::waves({64, 32}, 3));
  const auto body = [](const char* name, const char* op) {
    Graph inner;
    inner.name = name;
    const ValueId a = inner.add_input("a", plain_type(DType::f32, {2, 64})),
                  b = inner.add_input("b", plain_type(DType::f32, {64, 32}));
    inner.add_output(inner.emit(ops::get(op), {inner.emit(ops::get("matmul"), {a, b})}), "0");
    return inner;
  };
  const NodeId chosen = graph.add_node(ops::get("if"), {c, x, w, x, w}, {{"then_captures", int64_t{2}}}, "chosen",
                                       {body("t", "tanh"), body("e", "relu")});
  graph.add_output(graph.result(chosen), "y");
  const std::string source = folder / "captured.safetensors";
  save_artefact(source, graph);
  const Record record = write(source, to("mxint8"));
  EXPECT_EQ(text_of(cell(table_of(record, "tensors"), "after", 0)), "mxint8");
  const Graph after = load_model(file).graph;
  verify(after);
  EXPECT_EQ(after.constants().size(), 1u);
  EXPECT_TRUE(after.constant(after.constants()[0])->is_packed());
  for (bool branch : {false, true}) {
    const NamedTensors inputs{{"c", Tensor::scalar<bool>(branch)}, {"x", test::waves({2, 64}, 3)}};
    const Quality quality = compare(evaluate(graph, inputs)[0].to_floats(), evaluate(after, inputs)[0].to_floats());
    EXPECT_GT(quality.sqnr_db, 30) << branch;
    EXPECT_LT(quality.sqnr_db, 80) << branch;
  }
  EXPECT_EQ(text_of(cell(table_of(write(source, to("bf16")), "tensors"), "after", 0)), "fp32");
  const std::string onnx = folder / "captured.onnx";
  written(source, to("int8"), {}, onnx);
  const Graph back = canonicalise(load_model(onnx).graph);
  verify(back);
  EXPECT_TRUE(find_labelled(back, "w").tensor().is_packed());
}

TEST_F(QuantizeModel, MethodsThatLearnFromDataSayThatTheyLeaveBodiesAlone) {
  const std::string source = folder / "branching.safetensors";
  save_artefact(source, test::branching_model());
  QuantizeOptions options = to("int4.g32");
  options.method = "scale-search";
  EXPECT_THAT(write(source, options).findings, testing::Contains(testing::HasSubstr("bodies of If, Loop and Scan")));
  EXPECT_THAT(write(source, to("int4.g32")).findings, testing::Not(testing::Contains(testing::HasSubstr("bodies of"))));
}

TEST_F(QuantizeModel, NanInABodyIsRefusedByItsName) {
  Graph graph = test::branching_model();
  edit_bodies(graph, [](Graph body) {
    if (const ValueId w = body.find_constant("w"); w != kNone) {
      Tensor nan = *body.constant(w);
      nan.mutable_as<float>()[3] = NAN;
      body.set_constant(w, nan);
    }
    return body;
  });
  const std::string source = folder / "nan.safetensors";
  save_artefact(source, graph);
  EXPECT_THAT(error_of([&] { write(source, to("mxint8")); }), testing::HasSubstr("w.2: 1 NaN"));
  QuantizeOptions saturated = to("mxint8");
  saturated.on_nonfinite = "saturate";
  write(source, saturated);
  EXPECT_TRUE(find_labelled(load_model(file).graph, "w.2").tensor().is_packed());
}

TEST_F(QuantizeModel, WhatIsWrittenWasOpenedAgainAndItsSizeIsThatOfTheFile) {
  const Record record = write(model, to("mxint8"));
  const double bytes = static_cast<double>(std::filesystem::file_size(file));
  double original = static_cast<double>(load_model(model).file_bytes);
  for (const auto& [name, content] : load_model(model).files) original += static_cast<double>(content.size());
  EXPECT_THAT(record.findings[0], testing::HasSubstr(fmt::format("{:.1f} %", 100 * bytes / original)));
  EXPECT_THAT(record.findings[1], testing::AllOf(testing::HasSubstr("opened again"),
                                                 testing::HasSubstr("a short run gives the same bits")));
}

TEST_F(QuantizeModel, TotalsAreTheSumsOfTheRowsAndOfInfo) {
  const Record record = write(model, to("mxint4"));
  const Table& table = table_of(record, "tensors");
  double before = 0, after = 0;
  for (const Cell& c : column(table, "bytes_before")) before += value_of(c);
  for (const Cell& c : column(table, "bytes_after")) after += value_of(c);
  EXPECT_EQ(value_of(item(record, "totals", "bytes_before")), before);
  EXPECT_EQ(value_of(item(record, "totals", "bytes_after")), after);
  EXPECT_EQ(value_of(item(record, "totals", "ratio")), after / before);
  const Record shown = view_of(info(load_model(file)));
  EXPECT_EQ(value_of(item(record, "totals", "elements")), value_of(item(shown, "summary", "parameters")));
  EXPECT_EQ(value_of(item(shown, "summary", "weight_bytes")), after);
  EXPECT_DOUBLE_EQ(value_of(item(record, "totals", "average_bits")), value_of(item(shown, "summary", "average_bits")));
}

TEST_F(QuantizeModel, TheManifestIsOfBothFiles) {
  const Record record = write(model, to("mxint8"));
  ASSERT_EQ(record.manifest.size(), 2u);
  EXPECT_EQ(record.manifest[0].sha256, load_model(model).sha256());
  EXPECT_EQ(record.manifest[1].sha256, load_model(file).sha256());
  EXPECT_EQ(record.manifest[1].bytes, load_model(file).file_bytes);
}

TEST_F(QuantizeModel, ComputeIsStoredOnlyWhenItIsChosen) {
  write(model, to("mxint8"));
  EXPECT_FALSE(load_model(file).graph.metadata.contains("compute"));
  write(model, to("mxint8"), Compute::bf16);
  EXPECT_EQ(load_model(file).graph.metadata.at("compute"), "bf16");
}

// From the values of the first file, not of the original: the second loss adds to the first.
TEST_F(QuantizeModel, AFileCanBeQuantizedAgainInPlace) {
  write(model, to("mxint8"));
  const std::string name = "encoder.layer.0.output.dense.weight";
  const auto values = [&](const std::string& path) {
    const Graph graph = load_model(path).graph;
    return graph.constant(graph.find_constant(name))->to_floats();
  };
  const std::vector<float> eight = values(file);
  write(file, to("mxint4"));
  const Tensor again = pack(parse_format("mxint4"), Tensor::of<float>({32, 64}, eight));
  EXPECT_EQ(values(file), again.to_floats());
}

TEST_F(QuantizeModel, WeightsThatTheFormatHoldsExactlyAreExact) {
  for (float& v : bert.weight("encoder.layer.0.output.dense.weight").tensor.mutable_as<float>()) v = 0.5f;
  bert.write(model);
  const Record record = write(model, to("", {"layer\\.0\\.output\\.dense=mxint8"}));
  const Table& table = table_of(record, "tensors");
  int exact = 0;
  for (size_t row = 0; row < table.rows.size(); ++row)
    if (text_of(cell(table, "after", row)) == "mxint8") {
      EXPECT_EQ(text_of(cell(table, "sqnr_db", row)), "exact");
      ++exact;
    }
  EXPECT_EQ(exact, 1);
}

// What is compiled has the bits of what its definition gives, operation by operation.
TEST_F(QuantizeModel, RoundedInputsOfMxint8AreMultipliedByBlocks) {
  Philox rng(1);
  Graph graph;
  ValueId x = graph.add_input("x", random_floats(rng, {3, 70}).type());
  for (const auto& [name, n, k] : {std::tuple("up", 130, 70), {"down", 40, 130}}) {
    const ValueId w = graph.add_constant(fmt::format("{}.weight", name), random_floats(rng, {n, k}));
    x = ops::relu(
        graph,
        {ops::linear(
            graph, {.x = x, .w = w, .b = graph.add_constant(fmt::format("{}.bias", name), random_floats(rng, {n}))})});
  }
  graph.add_output(x, "y");
  const std::string source = folder / "mlp.safetensors";
  save_artefact(source, graph);
  for (const auto& [weights, activations] :
       {std::pair("mxint8", "mxint8"), {"mxint4", "mxint8"}, {"int4.g32", "int8.g1x0"}}) {
    SCOPED_TRACE(weights);
    QuantizeOptions options = to(weights);
    options.activations = activations;
    const Record record = write(source, options);
    EXPECT_THAT(table_of(record, "activations").note,
                testing::HasSubstr("2 of 2 products of such inputs are of integers"));
    const Graph reopened = load_model(file).graph;
    EXPECT_EQ(reopened.nodes("fake_quant").size(), 2u);
    const Graph prepared = prepare_for_codegen(reopened, Compute::f32);
    EXPECT_EQ(prepared.nodes("block_linear").size(), 2u);
    const NamedTensors inputs{{"x", random_floats(rng, {3, 70}, DType::f32, -2, 3)}};
    EXPECT_TRUE(Session(reopened, {}).run(inputs)[0].same_bits(evaluate(prepared, inputs)[0]));
  }
}

// One layer with an outlier, and a file of inputs for it.
class QuantizeSmallModel : public QuantizeModel {
 protected:
  QuantizeSmallModel() {
    std::vector<float> x(32 * 4);
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i)) * (i % 4 == 1 ? 20.0f : 1.0f);
    write_npy(data, Tensor::of<float>({32, 4}, x));
  }
  QuantizedModel quantized(const QuantizeOptions& options, bool with_data = true) const {
    return quantize_model(load_model(source), options, {}, {.file = with_data ? data : ""});
  }
  // Root mean square of what the quantized model's outputs differ by on the data.
  double error(const QuantizeOptions& options) const {
    const Graph exact = canonicalise(load_model(source).graph), rounded = quantized(options).graph;
    double sum = 0;
    for (const NamedTensors& batch : read_calibration(load_model(source), data, 32).batches) {
      const std::vector<float> a = Session(exact, {}).run(batch)[0].to_floats(),
                               b = Session(rounded, {}).run(batch)[0].to_floats();
      for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return std::sqrt(sum);
  }
  std::string data = folder / "x.npy";
  std::string source = put_graph("small.safetensors", R"(
    %x : f32[B,4] = input
    %w : f32[3,4] = const "fc.weight" {0.31, -0.42, 0.23, 0.17, 1.3, 0.11, -0.7, 0.9, 0.51, 0.37, 0.77, -1.9}
    %b : f32[3] = const "fc.bias" {0.2, 0.4, -0.3}
    %y = linear %x, %w, %b
    return %y)");
};

TEST_F(QuantizeSmallModel, RoundedInputsAndBiasesAreInTheFileAndInTheTables) {
  const Record record = write(source, to("mxint8", {"name:fc.in=int4", "name:fc.bias=int8"}));
  const Table& inputs = table_of(record, "activations");
  EXPECT_EQ(text_of(cell(inputs, "name", 0)), "fc.in");
  EXPECT_EQ(text_of(cell(inputs, "shape", 0)), "[B,4]");
  EXPECT_EQ(text_of(cell(inputs, "after", 0)), "int4");
  EXPECT_EQ(text_of(cell(table_of(record, "tensors"), "after", 1)), "int8");
  EXPECT_EQ(value_of(item(record, "totals", "data_average_bits")), (4 * 4 + 32) / 4.0);  // four codes and a scale
  const Graph reopened = load_model(file).graph,
              written = quantized(to("mxint8", {"name:fc.in=int4", "name:fc.bias=int8"})).graph;
  EXPECT_EQ(reopened.nodes("fake_quant").size(), 1u);
  const NamedTensors x{{"x", Tensor::of<float>({1, 4}, {0.3f, -2, 1.7f, 0.1f})}};
  const Tensor expected = Session(written, {.device = open_device("reference"), .optimise = 0}).run(x)[0];
  EXPECT_TRUE(Session(reopened, {.device = open_device("reference"), .optimise = 0}).run(x)[0].same_bits(expected));
  const std::vector<float> compiled = Session(reopened, {}).run(x)[0].to_floats(), exact = expected.to_floats();
  for (size_t i = 0; i < exact.size(); ++i)
    EXPECT_NEAR(compiled[i], exact[i], 8 * 6 * 0x1p-24);  // six roundings, of products that sum to less than 8
}

TEST_F(QuantizeSmallModel, CalibrationDataLowerTheErrorByEachMethodAndPass) {
  const double nearest = error(to("int4.channel"));
  for (const char* method : {"scale-search", "gptq"}) {
    QuantizeOptions options = to("int4.channel");
    options.method = method;
    EXPECT_LT(error(options), nearest) << method;
  }
  QuantizeOptions awq = to("int4.channel");
  awq.awq_scaling = true;
  EXPECT_LT(error(awq), nearest);
  QuantizeOptions smooth = to("int8.channel");
  smooth.activations = "int4";
  const double unsmoothed = error(smooth);
  smooth.smooth_quant = true;
  EXPECT_LT(error(smooth), unsmoothed);
}

TEST_F(QuantizeSmallModel, SqnrIsOfWhatWasRounded) {
  QuantizeOptions options = to("int8.channel");
  options.awq_scaling = true;
  for (const QuantizedTensor& tensor : quantized(options).tensors)
    if (tensor.choice.format) {
      EXPECT_GT(*tensor.sqnr_db, 35) << tensor.choice.name;
    }
}

TEST_F(QuantizeSmallModel, WhatNeedsDataIsRefusedWithoutThem) {
  for (const char* name : {"smooth-quant", "awq-scaling", "bias-correction"}) {
    QuantizeOptions options = to("int4.channel");
    set_option(quantize_fields(), options, name, {});
    EXPECT_NE(test::error_of([&] { quantized(options, false); }).find(std::string(name) + " needs calibration data"),
              std::string::npos);
  }
  QuantizeOptions options = to("int4.channel");
  options.method = "gptq";
  EXPECT_NE(test::error_of([&] { quantized(options, false); }).find("method gptq needs calibration data"),
            std::string::npos);
}

TEST_F(QuantizeSmallModel, ValuesThatTheFormatCannotHoldAreCounted) {
  const std::string bad = put_graph("bad.safetensors", R"(
    %x : f32[B,4] = input
    %w : f32[2,4] = const "fc.weight" {nan, inf, 1e30, 1, -1e30, 0.001, 2, -inf}
    %y = linear %x, %w
    return %y)");
  QuantizeOptions options = to("int8.f4");
  EXPECT_NE(test::error_of([&] { write(bad, options); }).find("fc.weight: 1 NaN and 2 infinite of 8 values"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(file));
  options.on_nonfinite = "saturate";
  const Record record = write(bad, options);
  const Table& counts = table_of(record, "counts");
  EXPECT_EQ(value_of(cell(counts, "nan", 0)), 1);
  EXPECT_EQ(value_of(cell(counts, "inf", 0)), 2);
  EXPECT_EQ(value_of(cell(counts, "saturated", 0)), 4);  // two of them were infinite
  EXPECT_EQ(value_of(cell(counts, "flushed_to_zero", 0)), 1);
  EXPECT_NE(counts.note.find("on-nonfinite saturate"), std::string::npos);
}

TEST_F(QuantizeSmallModel, APlanForAnotherModelNamesAllThatDiffers) {
  QuantizeOptions options;
  Calibration calibration;
  read_quantize_config(folder.put("plan.toml",
                                  "rule = [\"name:fc.weight=mxint8\", \"name:fc2.weight=mxint4\", "
                                  "\"name:head.weight=mxint8\"]\n"),
                       options, calibration);
  const std::string message = test::error_of([&] { write(source, options); });
  EXPECT_NE(message.find("2 rules give names that the model does not have"), std::string::npos) << message;
  EXPECT_NE(message.find("name:fc2.weight=mxint4"), std::string::npos) << message;
  EXPECT_NE(message.find("name:head.weight=mxint8"), std::string::npos) << message;
}

}  // namespace
}  // namespace hone
