// Latencies as sums over steps: which steps are one, what is measured again, and the file that keeps them. No time is
// held against another.
#include "jobs/latency_table.h"

#include <cmath>
#include <set>

#include "base/json.h"
#include "device/x86/device.h"
#include "device/x86/target.h"
#include "jobs/build_model.h"
#include "jobs/quantize_model.h"
#include "nas/candidate_results.h"
#include "nas/search_model.h"
#include "tests/jobs/jobs_fixture.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

using test::error_of;
using testing::HasSubstr;

constexpr double kSeconds = 0.05;

class LatencyTableTest : public testing::Test {
 protected:
  static Model mlp(const std::string& widths) {
    return build_model({.model = "mlp", .set = {{"widths", widths}, {"num_features", "32"}}, .weights = ""});
  }
  LatencyPrediction predict(LatencyTable& table, const Model& of) const { return table.predict(of, {}, {}, kSeconds); }
  static std::set<std::string> keys(const Model& model, const ShapeOptions& shapes = {},
                                    const SessionOptions& session = {}) {
    std::set<std::string> all;
    for (const PlannedStep& step : planned_steps(model.graph, shapes, session)) all.insert(step.key);
    return all;
  }
  TemporaryFolder folder;
  std::string file = folder / "latencies.json";
};

TEST_F(LatencyTableTest, EqualLayersAreOneStep) {
  const std::set<std::string> first = keys(mlp("[64,64]")), second = keys(mlp("[64,48]"));
  std::vector<std::string> shared;
  std::ranges::set_intersection(first, second, std::back_inserter(shared));
  EXPECT_EQ(shared.size(), 2u);  // 32 to 64, and what is beside the steps
  EXPECT_EQ(keys(mlp("[64,64,64]")).size(), first.size());
  EXPECT_EQ(first.size(), 4u);
}

TEST_F(LatencyTableTest, WhatDecidesAStepDecidesItsKey) {
  const Model model = mlp("[64]");
  const std::set<std::string> usual = keys(model);
  const auto differ = [&](const std::set<std::string>& others, size_t count) {
    std::vector<std::string> only;
    std::ranges::set_difference(others, usual, std::back_inserter(only));
    EXPECT_EQ(only.size(), count);
  };
  differ(keys(model, {.batch = 3}), 3);
  Model rounded = model;
  QuantizeOptions options;
  options.rule = {"name:layers.0.weight=int8"};
  rounded.graph = quantize_model(model, options, std::nullopt).graph;
  differ(keys(rounded), 1);
  std::set<std::string> narrow = keys(model, {}, {.device = x86_device(X86Target(Features().with(Feature::avx2)))}),
                        shared;
  const std::set<std::string> wide =
      keys(model, {}, {.device = x86_device(X86Target(Features().with(Feature::avx512)))});
  std::ranges::set_intersection(narrow, wide, std::inserter(shared, shared.end()));
  EXPECT_EQ(shared.size(), 1u);  // what is beside the steps
}

TEST_F(LatencyTableTest, OnlyNewStepsAreMeasuredAndKept) {
  LatencyTable table(file);
  LatencyPrediction p = predict(table, mlp("[64,64]"));
  EXPECT_EQ(p.steps, 4);
  EXPECT_EQ(p.measured, 4);
  EXPECT_TRUE(p.end_to_end_ms.has_value());
  EXPECT_EQ(predict(table, mlp("[64,64]")).measured, 0);
  EXPECT_EQ(predict(table, mlp("[64,48]")).measured, 2);
  LatencyTable another(file);
  p = predict(another, mlp("[64,48]"));
  EXPECT_EQ(p.measured, 0);
  EXPECT_EQ(p.ms, predict(table, mlp("[64,48]")).ms);
  for (int i = 0; i < 20; ++i) p = predict(another, mlp("[64,64]"));
  EXPECT_FALSE(p.end_to_end_ms.has_value());  // what is known is not run for ever
}

TEST_F(LatencyTableTest, ASumIsWhatTheTableSays) {
  LatencyTable(file).predict(mlp("[64,64]"), {}, {}, kSeconds);
  Json tree = read_json_file(file);
  ASSERT_EQ(tree.size(), 1u);
  int64_t steps = 0;
  for (auto& [key, step] : tree.begin().value().items()) {
    step["ms"] = std::ldexp(1.0, static_cast<int>(steps++));
    EXPECT_NE(step["what"], "");
  }
  folder.put("latencies.json", tree.dump());
  LatencyTable table(file);
  double sum = 0;
  for (const PlannedStep& step : planned_steps(mlp("[64,64,64]").graph, {}, {}))
    sum += tree.begin().value().at(step.key).at("ms").get<double>();
  EXPECT_EQ(predict(table, mlp("[64,64,64]")).ms, sum);
  EXPECT_EQ(predict(table, mlp("[64,64]")).ms, 15);  // each of four once
}

TEST_F(LatencyTableTest, OtherMachinesStayInTheFile) {
  folder.put("latencies.json", R"({"a PDP-11, 1 thread": {"k": {"ms": 1e6, "what": "gemm"}}})");
  LatencyTable table(file);
  EXPECT_EQ(predict(table, mlp("[64]")).measured, 3);
  const Json tree = read_json_file(file);
  EXPECT_EQ(tree.size(), 2u);
  EXPECT_EQ(tree.at("a PDP-11, 1 thread").at("k").at("ms"), 1e6);
}

TEST_F(LatencyTableTest, DamagedFilesSayWhatToDo) {
  for (const char* text :
       {"", "{", "[]", R"({"m": 3})", R"({"m": {"k": 3}})", R"({"m": {"k": {"ms": -1, "what": ""}}})",
        R"({"m": {"k": {"ms": "1", "what": ""}}})", R"({"m": {"k": {"ms": 1}}})"}) {
    folder.put("latencies.json", text);
    LatencyTable table(file);
    EXPECT_THAT(error_of([&] { predict(table, mlp("[64]")); }), testing::AllOf(HasSubstr(file), HasSubstr("Delete it")))
        << text;
  }
}

TEST_F(LatencyTableTest, InterpretedModelsHaveNone) {
  EXPECT_THAT(error_of([&] { planned_steps(mlp("[8]").graph, {}, {.optimise = 1}); }), HasSubstr("compiled steps"));
}

TEST_F(LatencyTableTest, ASearchGoesByItAndMeasuresItsError) {
  const Json tree = parse_json(R"({"model": "mlp", "objective": ["predicted_latency", "-parameters"], "trials": 4,
      "sampler": "grid", "latency-seconds": 0.05, "budget": "predicted_latency<=1000",
      "parameters": {"build.widths": ["[16]", "[32]", "[64]", "[128]"]}})",
                               "test");
  Json all = tree;
  all["latency-table"] = file;
  const SearchResult result = search_model({.tree = all, .source = "s.toml", .storage = folder / "s.db"});
  ASSERT_EQ(result.studies.at(0).trials->size(), 4u);
  for (const TrialPtr& trial : *result.studies[0].trials) {
    EXPECT_GT(figures_of(*trial).at("predicted_latency"), 0);
    EXPECT_GT(figures_of(*trial).at("latency"), 0);  // of the chosen ones, whole runs say how far off it is
  }
  EXPECT_TRUE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace hone
