// What encoders of texts share: positions, buckets of distances, poolings, heads, and configurations that are refused.
// tests/jobs/families_test.cc compares whole families with transformers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ir/row_keys.h"
#include "models/counted_positions.h"
#include "models/distance_bias.h"
#include "models/find_model.h"
#include "models/random_weights.h"
#include "models/rotary.h"
#include "ops/evaluate.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

using test::error_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Json small_config(const char* architecture) {
  Json config = parse_json(
      R"({"vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 12,
          "max_position_embeddings": 16})",
      "config.json");
  config["architectures"] = {architecture};
  return config;
}

struct Request {
  Json config;
  std::vector<std::string> inputs = {};
  Json pooling = {};

  Graph build() const {
    return model_for(config, "folder/config.json")
        .build({.config = config,
                .source = "folder/config.json",
                .inputs = inputs,
                .pooling = pooling,
                .weights = random_weights(3)});
  }
};

TEST(CountedPositions, PaddingOnEitherSideIsPassedOver) {
  Graph graph;
  const Json config;
  const ModelRequest request{
      .config = config, .source = "config.json", .inputs = {}, .pooling = {}, .weights = random_weights(1)};
  TransformerBuilder builder(graph, request);
  const ValueId ids =
      graph.add_input("ids", {.dtype = DType::i64, .shape = {Dim::symbol("B"), Dim::symbol("S")}, .format = {}});
  graph.add_output(count_positions(builder, ids, 1, 4), "positions");
  const std::vector<Tensor> found =
      evaluate(graph, {{"ids", Tensor::of<int64_t>({3, 4}, {5, 6, 1, 1, 1, 1, 5, 6, 5, 1, 6, 7})}});
  EXPECT_THAT(found[0].to_integers(), ElementsAre(2, 3, 1, 1, 1, 1, 2, 3, 2, 1, 3, 4));
  EXPECT_THAT(error_of([&] {
                evaluate(graph, {{"ids", Tensor(DType::i64, {1, 5})}});
              }),
              AllOf(HasSubstr("5"), HasSubstr("4")));
}

// Where each bucket of keys before the query begins, as transformers' relative_position_bucket says in f32.
TEST(DistanceBuckets, BeginWhereTheModelsCodeSays) {
  const auto begins = [](int64_t buckets, int64_t farthest) {
    const std::vector<int64_t> all = distance_buckets(buckets, farthest);
    std::vector<int64_t> first;
    for (int64_t d = 0; d <= farthest; ++d) {
      const int64_t bucket = all[static_cast<size_t>(farthest - d)], after = all[static_cast<size_t>(farthest + d)];
      EXPECT_EQ(after, d == 0 ? bucket : bucket + buckets / 2) << d;
      if (bucket == std::ssize(first)) first.push_back(d);
    }
    return first;
  };
  EXPECT_THAT(begins(32, 128), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91));
  EXPECT_THAT(begins(8, 10), ElementsAre(0, 1, 2, 5));
  EXPECT_THAT(begins(64, 256), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 20, 23, 27, 32, 39,
                                           46, 54, 64, 77, 91, 108, 128, 153, 182, 216));
  EXPECT_THAT(error_of([] { require_buckets("config.json", 7, 128); }), HasSubstr("7 buckets"));
}

// The first place is not turned; the second's pair (1, 0) lies at the angle of its frequency, which is 1 for the first.
TEST(Rotary, TurnsHalvesOfAHeadAgainstEachOther) {
  Graph graph;
  const ValueId x = graph.add_input("x", {.dtype = DType::f32, .shape = {1, 2, 4}, .format = {}});
  const ValueId places = graph.add_constant("", Tensor::of<int64_t>({2}, {0, 1}));
  graph.add_output(rotated(graph, x, rotation(graph, places, rotary_frequencies(4, 100)), 1), "y");
  const std::vector<double> y =
      evaluate(graph, {{"x", Tensor::of<float>({1, 2, 4}, {1, 2, 3, 4, 1, 1, 0, 0})}})[0].to_doubles();
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(y[i], static_cast<double>(i + 1));
  EXPECT_NEAR(y[4], std::cos(1.0), 1e-7);
  EXPECT_NEAR(y[6], std::sin(1.0), 1e-7);
  EXPECT_NEAR(y[5], std::cos(0.1), 1e-7);
  EXPECT_NEAR(y[7], std::sin(0.1), 1e-7);
}

TEST(Albert, LayersThatAreSharedAreOneSetOfConstants) {
  Request albert{small_config("AlbertModel")};
  albert.config["embedding_size"] = 4;
  const size_t once = albert.build().constants().size();
  albert.config["num_hidden_layers"] = 12;
  const Graph deep = albert.build();
  EXPECT_EQ(deep.nodes("attention").size(), 12u);
  EXPECT_LE(deep.constants().size(), once + 12 * 4);  // numbers of nodes, which have no names
  size_t named = 0;
  for (ValueId c : deep.constants()) named += deep.value(c).label.starts_with("encoder.albert_layer_groups");
  EXPECT_EQ(named, 16u);
}

TEST(TextEncoder, EveryHeadHasItsOutputs) {
  const std::vector<std::pair<const char*, std::vector<std::string>>> cases{
      {"BertForSequenceClassification", {"logits"}},
      {"RobertaForTokenClassification", {"logits"}},
      {"XLMRobertaForMaskedLM", {"logits"}},
      {"MPNetForQuestionAnswering", {"start_logits", "end_logits"}},
      {"BertForPreTraining", {"prediction_logits", "seq_relationship_logits"}},
      {"ModernBertModel", {"last_hidden_state"}}};
  for (const auto& [architecture, outputs] : cases) {
    const Graph graph = Request{small_config(architecture)}.build();
    verify(graph);
    std::vector<std::string> found;
    for (const Output& output : graph.outputs()) found.push_back(output.label);
    EXPECT_EQ(found, outputs) << architecture;
  }
}

TEST(TextEncoder, ATableOfWordsThatIsReadTwiceIsOneConstant) {
  Request bert{small_config("BertForMaskedLM")};
  EXPECT_EQ(bert.build().find_constant("cls.predictions.decoder.weight"), kNone);
  bert.config["tie_word_embeddings"] = false;
  EXPECT_NE(bert.build().find_constant("cls.predictions.decoder.weight"), kNone);
}

TEST(TextEncoder, SaysThatTypesOfTokensAreIgnored) {
  Request bert{small_config("BertForSequenceClassification")};
  EXPECT_EQ(bert.build().metadata.count(kTextTypes), 1u);
  bert.inputs = {"input_ids", "attention_mask", "token_type_ids"};
  EXPECT_EQ(bert.build().metadata.count(kTextTypes), 0u);
}

TEST(TextEncoder, KeysThatCouldChangeTheResultAreRefusedByName) {
  Request bert{small_config("BertModel")};
  bert.config["hidden_dropout_prob"] = 0.3;  // of training
  bert.config["layer_scale"] = nullptr;      // says nothing
  bert.build();
  bert.config["attention_logit_cap"] = 30;
  EXPECT_THAT(error_of([&] { bert.build(); }),
              AllOf(HasSubstr("folder/config.json"), HasSubstr("\"attention_logit_cap\" is 30")));
  Request modern{small_config("ModernBertModel")};
  modern.config["rope_parameters"] = {{"full_attention", {{"rope_type", "yarn"}, {"rope_theta", 1000.0}}}};
  EXPECT_THAT(error_of([&] { modern.build(); }), AllOf(HasSubstr("rope_type"), HasSubstr("yarn")));
  modern.config.erase("rope_parameters");
  modern.config["layer_types"] = {"full_attention", "full_attention"};
  EXPECT_THAT(error_of([&] { modern.build(); }), HasSubstr("2 entries for 1 layers"));
}

TEST(TextEncoder, PoolingsOfBothSpellingsAreRead) {
  Request bert{small_config("BertModel")};
  for (const char* pooling : {R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false})",
                              R"({"word_embedding_dimension": 8, "pooling_mode": "mean", "include_prompt": true})"}) {
    bert.pooling = parse_json(pooling, "1_Pooling/config.json");
    EXPECT_EQ(bert.build().nodes("mean_pool").size(), 1u) << pooling;
  }
  bert.pooling = parse_json(R"({"pooling_mode_mean_tokens": true, "include_prompt": false})", "1_Pooling/config.json");
  EXPECT_THAT(error_of([&] { bert.build(); }), HasSubstr("include_prompt"));
  bert.pooling = parse_json(R"({"pooling_mode_mean_tokens": true})", "1_Pooling/config.json");
  bert.config["architectures"] = {"BertForMaskedLM"};  // what is left of pre-training
  EXPECT_EQ(bert.build().nodes("mean_pool").size(), 1u);
  bert.config["architectures"] = {"BertForSequenceClassification"};
  EXPECT_THAT(error_of([&] { bert.build(); }), HasSubstr("head of its own"));
}

TEST(FindModel, AnUnknownArchitectureIsToldTheNearestAndHowToExport) {
  Json config = small_config("RobertaForMultipleChoice");
  config["model_type"] = "roberta";
  EXPECT_THAT(
      error_of([&] { model_for(config, "my model/config.json"); }),
      AllOf(HasSubstr("\"RobertaForMultipleChoice\" of model_type \"roberta\" is not known"), HasSubstr("RobertaFor"),
            HasSubstr("modernbert"), HasSubstr("optimum-cli export onnx --model 'my model' 'my model-onnx'")));
}

}  // namespace
}  // namespace hone
