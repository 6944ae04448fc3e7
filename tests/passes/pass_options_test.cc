#include "passes/pass_options.h"

#include <gtest/gtest.h>

#include <set>

#include "base/registry.h"
#include "passes/lower/set_compute.h"
#include "passes/pipelines.h"
#include "passes/registry.h"
#include "tests/passes/quantized_graphs.h"

namespace hone {
namespace {

using test::error_of;
using test::two_layers;

// What is no struct of options, and what is several, is none of a pass.
static_assert(std::is_constructible_v<PassOptions, SmoothQuantOptions, FormatRules>);
static_assert(!std::is_constructible_v<PassOptions, Compute>);
static_assert(!std::is_constructible_v<PassOptions, double>);
static_assert(!std::is_constructible_v<PassOptions, QuantizeOptions>);

// A function is a pass where its parameters beside the graph and the context are options of passes.
template <auto function>
concept IsPass = requires {
  detail::WithOptions<function>::run;
};
[[maybe_unused]] Graph takes_options(Graph graph, const PassContext&, const FormatRules&, const SmoothQuantOptions&) {
  return graph;
}
[[maybe_unused]] Graph takes_a_number(Graph graph, const PassContext&, const double&) { return graph; }
[[maybe_unused]] Graph takes_none(Graph graph, const PassContext&) { return graph; }
static_assert(IsPass<takes_options>);
static_assert(IsPass<takes_none>);
static_assert(!IsPass<takes_a_number>);

std::string error_of_setting(std::string_view name, const std::vector<std::string>& values) {
  return error_of([&] {
    PassOptions options;
    options.set(name, values);
  });
}

TEST(PassOptions, AreAsTheirStructHasThemUntilTheyAreSet) {
  PassOptions options;
  EXPECT_EQ(options.get<SmoothQuantOptions>().alpha, 0.5);
  options.set("smooth_quant.alpha", {"0.25"});
  options.set("quantize.rule", {"a=mxint8"});
  options.set("quantize.rule", {"b=mxint4"});
  options.set("round_weights.activation-order", {"false"});
  EXPECT_EQ(options.get<SmoothQuantOptions>().alpha, 0.25);
  EXPECT_EQ(options.get<FormatRules>().rule, (std::vector<std::string>{"a=mxint8", "b=mxint4"}));
  EXPECT_FALSE(options.get<RoundingOptions>().activation_order);
  const PassOptions copy = options;
  options.set("smooth_quant.alpha", {"1"});
  EXPECT_EQ(copy.get<SmoothQuantOptions>().alpha, 0.25);
}

TEST(PassOptions, RefuseWhatNoPassHasAndWhatItDoesNotAccept) {
  EXPECT_NE(error_of_setting("smoth_quant.alpha", {"1"}).find("Did you mean smooth_quant"), std::string::npos);
  EXPECT_EQ(error_of_setting("smooth_quant.alpa", {"1"}),
            "pass smooth_quant: unknown option alpa; known: alpha. Did you mean alpha?");
  EXPECT_EQ(error_of_setting("smooth_quant.alpha", {"much"}),
            "pass smooth_quant: option alpha: expected a number, found \"much\"");
  EXPECT_NE(error_of_setting("set_compute.compute", {"f64"}).find("known: f32, bf16"), std::string::npos);
  EXPECT_EQ(error_of_setting("remove_dead.alpha", {"1"}), "pass remove_dead has no options of its own");
  EXPECT_EQ(error_of_setting("awq_scaling.to", {"int4"}),
            "pass awq_scaling has no options of its own; it takes those of quantize");
  EXPECT_NE(error_of_setting("alpha", {"1"}).find("expected the name of a pass, a dot"), std::string::npos);
}

TEST(PassOptions, ThatNothingTakesAreRefusedBeforeAnythingRuns) {
  int ran = 0;
  const PipelineOptions counted{.after = [&](const PassDef&, const Graph&, double) { ++ran; }};
  const std::string expected = "options of pass smooth_quant are given, and nothing that runs takes them";
  EXPECT_EQ(error_of([&] { run_pass(two_layers(), "remove_dead", {SmoothQuantOptions()}, counted); }), expected);
  EXPECT_EQ(error_of([&] {
              run_passes(two_layers(), {"remove_dead", "quantize"}, {PassOptions(FormatRules(), SmoothQuantOptions())},
                         counted);
            }),
            expected);
  EXPECT_EQ(error_of([&] { run_passes(two_layers(), {}, {SmoothQuantOptions()}, counted); }), expected);
  EXPECT_EQ(ran, 0);
}

TEST(PassOptions, ThatAPassRequiresAreAskedForBeforeAnythingRuns) {
  int ran = 0;
  const PipelineOptions counted{.after = [&](const PassDef&, const Graph&, double) { ++ran; }};
  for (const PassContext& context : {PassContext(), PassContext{SetComputeOptions()}})
    EXPECT_EQ(error_of([&] {
                run_passes(two_layers(), {"remove_dead", "set_compute"}, context, counted);
              }),
              "pass set_compute needs the option set_compute.compute");
  EXPECT_EQ(ran, 0);
  PassContext given;
  given.options.set("set_compute.compute", {"bf16"});
  EXPECT_GT(run_passes(two_layers(), {"remove_dead", "set_compute"}, given, counted).nodes("cast").size(), 0u);
  EXPECT_EQ(ran, 2);
}

TEST(PassOptions, AreOfAPassThatTakesThemAndNoOtherHasTheirName) {
  std::map<std::string, const OptionTable*> owners;
  for (const PassDef* pass : passes::all())
    for (const OptionTable* table : pass->run.options()) {
      const PassDef* owner = find_def(passes::all(), table->pass);
      ASSERT_TRUE(owner) << table->pass;
      EXPECT_EQ(std::ranges::count(owner->run.options(), table), 1) << table->pass;
      EXPECT_EQ(owners.try_emplace(table->pass, table).first->second, table) << table->pass;
    }
}

TEST(PassOptions, OfThePassesThatQuantizeAreAllOptionsOfQuantize) {
  const std::vector<std::string> names = option_names(quantize_fields());
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  for (const OptionTable* table : options_of_passes({}).given())
    for (const OptionInfo& option : table->fields())
      EXPECT_EQ(std::ranges::count(names, option.name), 1) << table->pass << "." << option.name;
  QuantizeOptions options;
  set_option(quantize_fields(), options, "damping", {"0.125"});
  set_option(quantize_fields(), options, "alpha", {"0.75"});
  const PassOptions passes = options_of_passes(options);
  EXPECT_EQ(passes.get<RoundingOptions>().damping, 0.125);
  EXPECT_EQ(passes.get<SmoothQuantOptions>().alpha, 0.75);
}

TEST(PassOptions, AreDescribedByTheirTable) {
  const std::vector<OptionInfo> rounding = option_table<RoundingOptions>.fields();
  ASSERT_EQ(rounding.size(), 3u);
  EXPECT_STREQ(rounding[1].name, "damping");
  EXPECT_STREQ(to_string(rounding[1].kind), "number");
  EXPECT_EQ(rounding[1].default_text, "0.01");
  EXPECT_EQ(rounding[2].default_text, "true");
  EXPECT_TRUE(option_table<SetComputeOptions>.fields()[0].required);
}

TEST(Options, OfQuantizeAreDocumentedAndChecked) {
  for (const OptionField<QuantizeOptions>& field : quantize_fields())
    EXPECT_GT(std::string(field.doc).size(), 10u) << field.name;
  QuantizeOptions o;
  set_option(quantize_fields(), o, "to", {"mxint8"});
  EXPECT_EQ(o.to, "mxint8");
  EXPECT_THROW(set_option(quantize_fields(), o, "to", {"mxint9"}), FormatError);
  EXPECT_THROW(set_option(quantize_fields(), o, "rule", {"layer"}), Error);
  EXPECT_THROW(set_option(quantize_fields(), o, "skip", {"("}), Error);
}

}  // namespace
}  // namespace hone
