// Configurations of GPT-2, OPT, GPT-NeoX, Phi-3 and Gemma that are refused, and what the defaults of each are.
// tests/jobs/families_test.cc and decoder_families_test.cc compare them with transformers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/decoder.h"
#include "models/find_model.h"
#include "models/random_weights.h"
#include "ops/calls/attention.h"
#include "ops/calls/linear.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

using test::error_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kGpt2[] = R"({"vocab_size": 11, "n_embd": 8, "n_layer": 2, "n_head": 2, "n_positions": 16})";
constexpr char kOthers[] =
    R"({"vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 12,
        "ffn_dim": 12, "max_position_embeddings": 16})";

// A configuration that opens; `more` changes it.
Json config_of(const std::string& architecture, const char* more) {
  Json config = parse_json(architecture.starts_with("GPT2") ? kGpt2 : kOthers, "config.json");
  config.erase(architecture.starts_with("OPT") ? "intermediate_size" : "ffn_dim");
  if (architecture.starts_with("GPTNeoX")) config["rotary_pct"] = 0.5;
  config["architectures"] = {architecture};
  config.update(parse_json(more, "more"));
  return config;
}

Graph built(const std::string& architecture, const char* more = "{}", const std::vector<std::string>& inputs = {}) {
  const Json config = config_of(architecture, more);
  return model_for(config, "folder/config.json")
      .build({.config = config,
              .source = "folder/config.json",
              .inputs = inputs,
              .pooling = {},
              .weights = random_weights(3)});
}

std::string refusal(const std::string& architecture, const char* more) {
  return error_of([&] { built(architecture, more); });
}

template <class T>
std::vector<T> of_attentions(const Graph& graph, const char* attribute, T absent) {
  std::vector<T> found;
  for (NodeId id : graph.nodes(attention_def)) found.push_back(graph.node(id).attributes.get_or<T>(attribute, absent));
  return found;
}

std::vector<int64_t> reaches(const Graph& graph) { return of_attentions<int64_t>(graph, "before", -1); }

constexpr const char* kArchitectures[] = {"GPT2LMHeadModel", "OPTForCausalLM",    "GPTNeoXForCausalLM",
                                          "Phi3ForCausalLM", "Gemma2ForCausalLM", "Gemma3ForCausalLM"};

TEST(DecoderKinds, AreDecodersThatACacheGoesWith) {
  for (const char* architecture : kArchitectures) {
    SCOPED_TRACE(architecture);
    const Graph graph = built(architecture, R"({"bos_token_id": 1, "eos_token_id": [2, 5]})");
    const DecoderFacts facts = decoder_facts(graph);
    EXPECT_EQ(facts.context, 16);
    EXPECT_EQ(facts.vocabulary, 11);
    EXPECT_EQ(facts.begin, 1);
    EXPECT_THAT(facts.end, ElementsAre(2, 5));
    verify(with_cache(graph, {.page_rows = 4}).graph);
  }
}

TEST(DecoderKinds, KeysThatCouldChangeTheResultAreRefusedByName) {
  for (const char* architecture : kArchitectures)
    EXPECT_THAT(refusal(architecture, R"({"attention_logit_bias": 30})"),
                AllOf(HasSubstr("folder/config.json"), HasSubstr("\"attention_logit_bias\" is 30")))
        << architecture;
  EXPECT_THAT(refusal("GPT2LMHeadModel", R"({"add_cross_attention": true})"), HasSubstr("add_cross_attention"));
  EXPECT_THAT(refusal("Phi3ForCausalLM", R"({"attention_bias": true})"), HasSubstr("\"attention_bias\" is true"));
  EXPECT_THAT(refusal("Gemma3ForCausalLM", R"({"use_bidirectional_attention": true})"),
              HasSubstr("\"use_bidirectional_attention\" is true"));
  EXPECT_THAT(refusal("Gemma3ForCausalLM", R"({"attn_logit_softcapping": 50.0})"),
              HasSubstr("\"attn_logit_softcapping\" is 50"));
  EXPECT_THAT(refusal("Gemma2ForCausalLM", R"({"rope_local_base_freq": 100.0})"), HasSubstr("rope_local_base_freq"));
}

TEST(DecoderKinds, SizesThatDoNotGoTogetherAreRefused) {
  EXPECT_THAT(refusal("GPT2LMHeadModel", R"({"n_head": 3})"), HasSubstr("n_embd 8 is not a multiple of n_head 3"));
  EXPECT_THAT(refusal("OPTForCausalLM", R"({"num_attention_heads": 3})"),
              HasSubstr("hidden_size 8 is not a multiple of num_attention_heads 3"));
  EXPECT_THAT(refusal("GPTNeoXForCausalLM", R"({"num_attention_heads": 3})"), HasSubstr("num_attention_heads 3"));
  EXPECT_THAT(refusal("Phi3ForCausalLM", R"({"num_attention_heads": 4, "num_key_value_heads": 3})"),
              HasSubstr("num_attention_heads 4 is not a multiple of num_key_value_heads 3"));
  EXPECT_THAT(refusal("GPTNeoXForCausalLM", R"({"rotary_pct": 0.3})"),
              HasSubstr("heads have 4 columns, of which 1 turn"));
  EXPECT_THAT(refusal("GPTNeoXForCausalLM", R"({"rotary_pct": 1.5})"), HasSubstr("partial_rotary_factor is 1.5"));
  EXPECT_THAT(refusal("Gemma2ForCausalLM", R"({"layer_types": ["full_attention"]})"),
              HasSubstr("layer_types has 1 entries for 3 layers"));
  EXPECT_THAT(refusal("Gemma2ForCausalLM", R"({"attn_logit_softcapping": -1})"),
              HasSubstr("\"attn_logit_softcapping\" is -1; accepted: null, or a number above 0"));
}

TEST(DecoderKinds, ScalesOfScores) {
  const double half = 1 / std::sqrt(4.0);  // of 4 columns
  const auto scales = [](const char* architecture, const char* more) {
    return of_attentions<double>(built(architecture, more), "scale", -1);
  };
  EXPECT_THAT(scales("GPT2LMHeadModel", "{}"), ElementsAre(half, half));
  EXPECT_THAT(scales("GPT2LMHeadModel", R"({"scale_attn_by_inverse_layer_idx": true})"), ElementsAre(half, half / 2));
  EXPECT_THAT(scales("GPT2LMHeadModel", R"({"scale_attn_weights": false})"), ElementsAre(1, 1));
  EXPECT_THAT(scales("Gemma2ForCausalLM", "{}"), ElementsAre(1 / 16.0, 1 / 16.0, 1 / 16.0));
  EXPECT_THAT(scales("Gemma3ForCausalLM", R"({"query_pre_attn_scalar": 64})"), ElementsAre(0.125, 0.125, 0.125));
}

TEST(Gemma, WindowsAndCapsAreThoseOfItsKind) {
  EXPECT_THAT(reaches(built("Gemma2ForCausalLM")), ElementsAre(4095, -1, 4095));
  EXPECT_THAT(reaches(built("Gemma3ForCausalLM", R"({"sliding_window": 6})")), ElementsAre(5, 5, 5));
  EXPECT_THAT(reaches(built("Gemma3ForCausalLM", R"({"sliding_window": 6, "sliding_window_pattern": 2})")),
              ElementsAre(5, -1, 5));
  EXPECT_THAT(reaches(built("Gemma3ForCausalLM", R"({"layer_types":
                  ["full_attention", "sliding_attention", "full_attention"]})")),
              ElementsAre(-1, 4095, -1));
  EXPECT_THAT(of_attentions<double>(built("Gemma2ForCausalLM"), "softcap", 0), ElementsAre(50, 50, 50));
  EXPECT_THAT(of_attentions<double>(built("Gemma2ForCausalLM", R"({"attn_logit_softcapping": null})"), "softcap", 0),
              ElementsAre(0, 0, 0));
  EXPECT_EQ(built("Gemma2ForCausalLM").nodes("tanh").size(), 1u);  // of logits
  EXPECT_TRUE(built("Gemma2ForCausalLM", R"({"final_logit_softcapping": null})").nodes("tanh").empty());
  EXPECT_TRUE(built("Gemma3ForCausalLM").nodes("tanh").empty());
}

// The largest angle of each base within 16 tokens is the same: 15, of the first pair.
TEST(Gemma, LayersWithAWindowTurnByABaseOfTheirOwn) {
  const auto frequencies = [](const char* more) {
    const Graph graph = built("Gemma3ForCausalLM", more);
    std::vector<double> second;
    for (NodeId id : graph.nodes("cos"))
      second.push_back(graph.constant(graph.operand(graph.producer(graph.operand(id, 0)), 1))->to_doubles()[1]);
    return second;
  };
  const float local = static_cast<float>(std::pow(1e4, -1.0 / 2)), global = static_cast<float>(std::pow(1e6, -1.0 / 2));
  EXPECT_THAT(frequencies(R"({"head_dim": 4})"), ElementsAre(global, local));
  EXPECT_THAT(frequencies(R"({"head_dim": 4, "rope_scaling": {"rope_type": "linear", "factor": 8.0},
                              "rope_local_base_freq": 100.0})"),
              ElementsAre(global / 8, static_cast<float>(0.1)));
  EXPECT_THAT(refusal("Gemma3ForCausalLM", R"({"rope_parameters": {"rope_type": "default"}})"),
              HasSubstr("full_attention"));
}

// A table of 16 bits has a factor of 16 bits: sqrt(8) is 2.828427, and 2.828125 in bf16.
TEST(Gemma, TheFactorOfWordsIsRoundedAsTheirTableIs) {
  const auto factor = [](DType dtype) {
    const Json config = config_of("Gemma2ForCausalLM", "{}");
    const WeightSource source = random_weights(3);
    const Graph graph = model_for(config, "config.json")
                            .build({.config = config,
                                    .source = "config.json",
                                    .inputs = {},
                                    .pooling = {},
                                    .weights = [&](const std::string& name, const std::vector<int64_t>& shape) {
                                      return source(name, shape).converted(dtype);
                                    }});
    for (NodeId id : graph.nodes("mul"))
      if (graph.value(graph.result(id)).name == "embedded")
        return graph.constant(graph.operand(id, 1))->to_doubles()[0];
    return 0.0;
  };
  EXPECT_EQ(factor(DType::f32), std::sqrt(8.0f));
  EXPECT_EQ(factor(DType::bf16), 2.828125);
}

TEST(Phi3, TextsEndWhereOtherDivisorsWouldBegin) {
  const char* different =
      R"({"original_max_position_embeddings": 8, "rope_scaling": {"type": "su", "short_factor": [1, 1],
          "long_factor": [1, 2]}})";
  EXPECT_EQ(decoder_facts(built("Phi3ForCausalLM", different)).context, 8);
  const char* same = R"({"original_max_position_embeddings": 8, "rope_scaling": {"type": "longrope",
                         "short_factor": [1, 2], "long_factor": [1, 2]}})";
  EXPECT_EQ(decoder_facts(built("Phi3ForCausalLM", same)).context, 16);
  EXPECT_THAT(refusal("Phi3ForCausalLM", R"({"rope_scaling": {"type": "longrope", "short_factor": [1],
                                            "long_factor": [1, 2]}})"),
              HasSubstr("short_factor has 1 numbers; accepted: 2"));
  EXPECT_THAT(reaches(built("Phi3ForCausalLM", R"({"sliding_window": 7})")), ElementsAre(6, 6, 6));
  EXPECT_THAT(reaches(built("Phi3ForCausalLM")), ElementsAre(-1, -1, -1));
}

TEST(Opt, WordsMayBeNarrowerThanLayers) {
  const Graph graph = built("OPTForCausalLM", R"({"word_embed_proj_dim": 6})");
  EXPECT_EQ(graph.type(graph.find_constant("model.decoder.embed_tokens.weight")).shape, (Shape{11, 6}));
  EXPECT_EQ(graph.type(graph.find_constant("model.decoder.embed_positions.weight")).shape, (Shape{18, 8}));
  EXPECT_EQ(built("OPTForCausalLM").find_constant("model.decoder.project_in.weight"), kNone);
}

TEST(Opt, NormsAndBiasesMayBeMissing) {
  const Graph graph = built("OPTForCausalLM", R"({"enable_bias": false, "layer_norm_elementwise_affine": false})");
  EXPECT_EQ(graph.find_constant("model.decoder.layers.0.fc1.bias"), kNone);
  EXPECT_EQ(graph.find_constant("model.decoder.final_layer_norm.weight"), kNone);
  EXPECT_NE(built("OPTForCausalLM").find_constant("model.decoder.final_layer_norm.weight"), kNone);
  EXPECT_EQ(built("OPTForCausalLM", R"({"_remove_final_layer_norm": true})")
                .find_constant("model.decoder.final_layer_norm.weight"),
            kNone);
}

TEST(DecoderKinds, ClassifiersTakeLabelsAndAreNoDecoders) {
  const Graph graph =
      built("GPT2ForSequenceClassification", R"({"num_labels": 3})", {"input_ids", "attention_mask", "labels"});
  ASSERT_EQ(graph.outputs().size(), 2u);
  EXPECT_EQ(graph.type(graph.outputs()[0].value).shape, (Shape{Dim::symbol("B"), 3}));
  EXPECT_EQ(graph.outputs()[1].label, "loss");
  EXPECT_FALSE(is_decoder(built("GPT2ForSequenceClassification")));
  EXPECT_THAT(error_of([] {
                built("GPT2LMHeadModel", "{}", {"input_ids", "labels"});
              }),
              HasSubstr("\"labels\" is not an input of this model"));
}

}  // namespace
}  // namespace hone
