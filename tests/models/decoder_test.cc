// What is a decoder, what its metadata say, and what its cached form takes, gives and refuses.
// tests/generate/cached_decoder_test.cc runs it.
#include "models/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/token_inputs.h"
#include "tests/models/tiny_decoder_graph.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal(const TinyParts& parts, const CacheOptions& options = {}) {
  return error_of([&] { with_cache(tiny_decoder_graph(parts), options); });
}

TEST(DecoderFacts, AreReadFromMetadata) {
  Graph graph = tiny_decoder_graph();
  graph.metadata = {{kDecoderContext, "64"},
                    {kDecoderVocabulary, "20"},
                    {kDecoderBegin, "1"},
                    {kDecoderEnd, "2,19"},
                    {kChatTemplate, "{{ x }}"}};
  const DecoderFacts facts = decoder_facts(graph);
  EXPECT_EQ(facts.context, 64);
  EXPECT_EQ(facts.vocabulary, 20);
  EXPECT_EQ(facts.begin, 1);
  EXPECT_THAT(facts.end, ElementsAre(2, 19));
  EXPECT_EQ(facts.chat_template, "{{ x }}");
  EXPECT_FALSE(decoder_facts(tiny_decoder_graph()).begin);
}

TEST(DecoderFacts, RefusesWhatIsNoNumber) {
  for (const char* text : {"", "64 ", "-1", "0x40", "99999999999999999999"}) {
    Graph graph = tiny_decoder_graph();
    graph.metadata[kDecoderContext] = text;
    EXPECT_EQ(
        error_of([&] { decoder_facts(graph); }),
        fmt::format("graph tiny: metadata decoder.context is \"{}\"; accepted: numbers in base 10, 0 or more", text));
  }
}

TEST(IsDecoder, NeedsCausalAttentionAndTheInputs) {
  EXPECT_TRUE(is_decoder(tiny_decoder_graph()));
  EXPECT_FALSE(is_decoder(tiny_decoder_graph({.first = "", .second = ""})));
  EXPECT_FALSE(is_decoder(with_cache(tiny_decoder_graph(), {}).graph));
  Graph graph = tiny_decoder_graph();
  graph.set_label(input_of(graph, "attention_mask"), "mask");
  EXPECT_FALSE(is_decoder(graph));
  EXPECT_THAT(error_of([&] { with_cache(graph, {}); }), HasSubstr("graph tiny is no decoder; accepted: input_ids"));
}

TEST(WithCache, StatesArePagesOfEachLayerTableAndLengths) {
  const CachedDecoder cached = with_cache(tiny_decoder_graph(), {.type = "f32", .page_rows = 8});
  EXPECT_THAT(cached.pages, ElementsAre("0.keys", "0.values", "1.keys", "1.values"));
  std::vector<std::string> inputs;
  for (ValueId id : cached.graph.inputs())
    inputs.push_back(cached.graph.value(id).label + " " + to_string(cached.graph.type(id)));
  EXPECT_THAT(inputs, ElementsAre("input_ids i64[B,S]", "attention_mask i64[B,S]", "slots i64[B]", "table i64[N,T]",
                                  "lengths i64[N]", "0.keys f32[P,8,32]", "0.values f32[P,8,32]", "1.keys f32[P,8,32]",
                                  "1.values f32[P,8,32]"));
  verify(cached.graph);
  for (ValueId id : cached.graph.inputs())
    EXPECT_EQ(cached.graph.update_of(id) != kNone,
              cached.graph.value(id).role == InputRole::state && cached.graph.value(id).label != "table");
}

// The table of words is as large as all layers of small models: a prompt reads it for one token.
TEST(WithCache, OneTokenOfEachRowMeetsTheVocabulary) {
  const auto product = [](const Graph& graph) {
    std::string result;
    for (NodeId id : graph.nodes("linear"))
      if (graph.type(graph.result(id)).shape.back() == Dim(kGraphVocabulary))
        result = to_string(graph.type(graph.operand(id, 0)));
    return result;
  };
  for (const char* end :
       {"%logits = linear %h, %words", "%l = linear %h, %words\n %t = tanh %l\n %logits = mul %t, 30.0"}) {
    const CachedDecoder last = with_cache(tiny_decoder_graph({.end = end}), {});
    EXPECT_EQ(product(last.graph), "f32[B,1,24]");
    EXPECT_EQ(to_string(last.graph.type(last.graph.outputs()[0].value)), "f32[B,20]");
    const CachedDecoder all = with_cache(tiny_decoder_graph({.end = end}), {.all_logits = true});
    EXPECT_EQ(to_string(all.graph.type(all.graph.outputs()[0].value)), "f32[B,S,20]");
  }
}

TEST(WithCache, RefusesAttentionThatSeesWhatIsBehind) {
  EXPECT_EQ(refusal({.second = ""}), "graph tiny: attention \"%y1\" sees what is behind a token; accepted: causal=1");
}

TEST(WithCache, RefusesPositionsThatPaddingChanges) {
  EXPECT_EQ(refusal({.positions = "%row = iota {shape=[S]}\n %zero = mul %am, 0\n %positions = add %zero, %row"}),
            "graph tiny: cast \"%places\" reads \"%positions\", which is made of attention_mask or of the length of a "
            "run; accepted: positions [B,S] that count the tokens of each row, as a cumsum of attention_mask does");
  EXPECT_THAT(refusal({.positions = "%positions = cumsum %am {axis=1, reverse=1}"}), HasSubstr("reads \"%positions\""));
}

// Counted from 1, and held below the length of a run, as positions are whose limit the graph states.
TEST(WithCache, PositionsMayBeComputedInAnyWay) {
  const CachedDecoder cached =
      with_cache(tiny_decoder_graph({.positions = "%n = cumsum %am {axis=1}\n %all = iota {shape=[64]}\n"
                                                  "%row = slice %all {starts=[0], ends=[S]}\n %next = add %row, 1\n"
                                                  "%least = min %n, %next\n %positions = mul %least, %am"}),
                 {});
  verify(cached.graph);
  EXPECT_TRUE(cached.graph.nodes("cumsum").empty());
}

TEST(WithCache, RefusesOtherMasks) {
  EXPECT_EQ(refusal({.mask = "%slope : f32[4,1,1] = const {1, 2, 3, 4}\n %kept = cast %am {dtype=f32}\n"
                             "%kept4 = unsqueeze %kept {axes=[1,2]}\n %mask = mul %kept4, %slope"}),
            "graph tiny: attention \"%y0\" has the mask f32[B,4,1,S]; accepted: [B,1,1,S], made of attention_mask "
            "alone, or none");
}

TEST(WithCache, RefusesOtherOpsThatMixTokens) {
  EXPECT_THAT(refusal({.end = "%mixed = cumsum %h {axis=1}\n %logits = linear %mixed, %words"}),
              HasSubstr("cumsum \"%mixed\" is no op that the cached form knows to be about one token"));
  EXPECT_THAT(refusal({.end = "%mixed = softmax %h {axis=1}\n %logits = linear %mixed, %words"}),
              HasSubstr("softmax \"%mixed\" goes along axis 1, over tokens"));
  EXPECT_THAT(refusal({.end = "%mixed = reduce_sum %h {axes=[1], keepdims=1}\n %k = add %h, %mixed\n"
                              "%logits = linear %k, %words"}),
              HasSubstr("reduce_sum \"%mixed\" is f32[B,1,24]; accepted of what tokens have: [B,S,...]"));
  EXPECT_THAT(refusal({.end = "%total = reduce_sum %am {axes=[1], keepdims=1}\n %t = cast %total {dtype=f32}\n"
                              "%t3 = unsqueeze %t {axes=[2]}\n %k = mul %h, %t3\n %logits = linear %k, %words"}),
              HasSubstr("cast \"%t\" reads \"%total\", which is made of attention_mask"));
}

TEST(WithCache, TypesOfPages) {
  const auto type_of = [](const char* type) {
    const CachedDecoder cached = with_cache(tiny_decoder_graph(), {.type = type, .page_rows = 8});
    verify(cached.graph);
    for (ValueId id : cached.graph.inputs())
      if (cached.graph.value(id).label == "1.values") return to_string(cached.graph.type(id));
    return std::string();
  };
  EXPECT_EQ(type_of("bf16"), "bf16[P,8,32]");
  EXPECT_EQ(type_of("int8.g64"), "int8.g64[P,8,32]");
  EXPECT_EQ(type_of("mxint8"), "mxint8[P,8,32]");
}

TEST(WithCache, RefusesTypesThatHeadsDoNotAllow) {
  EXPECT_EQ(refusal({}, {.type = "int8.g8"}),
            "keys and values as \"int8.g8\": attention \"%y0\" has 2 heads of 16 columns, which groups neither divide "
            "nor hold evenly; accepted: f32, bf16, and formats of such groups, e.g. int8.g16");
  EXPECT_THAT(refusal({}, {.type = "int8"}), AllOf(HasSubstr("keys and values as \"int8\": "),
                                                   HasSubstr("; accepted: f32, bf16, and formats with scales")));
  EXPECT_THAT(refusal({}, {.type = "f16"}), HasSubstr("keys and values as \"f16\": "));
  EXPECT_THAT(refusal({}, {.type = "nonsense"}), HasSubstr("keys and values as \"nonsense\": "));
  EXPECT_EQ(refusal({}, {.page_rows = 0}), "pages of 0 tokens; accepted: 1 to 65536");
}

}  // namespace
}  // namespace hone::test
