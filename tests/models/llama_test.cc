// Configurations of Llama's kinds that are refused, and what defaults of each kind are. tests/jobs/families_test.cc and
// decoder_families_test.cc compare them with transformers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/decoder.h"
#include "models/find_model.h"
#include "models/random_weights.h"
#include "ops/calls/attention.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

using test::error_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A configuration that opens; `more` changes it.
Json config_of(const std::string& kind, const char* more = "{}") {
  Json config = parse_json(
      R"({"vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 12,
          "num_key_value_heads": 1, "head_dim": 4, "max_position_embeddings": 16})",
      "config.json");
  config["architectures"] = {kind + "ForCausalLM"};
  config.update(parse_json(more, "more"));
  return config;
}

Graph built(const Json& config, const std::vector<std::string>& inputs = {}) {
  return model_for(config, "folder/config.json")
      .build({.config = config,
              .source = "folder/config.json",
              .inputs = inputs,
              .pooling = {},
              .weights = random_weights(3)});
}

std::string refusal(const std::string& kind, const char* more) {
  return error_of([&] { built(config_of(kind, more)); });
}

// Of each layer: tokens before its own that an attention sees, -1 for all.
std::vector<int64_t> reaches(const Json& config) {
  const Graph graph = built(config);
  std::vector<int64_t> found;
  for (NodeId id : graph.nodes(attention_def)) found.push_back(graph.node(id).attributes.get_or<int64_t>("before", -1));
  return found;
}

TEST(Llama, IsADecoderWithItsFacts) {
  const DecoderFacts facts = decoder_facts(built(config_of("Llama", R"({"bos_token_id": 1, "eos_token_id": [2, 5]})")));
  EXPECT_EQ(facts.context, 16);
  EXPECT_EQ(facts.vocabulary, 11);
  EXPECT_EQ(facts.begin, 1);
  EXPECT_THAT(facts.end, ElementsAre(2, 5));
  EXPECT_THAT(decoder_facts(built(config_of("Qwen3"))).end, IsEmpty());
}

TEST(Llama, WindowsAreThoseOfTheKind) {
  EXPECT_THAT(reaches(config_of("Llama")), ElementsAre(-1, -1, -1));
  EXPECT_THAT(reaches(config_of("Mistral")), ElementsAre(4095, 4095, 4095));
  EXPECT_THAT(reaches(config_of("Mistral", R"({"sliding_window": 6})")), ElementsAre(5, 5, 5));
  EXPECT_THAT(reaches(config_of("Mistral", R"({"sliding_window": null})")), ElementsAre(-1, -1, -1));
  EXPECT_THAT(reaches(config_of("Qwen2", R"({"sliding_window": 6, "max_window_layers": 1})")), ElementsAre(-1, -1, -1));
  EXPECT_THAT(
      reaches(config_of("Qwen2", R"({"use_sliding_window": true, "sliding_window": 6, "max_window_layers": 1})")),
      ElementsAre(-1, 5, 5));
  EXPECT_THAT(reaches(config_of("Qwen2", R"({"use_sliding_window": true, "sliding_window": 6})")),
              ElementsAre(-1, -1, -1));  // from layer 28 on
  EXPECT_THAT(reaches(config_of("Qwen3", R"({"use_sliding_window": true, "sliding_window": 6, "layer_types":
                  ["full_attention", "sliding_attention", "full_attention"]})")),
              ElementsAre(-1, 5, -1));
}

// Cosines are read by the layers that turn queries and keys.
TEST(Llama, LayersWithoutPositionsAreThoseOfTheListOrEveryFourth) {
  const auto turned = [](const char* more) {
    const Graph graph = built(config_of("SmolLM3", more));
    return graph.use_count(graph.result(graph.nodes("cos")[0])) / 4;  // two products each of queries and keys
  };
  EXPECT_EQ(turned("{}"), 3u);
  EXPECT_EQ(turned(R"({"no_rope_layer_interval": 2})"), 2u);
  EXPECT_EQ(turned(R"({"no_rope_layers": [0, 0, 1]})"), 1u);
}

TEST(Llama, KeysThatCouldChangeTheResultAreRefusedByName) {
  EXPECT_THAT(refusal("Llama", R"({"attention_logit_cap": 30})"),
              AllOf(HasSubstr("folder/config.json"), HasSubstr("\"attention_logit_cap\" is 30")));
  EXPECT_THAT(refusal("Llama", R"({"rope_interleaved": true})"), HasSubstr("\"rope_interleaved\" is true"));
  EXPECT_THAT(refusal("Llama", R"({"sliding_window": 4})"), HasSubstr("\"sliding_window\" is 4"));
  EXPECT_THAT(refusal("Mistral", R"({"attention_bias": true})"), HasSubstr("\"attention_bias\" is true"));
  EXPECT_THAT(refusal("Qwen2", R"({"no_rope_layers": [1, 1, 1]})"), HasSubstr("no_rope_layers"));
}

TEST(Llama, RotaryPositionsOfUnknownTypesOrKeysAreRefused) {
  EXPECT_THAT(refusal("Llama", R"({"rope_scaling": {"type": "dynamic", "factor": 2.0}})"),
              AllOf(HasSubstr("rope_scaling: type \"dynamic\" is not known"), HasSubstr("llama3, yarn")));
  EXPECT_THAT(refusal("Llama", R"({"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4}})"),
              AllOf(HasSubstr("rope_parameters"), HasSubstr("factor")));
  EXPECT_THAT(refusal("Llama", R"({"rope_scaling": {"rope_type": "linear", "factor": 0}})"), HasSubstr("factor is 0"));
  EXPECT_THAT(refusal("Llama", R"({"rope_scaling": {"rope_type": "linear", "factor": 2, "beta_fast": 3}})"),
              HasSubstr("\"beta_fast\" is 3"));
  EXPECT_THAT(refusal("Llama", R"({"rope_parameters": {"rope_type": "default", "factor": 2.0}})"),
              HasSubstr("\"factor\" is 2"));
  EXPECT_THAT(refusal("Llama", R"({"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5}})"),
              HasSubstr("partial_rotary_factor"));
  EXPECT_THAT(refusal("Llama", R"({"rope_theta": 0})"), HasSubstr("rope_theta is 0"));
  EXPECT_THAT(refusal("Llama", R"({"rope_scaling": 4})"), HasSubstr("accepted: an object"));
  EXPECT_THAT(refusal("Llama", R"({"rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 4,
                                  "high_freq_factor": 1, "original_max_position_embeddings": 8}})"),
              HasSubstr("high_freq_factor is 1"));
  EXPECT_THAT(refusal("Llama", R"({"rope_scaling": {"type": "longrope", "short_factor": [1, 1], "long_factor": [1, 2],
                                  "factor": 2}})"),
              HasSubstr("short_factor and long_factor differ"));
  EXPECT_THAT(refusal("Llama", R"({"rope_scaling": {"type": "longrope", "short_factor": [1], "long_factor": [1]}})"),
              HasSubstr("long_factor has 1 numbers; accepted: 2"));
}

TEST(Llama, SizesThatDoNotGoTogetherAreRefused) {
  EXPECT_THAT(refusal("Llama", R"({"num_attention_heads": 3, "num_key_value_heads": 2})"),
              HasSubstr("num_attention_heads 3 is not a multiple of num_key_value_heads 2"));
  EXPECT_THAT(refusal("Llama", R"({"num_attention_heads": 3, "head_dim": null})"),
              AllOf(HasSubstr("hidden_size 8"), HasSubstr("head_dim is not given")));
  EXPECT_THAT(refusal("Llama", R"({"head_dim": 5})"), HasSubstr("heads have 5 columns"));
  EXPECT_THAT(refusal("Llama", R"({"num_hidden_layers": 100000})"), HasSubstr("num_hidden_layers"));
  EXPECT_THAT(refusal("Llama", R"({"intermediate_size": -1})"), HasSubstr("intermediate_size"));
  EXPECT_THAT(refusal("Llama", R"({"hidden_act": "snake"})"), HasSubstr("snake"));
  EXPECT_THAT(refusal("Qwen2", R"({"use_sliding_window": true, "layer_types": ["full_attention"]})"),
              HasSubstr("layer_types has 1 entries for 3 layers"));
  EXPECT_THAT(refusal("Qwen2", R"({"layer_types": ["full_attention", "sliding_attention", "full_attention"]})"),
              HasSubstr("use_sliding_window is not true"));
  EXPECT_THAT(refusal("Qwen2", R"({"layer_types": ["full_attention", "linear", "full_attention"]})"),
              HasSubstr("\"linear\"; accepted: full_attention"));
  EXPECT_THAT(refusal("SmolLM3", R"({"no_rope_layers": [1]})"), HasSubstr("no_rope_layers has 1 entries"));
  EXPECT_THAT(refusal("Mistral", R"({"sliding_window": 0})"), HasSubstr("sliding_window"));
}

TEST(Llama, IdsThatEndATextAreOfTheVocabulary) {
  EXPECT_THAT(refusal("Llama", R"({"eos_token_id": [2, 11]})"),
              AllOf(HasSubstr("eos_token_id"), HasSubstr("11"), HasSubstr("ids below")));
  EXPECT_THAT(refusal("Llama", R"({"bos_token_id": "<s>"})"), HasSubstr("bos_token_id"));
}

TEST(Llama, TypesOfTokensAreNoInput) {
  EXPECT_THAT(error_of([] {
                built(config_of("Llama"), {"input_ids", "token_type_ids"});
              }),
              HasSubstr("\"token_type_ids\" is not an input of a decoder"));
  EXPECT_EQ(built(config_of("Llama"), {"input_ids"}).arguments().size(), 1u);
}

}  // namespace
}  // namespace hone
