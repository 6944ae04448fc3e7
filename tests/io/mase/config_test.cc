// Configurations as `ch` of MASE takes them: what is followed, what is skipped, and what is refused by name.
#include "io/mase/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "io/mase/layers.h"
#include "io/mase/rules.h"
#include "io/toml.h"
#include "tests/passes/parse_ops.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

MaseConfig parse(const std::string& text) { return parse_mase_config(parse_toml(text, "q.toml"), "q.toml"); }
std::string error_for(const std::string& text) {
  return test::error_of([&] { parse(text); });
}

const std::string kInteger = R"(
name = "integer"
data_in_width = 8
data_in_frac_width = 5
weight_width = 6
weight_frac_width = 4
bias_width = 8
bias_frac_width = 4
)";

// As the sample configurations are laid out.
const std::string kSample = R"(
model = "toy"
dataset = "toy-tiny"
task = "cls"
max_epochs = 1
batch_size = 512
learning_rate = 1e-2
accelerator = "gpu"
project = "toy_toy-tiny"
seed = 42
log_every_n_steps = 5

[passes.report_graph]
file_name = "g.txt"

[passes.quantize]
by = "type"
report = true

[passes.quantize.default.config]
name = "NA"

[passes.quantize.linear.config])" +
                            kInteger + R"(
[passes.prune.weight]
sparsity = 0.25
scope = "local"
granularity = "elementwise"
method = "l1-norm"

[transform]
style = "graph"

[search.search_space]
name = "graph/quantize/mixed_precision_ptq"
)";

// Two linears, a product of activations, a convolution of an image.
Graph network() {
  return test::parse(R"(graph net {
  %x : f32[N,2] = input "x"
  %i : f32[N,1,4,4] = input "image"
  %w : f32[3,2] = const "encoder.fc1.weight" {1,-1,2,1,0.5,-2}
  %b : f32[3] = const "encoder.fc1.bias" {1,2,3}
  %h = linear %x, %w, %b
  %r = relu %h
  %v : f32[2,3] = const "encoder.fc2.weight" {1,-1,2,1,0.5,-2}
  %y = linear %r, %v
  %k : f32[1,1,2,2] = const "stem.weight" {1,2,3,4}
  %c = conv %i, %k
  return %y as "logits", %c as "maps"
})");
}

std::vector<std::string> rules_of(const std::string& text, MaseBits bits = MaseBits::sound) {
  return mase_rules(*parse(text).quantize, network(), bits).rule;
}

TEST(MaseConfig, ASampleConfigurationIsRead) {
  const MaseConfig config = parse(kSample);
  ASSERT_TRUE(config.quantize && config.prune);
  EXPECT_THAT(config.order, ElementsAre("quantize", "prune"));
  EXPECT_EQ(config.quantize->layers.size(), 1);
  EXPECT_EQ(config.quantize->layers[0].quantizer, "integer");
  EXPECT_EQ(config.quantize->otherwise->quantizer, "");
  EXPECT_EQ(config.prune->sparsity, 0.25);
  EXPECT_EQ(config.prune->method, "l1");
  EXPECT_EQ(config.prune->scope, "local");
  EXPECT_THAT(config.skipped, ElementsAre(HasSubstr("passes.report_graph is skipped"), HasSubstr("search is skipped"),
                                          HasSubstr("model, dataset, task, max_epochs")));
}

TEST(MaseConfig, TypesBecomeRulesOfOps) {
  EXPECT_THAT(rules_of(kSample), ElementsAre("op:linear=int6.f4", "op:linear.bias=int8.f4", "op:linear.in=int8.f5"));
  EXPECT_THAT(rules_of("[passes.quantize]\nby = 'type'\n[passes.quantize.conv2d.config]" + kInteger),
              ElementsAre("op:conv=int6.f4", "op:conv.in=int8.f5"));
}

TEST(MaseConfig, NamesAreThoseOfModulesAndOfNodes) {
  for (const char* name : {"encoder_fc2", "'encoder.fc2'", "bert_encoder_fc2", "'bert.encoder.fc2'"})
    EXPECT_THAT(
        rules_of(std::string("[passes.quantize]\nby = 'name'\n[passes.quantize.") + name + ".config]" + kInteger),
        ElementsAre("name:encoder.fc2.weight=int6.f4", "name:encoder.fc2.in=int8.f5"))
        << name;
}

// The first expression that is all of a name counts, as in MASE.
TEST(MaseConfig, ExpressionsMatchWholeNames) {
  const std::string head = "[passes.quantize]\nby = 'regex_name'\n[passes.quantize.'";
  EXPECT_THAT(rules_of(head + "encoder_fc\\d'.config]" + kInteger),
              ElementsAre("op:linear=int6.f4", "op:linear.bias=int8.f4", "op:linear.in=int8.f5"));
  EXPECT_THAT(rules_of(head + "encoder_fc1'.config]\nname = 'NA'\n[passes.quantize.'encoder.*'.config]" + kInteger),
              ElementsAre("name:encoder.fc2.weight=int6.f4", "name:encoder.fc2.in=int8.f5"));
  EXPECT_THAT(test::error_of([&] { rules_of(head + "fc1'.config]" + kInteger); }), HasSubstr("no layer \"fc1\""));
  EXPECT_THAT(test::error_of([&] { rules_of(head + "fc(1'.config]" + kInteger); }), HasSubstr("passes.quantize.fc(1"));
}

TEST(MaseConfig, LayersThatAreBypassedStay) {
  EXPECT_THAT(rules_of("[passes.quantize]\nby = 'name'\n[passes.quantize.stem.config]\nbypass = true" + kInteger +
                       "[passes.quantize.encoder_fc2.config]" + kInteger),
              ElementsAre("name:encoder.fc2.weight=int6.f4", "name:encoder.fc2.in=int8.f5"));
}

TEST(MaseConfig, ValuesOfItsOwnAreThoseOfCompat) {
  const std::string text =
      "[passes.quantize]\nby = 'type'\n[passes.quantize.linear.config]\nname = 'minifloat_ieee'\n"
      "data_in_width = 8\ndata_in_exponent_width = 4\nweight_width = 8\nweight_exponent_width = 4\n"
      "bias_width = 8\nbias_exponent_width = 4\n";
  EXPECT_THAT(rules_of(text, MaseBits::same),
              ElementsAre("op:linear=minifloat_e4m3.compat=mase", "op:linear.bias=minifloat_e4m3.compat=mase",
                          "op:linear.in=minifloat_e4m3.compat=mase"));
}

// configs/tests/quantize/log.toml of MASE: everything above 0.5 becomes that.
TEST(MaseConfig, AFormatOfSmallMagnitudesIsNoted) {
  const std::string text =
      "[passes.quantize]\nby = 'type'\n[passes.quantize.linear.config]\nname = 'log'\n"
      "data_in_width = 8\ndata_in_exponent_bias = 128\nweight_width = 8\nweight_exponent_bias = 'NA'\n"
      "bias_width = 8\nbias_exponent_bias = 'NA'\n";
  const MaseRules rules = mase_rules(*parse(text).quantize, network(), MaseBits::sound);
  EXPECT_THAT(rules.rule, ElementsAre("op:linear=log8", "op:linear.bias=log8", "op:linear.in=log8.bias128"));
  EXPECT_THAT(rules.notes[0], HasSubstr("magnitudes of log8.bias128 end at 0.5"));
  EXPECT_THAT(rules.notes[1], HasSubstr("linear: log: weight log8"));
}

TEST(MaseConfig, WhatRulesCannotSayIsRefused) {
  const auto refused = [](const std::string& text) { return test::error_of([&] { rules_of(text); }); };
  const std::string by_type = "[passes.quantize]\nby = 'type'\n[passes.quantize.";
  EXPECT_THAT(refused(by_type + "relu.config]" + kInteger),
              HasSubstr("relu stays as it is: hone rounds what products"));
  EXPECT_THAT(refused(by_type + "linaer.config]" + kInteger), HasSubstr("Did you mean linear?"));
  EXPECT_THAT(refused(by_type + "matmul.config]" + kInteger), HasSubstr("the model has no layer \"matmul\""));
  EXPECT_THAT(refused(by_type + "default.config]" + kInteger), HasSubstr("rounds the inputs of relu of this model"));
  EXPECT_THAT(refused(by_type + "linear.config]" + kInteger + "data_out_width = 8\n"), HasSubstr("data_out_width"));
  EXPECT_THAT(refused(by_type + "linear.config]" + kInteger + "parallelism = 2\n"),
              HasSubstr("unknown key parallelism"));
  EXPECT_THAT(refused(by_type + "linear.config]" + kInteger + "weight_parallelism_dim_0 = 2\n"),
              HasSubstr("linear.config: weight: integer has no key parallelism_dim_0"));
  EXPECT_THAT(refused(by_type + "conv2d.config]\nname = 'block_fp'\n"), HasSubstr("block_fp of convolutions"));
  EXPECT_THAT(refused(by_type + "linear.config]\nname = 'NA'\n"), HasSubstr("changes no layer"));
}

TEST(MaseConfig, KeysAndPassesOfOthersAreRefusedByName) {
  EXPECT_THAT(error_for("max_epoch = 1"),
              testing::AllOf(HasSubstr("q.toml: max_epoch: unknown key"), HasSubstr("Did you mean max_epochs?")));
  EXPECT_THAT(error_for("[transform]\nstle = 'graph'"), HasSubstr("unknown key stle"));
  EXPECT_THAT(error_for("[passes.qantize]\nby = 'type'"), HasSubstr("Did you mean quantize?"));
  EXPECT_THAT(error_for("[passes.quantize]\nby = 'op'"), HasSubstr("accepted: type, name, regex_name"));
  EXPECT_THAT(error_for("[passes.quantize.linear.config]\nname = 'integer'"), HasSubstr("has no by"));
  EXPECT_THAT(error_for("[passes.quantize]\nby = 'type'\n[passes.quantize.linear]\nname = 'integer'"),
              HasSubstr("unknown key name; known: config"));
  EXPECT_THAT(error_for("passes = 3"), HasSubstr("expected a table"));
  for (const MasePass& pass : mase_passes()) {
    if (pass.fate != MasePass::Fate::refused) continue;
    EXPECT_THAT(error_for(std::string("[passes.") + pass.name + "]\nx = 1"), HasSubstr(pass.says));
    EXPECT_THAT(error_for(std::string("[passes.") + pass.name + "_transform_pass]\nx = 1"), HasSubstr(pass.says));
  }
}

TEST(MaseConfig, WhatPruningTakesIsChecked) {
  const std::string head = "[passes.prune.weight]\nscope = 'global'\ngranularity = 'elementwise'\n";
  EXPECT_EQ(parse(head + "method = 'random'\nsparsity = 0.5").prune->method, "random");
  EXPECT_THAT(error_for(head + "method = 'l2'\nsparsity = 0.5"), HasSubstr("accepted: random, l1-norm"));
  EXPECT_THAT(error_for(head + "method = 'random'\nsparsity = 50"), HasSubstr("from 0 to 1"));
  EXPECT_THAT(error_for(head + "method = 'random'"), HasSubstr("has no sparsity"));
  EXPECT_THAT(error_for(head + "method = 'random'\nsparsity = 0.5\n[passes.prune.activation]\nsparsity = 0.1"),
              HasSubstr("hone prunes weights, no activations"));
  EXPECT_THAT(error_for("[passes.prune.weight]\nscope = 'local'\ngranularity = 'channel'\nmethod = 'random'"),
              HasSubstr("accepted: elementwise"));
}

}  // namespace
}  // namespace hone
