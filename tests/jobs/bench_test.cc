// The record of a comparison: what it must hold, and what it must not claim.
#include "views/bench.h"

#include "base/stop.h"
#include "base/text.h"
#include "report/json.h"
#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;

class BenchJob : public JobsTest {
 protected:
  struct Benchmark : TimeModelsOptions {
    std::vector<std::string> models;
    TaskContext context;
  };
  Benchmark quick(std::vector<std::string> models) const {
    Benchmark options;
    options.models = std::move(models);
    options.open.shapes.sequence = 16;
    options.seconds = 0.1;
    options.open.session.cache_folder = folder / "cache";
    return options;
  }
  static BenchResult timed(const Benchmark& options) {
    std::vector<Model> models;
    for (const std::string& path : options.models) models.push_back(load_model(path));
    return time_models(models, options, options.context);
  }
  static Record bench(const Benchmark& options) { return view_of(timed(options)); }
};

TEST_F(BenchJob, RowsHaveTheKeysThatScriptsRead) {
  Benchmark options = quick({model});
  options.open.shapes.batch = 2;
  const Json json = to_json(bench(options));
  const Json& row = json.at("results").at(0);
  for (const char* key : {"model", "batch", "threads", "compute", "median_ms", "ci95_ms", "compile_cold_ms",
                          "compile_warm_ms", "first_result_ms", "weight_bytes", "peak_bytes"})
    EXPECT_TRUE(row.contains(key)) << key;
  EXPECT_EQ(row["batch"], 2);
  EXPECT_EQ(row["threads"], 1);
  for (const char* key : {"compile_cold_ms", "first_result_ms", "peak_bytes"})
    EXPECT_TRUE(row[key].is_null()) << key;  // no program was given
  EXPECT_FALSE(json.contains("comparison"));
  EXPECT_FALSE(json["machine"].empty());
  EXPECT_EQ(json["manifest"][0]["sha256"], load_model(model).sha256());
}

// The first process finds an empty cache, the others what it left.
TEST_F(BenchJob, ColdAndWarmFiguresComeFromDifferentProcesses) {
  Benchmark options = quick({model});
  ProbeResult cold, warm;
  cold.compile_ms = 40, warm.compile_ms = 0.5;
  cold.peak_bytes = 1, warm.peak_bytes = 3 << 20;
  options.context.new_process = starts(put_probed_program(cold, warm));
  const Json json = to_json(bench(options));
  const Json& row = json.at("results").at(0);
  EXPECT_EQ(row["compile_cold_ms"], 40);
  EXPECT_EQ(row["compile_warm_ms"], 0.5);
  EXPECT_EQ(row["peak_bytes"], 3 << 20);
  EXPECT_GT(row["first_result_ms"].get<double>(), 0);
}

// Whatever was measured: the words follow the interval, in the row and in the findings.
TEST_F(BenchJob, FasterAndSlowerAreSaidOnlyWhenTheIntervalExcludesOne) {
  const Record record = bench(quick({model, quantized("mxint8"), model}));
  const Table& table = table_of(record, "comparison");
  ASSERT_EQ(table.rows.size(), 2u);
  ASSERT_EQ(record.findings.size(), 2u);
  for (size_t row = 0; row < 2; ++row) {
    const Number ratio = std::get<Number>(cell(table, "speed_ratio", row));
    ASSERT_TRUE(ratio.interval);
    const bool faster = ratio.interval->low > 1, slower = ratio.interval->high < 1;
    for (const std::string& said : {text_of(cell(table, "verdict", row)), record.findings[row]}) {
      EXPECT_EQ(said.find("faster") != std::string::npos, faster) << said;
      EXPECT_EQ(said.find("slower") != std::string::npos, slower) << said;
      EXPECT_EQ(said.find("no difference") != std::string::npos, !faster && !slower) << said;
    }
  }
  EXPECT_DOUBLE_EQ(value_of(cell(table, "cosine", 1)), 1);
  EXPECT_EQ(value_of(cell(table, "max_abs_error", 1)), 0);
  EXPECT_EQ(value_of(cell(table, "size_ratio", 1)), 1);
  EXPECT_LT(value_of(cell(table, "cosine", 0)), 1);
}

TEST_F(BenchJob, OnlyModelsWithTheSameInputsAreCompared) {
  const std::string four = put_graph("four.safetensors", "%x : f32[B,4] = input \"x\" %r = relu %x return %r");
  const std::string five = put_graph("five.safetensors", "%x : f32[B,5] = input \"x\" %r = relu %x return %r");
  const std::string other = put_graph("other.safetensors", "%y : f32[B,4] = input \"y\" %r = relu %y return %r");
  const std::string halves = put_graph("halves.safetensors", "%x : bf16[B,4] = input \"x\" %r = relu %x return %r");
  for (const std::string& b : {five, other, halves})
    EXPECT_THAT(error_of([&] {
                  bench(quick({four, b}));
                }),
                testing::AllOf(HasSubstr(four), HasSubstr(b), HasSubstr("same inputs")))
        << b;
  EXPECT_EQ(error_of([&] { bench(quick({four, four})); }), "");
}

TEST_F(BenchJob, GivenInputsAreUsedAndChecked) {
  const std::string four = put_graph("four.safetensors", "%x : f32[B,4] = input \"x\" %r = relu %x return %r");
  Benchmark options = quick({four});
  options.open.given = {{"x", Tensor(DType::f32, {3, 4})}};
  EXPECT_EQ(value_of(cell(table_of(bench(options), "results"), "batch", 0)), 3);
  options.open.given = {{"x", Tensor(DType::f32, {3, 5})}};
  EXPECT_THAT(error_of([&] { bench(options); }), HasSubstr("\"x\""));
  EXPECT_THAT(error_of([&] { bench(quick({})); }), HasSubstr("no model"));
}

TEST_F(BenchJob, ModelsThatGiveOtherOutputsAreNotCompared) {
  const std::string y = put_graph("y.safetensors", "%x : f32[4] = input \"x\" %r = relu %x return %r as \"y\"");
  const std::string z = put_graph("z.safetensors", "%x : f32[4] = input \"x\" %r = relu %x return %r as \"z\"");
  EXPECT_THAT(error_of([&] {
                bench(quick({y, z}));
              }),
              testing::AllOf(HasSubstr("same outputs"), HasSubstr("z: f32[4]")));
}

TEST_F(BenchJob, NoSpeedIsClaimedForAnotherFunction) {
  const std::string same = put_graph("same.safetensors", "%x : f32[64] = input \"x\" %r = neg %x return %r as \"y\"");
  const std::string other = put_graph("other.safetensors", "%x : f32[64] = input \"x\" %r = exp %x return %r as \"y\"");
  const Record record = bench(quick({same, other}));
  EXPECT_THAT(text_of(cell(table_of(record, "comparison"), "verdict", 0)), HasSubstr("no speed claimed"));
  EXPECT_THAT(record.findings.at(0), HasSubstr("no speed claimed"));
}

TEST_F(BenchJob, MoreThreadsThanCpusIsSaid) {
  Benchmark options = quick({model});
  EXPECT_TRUE(bench(options).findings.empty());
  options.open.session.threads = 64;
  const Record record = bench(options);
  ASSERT_EQ(record.findings.size(), 1u);
  EXPECT_THAT(record.findings[0], testing::AllOf(HasSubstr("OVERSUBSCRIBED"), HasSubstr("64 threads")));
  EXPECT_EQ(value_of(item(record, "conditions", "threads")), 64);
}

TEST_F(BenchJob, SamplesHaveALinePerRoundAndAColumnPerModel) {
  const BenchResult result = timed(quick({model, model}));
  const std::vector<std::string> lines = split(samples_csv(result), '\n');
  EXPECT_EQ(lines[0], "placement,model0_ns,model1_ns");
  EXPECT_EQ(std::ssize(lines) - 2, result.models[0].timing.n());
  EXPECT_EQ(value_of(item(view_of(result), "conditions", "rounds")), result.models[0].timing.n());
}

// A model without a file can't be opened by another process.
TEST_F(BenchJob, OnlyModelsInFilesGetProcessesOfTheirOwn) {
  Model made;
  made.name = "made";
  made.graph = test::parse("%x : f32[64] = input \"x\" %r = neg %x return %r as \"y\"");
  int started = 0;
  const TaskContext context{.new_process = [&](const ProbeOptions&) { return ++started, ProbeResult(); }};
  const BenchResult result = time_models({&made, 1}, quick({}), context);
  EXPECT_EQ(started, 0);
  EXPECT_TRUE(result.models.at(0).probes.cold.empty());
  made.path = put_graph("made.safetensors", "%x : f32[64] = input \"x\" %r = neg %x return %r as \"y\"");
  EXPECT_FALSE(time_models({&made, 1}, quick({}), context).models.at(0).probes.cold.empty());
  EXPECT_GT(started, 0);
}

TEST_F(BenchJob, ACancelledOneStopsBeforeItIsTimed) {
  const Model loaded = load_model(model);
  EXPECT_THROW(time_models({&loaded, 1}, quick({}), {.cancelled = [] { return true; }}), Stopped);
}

// Two models of few kernels: a set-up compiles them anew.
class LabProtocol : public BenchJob {
 protected:
  const std::string first =
      put_graph("first.safetensors", "%x : f32[64] = input \"x\" %r = tanh %x return %r as \"y\"");
  const std::string second =
      put_graph("second.safetensors", "%x : f32[64] = input \"x\" %r = tanh %x return %r as \"y\"");
};

// The five runs cost what compiling, laying out and running cost; the totals follow from those and the fair median.
TEST_F(LabProtocol, IsTakenApart) {
  Benchmark options = quick({first, second});
  options.lab = true;
  const Record record = bench(options);
  const Table& lab = table_of(record, "lab");
  ASSERT_EQ(lab.rows.size(), 2u);
  for (size_t row = 0; row < 2; ++row) {
    const auto of = [&](const char* key) { return value_of(cell(lab, key, row)); };
    EXPECT_GT(of("compile_ms"), 0);
    EXPECT_GT(of("first_ms"), 0);
    const double once = of("compile_ms") + of("prepack_ms") + of("first_ms");
    EXPECT_GT(of("lab_mean_ms"), 0);
    EXPECT_NEAR(of("total_1_s"), once * 1e-3, 1e-12);
    EXPECT_NEAR(of("total_1000_s"), (once + 999 * of("median_ms")) * 1e-3, 1e-9);
  }
  EXPECT_TRUE(is_empty(cell(lab, "break_even_runs", 0)));
  std::string words;
  for (const Section& section : record.sections)
    for (const Block& block : section.blocks)
      if (const Text* text = std::get_if<Text>(&block)) words += text->text;
  EXPECT_THAT(words, HasSubstr("second.safetensors against first.safetensors, by the lab protocol: "));
}

// One verdict: what pays stands only where a run is shown to be faster, and says the same in both tables and in words.
TEST_F(LabProtocol, WhatPaysFollowsFromTheVerdict) {
  ProbeResult cold;
  cold.compile_ms = 40;
  for (const bool lab : {false, true}) {
    Benchmark options = quick({first, second, first});
    options.lab = lab;
    options.context.new_process = starts(put_probed_program(cold, ProbeResult()));
    const Record record = bench(options);
    const Table& table = table_of(record, "comparison");
    std::string words;
    for (const Section& section : record.sections)
      for (const Block& block : section.blocks)
        if (const Text* text = std::get_if<Text>(&block)) words += text->text;
    for (size_t row = 0; row < 2; ++row) {
      const bool faster = text_of(cell(table, "verdict", row)).find("faster") != std::string::npos;
      EXPECT_EQ(!is_empty(cell(table, "break_even_runs", row)), faster);
      EXPECT_EQ(!is_empty(cell(table, "break_even_s", row)), faster);
      if (!lab) continue;
      const Cell of_lab = cell(table_of(record, "lab"), "break_even_runs", row + 1);
      EXPECT_EQ(is_empty(of_lab), !faster);
      if (faster) {
        EXPECT_EQ(value_of(of_lab), value_of(cell(table, "break_even_runs", row)));
      }
      EXPECT_THAT(words, HasSubstr("by the fair one: " + text_of(cell(table, "verdict", row)) + "."));
    }
  }
}

TEST_F(BenchJob, ResultsThatAreNotFiniteAreNamedOnDemand) {
  const std::string logs = put_graph("logs.safetensors", "%x : f32[64] = input \"x\" %r = log %x return %r as \"y\"");
  Benchmark options = quick({logs});
  EXPECT_EQ(error_of([&] { bench(options); }), "");
  options.open.check_finite = true;
  EXPECT_THAT(error_of([&] { bench(options); }), testing::AllOf(HasSubstr("%r"), HasSubstr("log"), HasSubstr("NaN")));
}

}  // namespace
}  // namespace hone
