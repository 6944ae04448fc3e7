// Which constants and which inputs of layers get which format, and why: rules, defaults, and what is refused.
#include <gtest/gtest.h>

#include "passes/pipelines.h"
#include "tests/passes/quantized_graphs.h"

namespace hone {
namespace {

using test::convolutions;
using test::error_of;
using test::two_layers;
using test::with_rules;

std::map<std::string, QuantizeChoice> plan(const FormatRules& options) {
  std::map<std::string, QuantizeChoice> choices;
  const QuantizationPlan plan = plan_quantization(two_layers(), options);
  for (const QuantizeChoice& choice : plan.constants) choices[choice.name] = choice;
  for (const QuantizeChoice& choice : plan.activations) choices[choice.name] = choice;
  return choices;
}

TEST(PlanQuantization, DefaultTakesWeightsAndTablesAndKeepsBiasesAndNorms) {
  auto choices = plan({.to = "mxint8", .rule = {}, .skip = {}, .activations = ""});
  EXPECT_EQ(choices.size(), 6u + 2);
  for (const char* name : {"emb.weight", "layer.0.dense.weight", "layer.1.dense.weight"}) {
    EXPECT_EQ(choices[name].after, "mxint8") << name;
    EXPECT_EQ(choices[name].before, "fp32");
    EXPECT_EQ(choices[name].decided_by, "to mxint8");
  }
  for (const char* name : {"ln.weight", "ln.bias", "layer.0.dense.bias", "layer.0.dense.in", "layer.1.dense.in"}) {
    EXPECT_EQ(choices[name].after, "fp32") << name;
    EXPECT_FALSE(choices[name].format);
    EXPECT_EQ(choices[name].decided_by, "kept by default");
  }
}

TEST(PlanQuantization, TheLastMatchDecidesAndSaysWhatItOverrode) {
  auto choices = plan({.to = "mxint8",
                       .rule = {"op:linear=mxfp4", "layer=int8", "name:layer.1.dense.weight=mxfp8_e4m3.rule=rceil"},
                       .skip = {},
                       .activations = ""});
  EXPECT_EQ(choices["emb.weight"].after, "mxint8");
  EXPECT_EQ(choices["layer.0.dense.weight"].after, "int8");
  EXPECT_EQ(choices["layer.0.dense.weight"].overridden, (std::vector<std::string>{"op:linear=mxfp4"}));
  EXPECT_EQ(choices["layer.1.dense.weight"].after, "mxfp8_e4m3.rule=rceil");
  EXPECT_EQ(choices["layer.1.dense.weight"].overridden, (std::vector<std::string>{"op:linear=mxfp4", "layer=int8"}));
}

TEST(PlanQuantization, NamesReachWhatIsKeptAndExpressionsDoNot) {
  auto choices = plan({.to = "", .rule = {"name:layer.0.dense.bias=fp16", ".*=mxint8"}, .skip = {}, .activations = ""});
  EXPECT_EQ(choices["layer.0.dense.bias"].after, "fp16");
  EXPECT_EQ(choices["emb.weight"].after, "mxint8");
  EXPECT_EQ(choices["ln.weight"].after, "fp32");
}

TEST(PlanQuantization, KeepAndSkipLeaveTensorsAlone) {
  auto choices = plan({.to = "mxint8", .rule = {"layer.0=keep"}, .skip = {"^emb"}, .activations = ""});
  EXPECT_EQ(choices["layer.0.dense.weight"].after, "fp32");
  EXPECT_EQ(choices["layer.0.dense.weight"].decided_by, "layer.0=keep");
  EXPECT_EQ(choices["emb.weight"].after, "fp32");
  EXPECT_EQ(choices["emb.weight"].decided_by, "skip ^emb");
  EXPECT_EQ(choices["layer.1.dense.weight"].after, "mxint8");
}

TEST(PlanQuantization, RefusesRulesWithTheNextStep) {
  struct Wrong {
    const char* rule;
    const char* message;
  };
  for (const Wrong& wrong : std::initializer_list<Wrong>{
           {"name:layer.0.dense.weights=mxint8", "Did you mean layer.0.dense.weight"},
           {"layer.7=mxint8", "matches nothing. Did you mean layer.0.dense.weight"},
           {"layr\\.[0-9]+\\.dens=mxint8", "Did you mean layer.0.dense.weight"},
           {"zzzz=mxint8", "matches nothing; there are 3 such names, e.g. emb.weight"},
           {"bias=mxint8", "give its exact name: name:ln.bias"},
           {"op:conv=mxint8", "no weight of an op conv; ops that have one: gather, linear"},
           {"op:linaer=mxint8", "Did you mean linear"},
           {"layer", "expected address=format"},
           {"layer=mxint9", "rule \"layer=mxint9\""},
           {"=mxint8", "nothing stands before the format"},
           {"(=mxint8", "is not a regular expression"},
           {"(layer)\\1=mxint8", "invalid escape sequence"},
           {"(?=layer)=mxint8", "invalid perl operator"},
           {"layer.0=int8.channel.ax5", "layer.0.dense.weight of shape [2,4]"},
       }) {
    const std::string message =
        error_of([&] { plan({.to = "", .rule = {wrong.rule}, .skip = {}, .activations = ""}); });
    EXPECT_NE(message.find(wrong.message), std::string::npos) << wrong.rule << " gives: " << message;
  }
  EXPECT_NE(
      error_of([] { plan({.to = "mxint8", .rule = {}, .skip = {"nothing"}, .activations = ""}); }).find("skip nothing"),
      std::string::npos);
  EXPECT_NE(error_of([] { plan({}); }).find("nothing to quantize"), std::string::npos);
}

// std::regex recursed over the name, or took time that grows with its square.
TEST(PlanQuantization, PatternsTakeTimeThatIsLinearInTheName) {
  Graph graph = test::parse(R"(
    %x : f32[N,4] = input "x"
    %w : f32[4,4] = const "w" {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}
    %y = linear %x, %w
    return %y as "y")");
  std::string label(1'000'000, 'a');
  label.append(".weight");
  graph.set_label(graph.find_constant("w"), label);
  for (const char* pattern : {"(a|b)*c", ".*b", "(a*)*b", "(a+)+$b"})
    EXPECT_NE(error_of([&] {
                plan_quantization(graph, {.to = "int8", .rule = {}, .skip = {pattern}, .activations = ""});
              }).find("matches nothing"),
              std::string::npos)
        << pattern;
}

TEST(PlanQuantization, TheDefaultKeepsWindowsThatItsBlocksWouldMakeLarger) {
  const auto after = [](const FormatRules& options) {
    std::map<std::string, QuantizeChoice> choices;
    for (QuantizeChoice& choice : plan_quantization(convolutions(), options).constants) choices[choice.name] = choice;
    return choices;
  };
  auto by_default = after({.to = "int8.g128", .rule = {}, .skip = {}, .activations = ""});
  EXPECT_EQ(by_default["dense"].after, "int8.g128");  // 132 bytes a row instead of 144
  EXPECT_EQ(by_default["depthwise"].after, "fp32");
  EXPECT_EQ(by_default["depthwise"].decided_by, "kept: larger as int8.g128");
  EXPECT_EQ(by_default["depthwise"].shape, (std::vector<int64_t>{4, 1, 3, 3}));
  EXPECT_EQ(after({.to = "int32.f2", .rule = {}, .skip = {}, .activations = ""})["depthwise"].after, "int32.f2");  // as large
  EXPECT_EQ(after({.to = "", .rule = {"depthwise=int8.g128"}, .skip = {}, .activations = ""})["depthwise"].after,
            "int8.g128");
}

TEST(PlanQuantization, InputsAndBiasesOfLayersHaveAddresses) {
  auto choices = plan(with_rules({"layer\\.\\d\\..*\\.in=int8", "op:linear.bias=fp16", "name:layer.1.dense.in=mxint8",
                                  "op:linear.weight=mxint4"}));
  EXPECT_EQ(choices["layer.0.dense.in"].after, "int8");
  EXPECT_EQ(choices["layer.1.dense.in"].after, "mxint8");
  EXPECT_EQ(choices["layer.1.dense.in"].overridden, (std::vector<std::string>{"layer\\.\\d\\..*\\.in=int8"}));
  EXPECT_EQ(choices["layer.0.dense.bias"].after, "fp16");
  EXPECT_EQ(choices["layer.0.dense.weight"].after, "mxint4");
  EXPECT_EQ(choices["emb.weight"].after, "fp32");
  EXPECT_EQ(choices["ln.bias"].after, "fp32");  // no layer's
  EXPECT_EQ(plan(with_rules({".*\\.bias$=int8"}))["layer.0.dense.bias"].after, "int8");
}

TEST(PlanQuantization, ExpressionsWithoutAPartAreAboutWeightsAlone) {
  auto choices = plan(with_rules({".*=mxint8"}));
  EXPECT_EQ(choices["layer.0.dense.weight"].after, "mxint8");
  EXPECT_EQ(choices["layer.0.dense.in"].after, "fp32");
  EXPECT_EQ(choices["layer.0.dense.bias"].after, "fp32");
}

TEST(PlanQuantization, FormatsMayEndInWhatIsAFormatItself) {
  EXPECT_EQ(plan(with_rules({"layer.0=int4.g32.s=bf16"}))["layer.0.dense.weight"].after, "int4.g32.s=bf16");
  EXPECT_EQ(plan(with_rules({"layer[.=]0=bf16"}))["layer.0.dense.weight"].after, "bf16");
}

TEST(PlanQuantization, ActivationsIsTheDefaultOfInputsAndRulesAndSkipsWinOverIt) {
  FormatRules options = with_rules({"layer.0.*\\.in=int4"});
  options.activations = "int8";
  EXPECT_EQ(plan(options)["layer.0.dense.in"].after, "int4");
  EXPECT_EQ(plan(options)["layer.1.dense.in"].after, "int8");
  EXPECT_EQ(plan(options)["layer.1.dense.in"].decided_by, "activations int8");
  options.skip = {"layer.1.*\\.in"};
  EXPECT_EQ(plan(options)["layer.1.dense.in"].after, "fp32");
}

TEST(PlanQuantization, IntegersAreTheDefaultOfWhatMeetsWeightsOtherFormatsOfAllProducts) {
  const Graph graph = test::parse(R"(
    %x : f32[N,4] = input "x"
    %w : f32[4,4] = const "w" {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}
    %y = linear %x, %w
    %t = transpose %x {perm=[1,0]}
    %z = matmul %y, %t
    return %z as "z")");
  const auto after = [&](const std::string& activations, std::vector<std::string> rules = {}) {
    FormatRules options = with_rules(std::move(rules));
    options.activations = activations;
    std::vector<std::string> formats;
    for (const QuantizeChoice& choice : plan_quantization(graph, options).activations) formats.push_back(choice.after);
    return formats;
  };
  for (const char* format : {"int8", "int8.g1x0", "uint8.asym", "int8@min-max", "mxint8"})
    EXPECT_EQ(after(format), (std::vector<std::string>{format, "fp32"}));
  EXPECT_EQ(after("int8", {"op:matmul.in=int8"}), (std::vector<std::string>{"int8", "int8"}));
  for (const char* format : {"bfp12", "int4", "mxfp4"}) EXPECT_EQ(after(format), (std::vector<std::string>{format, format}));
}

TEST(PlanQuantization, AllNamesThatTheModelDoesNotHaveAreInOneError) {
  const std::string message = error_of([] {
    plan(with_rules({"name:layer.0.dens.weight=mxint8", "name:layer.0.dense.weight=mxint8",
                     "name:layer.9.dense.in=int8", "name:completely.different=int8"}));
  });
  for (const char* part : {"3 rules give names that the model does not have; are they for another model?",
                           "name:layer.0.dens.weight=mxint8", "Did you mean layer.0.dense.weight",
                           "name:layer.9.dense.in=int8", "Did you mean layer.0.dense.in", "name:completely.different"})
    EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
  EXPECT_EQ(message.find("name:layer.0.dense.weight=mxint8"), std::string::npos) << message;
}

TEST(PlanQuantization, RefusesInputsAndBiasesThatAreNot) {
  EXPECT_NE(
      error_of([] { plan(with_rules({"op:conv.in=int8"})); }).find("no input of an op conv; ops that have one: linear"),
      std::string::npos);
  EXPECT_NE(error_of([] {
              plan(with_rules({"op:gather.bias=int8"}));
            }).find("no bias of an op gather; ops that have one: linear"),
            std::string::npos);
  EXPECT_NE(error_of([] { plan(with_rules({"pooler.*\\.in=int8"})); }).find("e.g. layer.0.dense.in"),
            std::string::npos);
  EXPECT_NE(error_of([] { plan(with_rules({"op:linear.in=int8.channel.ax3"})); }).find("layer.0.dense.in of shape"),
            std::string::npos);
}

TEST(PlanQuantization, InputsMayHaveScalesThatAnObserverChooses) {
  auto choices = plan({.to = "", .rule = {"op:linear.in=uint8.asym@mse"}, .skip = {}, .activations = "int8@min-max"});
  EXPECT_EQ(choices["layer.0.dense.in"].after, "uint8.asym@mse");
  EXPECT_EQ(choices["layer.0.dense.in"].observer, "mse");
  EXPECT_EQ(choices["layer.0.dense.in"].decided_by, "op:linear.in=uint8.asym@mse");
  choices = plan({.to = "", .rule = {"layer.0.*\\.in=keep"}, .skip = {}, .activations = "int8@min-max"});
  EXPECT_EQ(choices["layer.1.dense.in"].after, "int8@min-max");
  EXPECT_FALSE(choices["layer.0.dense.in"].format);
}

TEST(PlanQuantization, ObserversOfWhatHasNoneAreRefused) {
  const auto error = [](const std::string& rule) {
    return error_of([&] { plan({.to = "", .rule = {rule}, .skip = {}, .activations = ""}); });
  };
  EXPECT_EQ(error("op:linear.in=int8@entropy"), "");
  EXPECT_NE(error("op:linear=int8@mse").find("inputs of layers"), std::string::npos);
  EXPECT_NE(error("name:layer.0.dense.weight=int8@mse").find("no input"), std::string::npos);
  for (const char* format :
       {"int8@", "int8@Mse", "int8@a b", "mxint8@mse", "int8.g1x0@mse", "int8.g32@mse", "int16@mse"})
    EXPECT_NE(error(fmt::format("op:linear.in={}", format)), "") << format;
  const std::string no_data = error_of([] {
    quantize(two_layers(), QuantizeOptions{{.to = "int8", .rule = {}, .skip = {}, .activations = "int8@mse"}});
  });
  EXPECT_NE(no_data.find("calibration data"), std::string::npos) << no_data;
}

}  // namespace
}  // namespace hone
