// A decoder in a GGUF file is the one that its family builds of the same weights in a folder.
#include <gmock/gmock.h>

#include "importers/gguf_decoder.h"
#include "importers/importer.h"
#include "models/decoder.h"
#include "ops/evaluate.h"
#include "tests/importers/tiny_gguf.h"
#include "tests/io/temporary_folder.h"
#include "tokenizers/tokenizer.h"

namespace hone {
namespace {

using test::TinyDecoder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class GgufDecoder : public testing::Test {
 protected:
  // The same constants, and so the same numbers.
  void expect_same(const TinyDecoder& decoder) const {
    const Model model = import_model(decoder.write(folder_ / "m.gguf"));
    verify(model.graph);
    const Graph wanted = decoder.graph();
    for (ValueId id : wanted.constants()) {
      const std::string& label = wanted.value(id).label;
      if (label.empty()) continue;
      const ValueId found = model.graph.find_constant(label);
      ASSERT_NE(found, kNone) << label;
      EXPECT_TRUE(model.graph.constant(found)->same_bits(*wanted.constant(id))) << label;
    }
    const std::map<std::string, Tensor> given{
        {"input_ids", Tensor::of<int64_t>({2, 5}, {3, 8, 20, 1, 9, 0, 0, 7, 11, 23})},
        {"attention_mask", Tensor::of<int64_t>({2, 5}, {1, 1, 1, 1, 1, 0, 0, 1, 1, 1})}};
    EXPECT_EQ(evaluate(model.graph, given)[0].to_floats(), evaluate(wanted, given)[0].to_floats());
    EXPECT_EQ(decoder_facts(model.graph).context, 16);
  }
  std::string error(const TinyDecoder& decoder) const {
    const std::string path = decoder.write(folder_ / "bad.gguf");
    return error_of([&] { import_model(path); });
  }
  std::string error(const char* key, GgufSetting value) const { return error(TinyDecoder{.settings = {{key, value}}}); }

  TemporaryFolder folder_;
};

TEST_F(GgufDecoder, IsTheFoldersOfEachArchitecture) {
  for (const char* architecture : {"llama", "qwen2", "qwen3", "smollm3"}) {
    SCOPED_TRACE(architecture);
    expect_same({.architecture = architecture});
  }
  expect_same({.config = {{"tie_word_embeddings", true}}});
  expect_same({.config = {{"attention_bias", true}, {"mlp_bias", true}}});
}

TEST_F(GgufDecoder, GemmasNormsWindowsAndCapsAreTheFiles) {
  expect_same({.architecture = "gemma2",
               .config = {{"norms_hold_scales", true},
                          {"query_pre_attn_scalar", 8},
                          {"sliding_window", 3},
                          {"attn_logit_softcapping", 2.0},
                          {"final_logit_softcapping", 3.0}},
               .settings = {{"gemma2.attention.sliding_window", uint32_t{3}},
                            {"gemma2.attn_logit_softcapping", 2.f},
                            {"gemma2.final_logit_softcapping", 3.f}}});
  const Json global{{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 500.0}}, local{{"rope_theta", 100.0}};
  expect_same({.architecture = "gemma3",
               .config = {{"norms_hold_scales", true},
                          {"query_pre_attn_scalar", 8},
                          {"sliding_window", 3},
                          {"sliding_window_pattern", 2},
                          {"rope_parameters", {{"full_attention", global}, {"sliding_attention", local}}}},
               .settings = {{"gemma3.attention.sliding_window", uint32_t{3}},
                            {"gemma3.attention.sliding_window_pattern", uint32_t{2}},
                            {"gemma3.rope.freq_base", 500.f},
                            {"gemma3.rope.freq_base_swa", 100.f},
                            {"gemma3.rope.scaling.type", "linear"},
                            {"gemma3.rope.scaling.factor", 8.f}}});
  EXPECT_THAT(error(TinyDecoder{.architecture = "gemma3"}), HasSubstr("attention.sliding_window"));
}

TEST_F(GgufDecoder, KeepsWeightsInTheirFormats) {
  for (const char* format : {"bf16", "int4.g32.s=fp16", "uint4.g32.s=fp16.m=fp16", "int5.g32.s=fp16",
                             "uint5.g32.s=fp16.m=fp16", "int8.g32.s=fp16", "iq4_nl.s=fp16", "mxfp4"}) {
    SCOPED_TRACE(format);
    expect_same({.format = format});
  }
  for (const char* format : {"uint4.g32.s=u6.m=u6", "int6.g16.s=i8", "iq4_nl.s=i6"}) {
    SCOPED_TRACE(format);
    expect_same({.hidden = 256, .layers = 1, .format = format});
  }
}

// Blocks of Q3_K take as many bytes as those of IQ3_S, so that one name for the other makes a file of it.
TEST_F(GgufDecoder, CodebooksBecomeAWiderFormatAndTheGraphSaysSo) {
  const TinyDecoder decoder{.hidden = 256, .layers = 1, .format = "int3.g16.s=i6"};
  std::string bytes = content_of(decoder.write(folder_ / "m.gguf"));
  const std::string name = "blk.0.ffn_down.weight";
  const size_t type = bytes.find(name) + name.size() + 4 + 2 * 8;  // behind the number of dimensions and both of them
  ASSERT_EQ(bytes[type], 11);
  bytes[type] = 21;
  const Model model = import_model(folder_.put("m.gguf", bytes));
  const ValueId weight = model.graph.find_constant("model.layers.0.mlp.down_proj.weight");
  EXPECT_EQ(to_string(*model.graph.constant(weight)->format()), "int5.g32");
  EXPECT_EQ(model.graph.metadata.at(kWidened), "1 IQ3_S as int5.g32, 6 bits a weight for 3.44");
}

TEST_F(GgufDecoder, ReadsHowRotaryPositionsReachFurther) {
  const auto rope = [](Json keys) {
    keys["rope_theta"] = 10000;
    return Json{{"rope_parameters", keys}};
  };
  expect_same({.config = rope({{"rope_type", "linear"}, {"factor", 4.0}}),
               .settings = {{"llama.rope.scaling.type", "linear"}, {"llama.rope.scaling.factor", 4.f}}});
  expect_same(
      {.config = rope({{"rope_type", "linear"}, {"factor", 4.0}}), .settings = {{"llama.rope.scale_linear", 4.f}}});
  expect_same({.config = {}, .settings = {{"llama.rope.scaling.type", "none"}, {"llama.rope.scaling.factor", 4.f}}});
  expect_same({.config = rope({{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 8}}),
               .settings = {{"llama.rope.scaling.type", "yarn"},
                            {"llama.rope.scaling.factor", 4.f},
                            {"llama.rope.scaling.original_context_length", uint32_t{8}},
                            {"llama.rope.scaling.finetuned", true}}});
  const std::vector<double> divisors{1, 1, 2, 8};
  expect_same({.config = rope(
                   {{"rope_type", "longrope"}, {"short_factor", divisors}, {"long_factor", divisors}, {"factor", 1.0}}),
               .tensors = {{"rope_freqs.weight", Tensor::of<float>({4}, {1, 1, 2, 8})}}});
}

TEST_F(GgufDecoder, BringsTokenizerTemplateAndEnds) {
  const TinyDecoder decoder{
      .settings = {{"tokenizer.ggml.model", "gpt2"},
                   {"tokenizer.ggml.pre", "smollm"},
                   {"tokenizer.ggml.tokens", std::vector<std::string>{"<e>", "a", "b", "ab", "<t>"}},
                   {"tokenizer.ggml.token_type", std::vector<int32_t>{3, 1, 1, 1, 3}},
                   {"tokenizer.ggml.merges", std::vector<std::string>{"a b"}},
                   {"tokenizer.ggml.bos_token_id", uint32_t{4}},
                   {"tokenizer.ggml.eos_token_id", uint32_t{0}},
                   {"tokenizer.ggml.eot_token_id", uint32_t{4}},
                   {"tokenizer.chat_template", "{{ messages }}"}}};
  const Model model = import_model(decoder.write(folder_ / "m.gguf"));
  EXPECT_THAT(Tokenizer::from_files(model.files, "m.gguf").encode("abb<e>", 0), ElementsAre(3, 2, 0));
  const DecoderFacts facts = decoder_facts(model.graph);
  EXPECT_THAT(facts.end, ElementsAre(0, 4));
  EXPECT_EQ(facts.begin, 4);
  EXPECT_EQ(facts.chat_template, "{{ messages }}");
  EXPECT_EQ(model.stored_names.at("model.layers.1.mlp.up_proj.weight"), "blk.1.ffn_up.weight");
  EXPECT_THAT(error("tokenizer.ggml.eos_token_id", uint32_t{24}), AllOf(HasSubstr("eos_token_id"), HasSubstr("24")));
}

TEST_F(GgufDecoder, ShardsAreOneModel) {
  const TinyDecoder decoder;
  const std::vector<NamedTensor> all = decoder.stored_tensors();
  for (uint32_t number : {0u, 1u}) {
    GgufSettings settings = number == 0 ? decoder.whole_settings() : GgufSettings{{"general.architecture", "llama"}};
    settings["split.no"] = number, settings["split.count"] = uint32_t{2};
    settings["split.tensors.count"] = static_cast<int32_t>(all.size());
    const std::span<const NamedTensor> part = number == 0 ? std::span(all).first(7) : std::span(all).subspan(7);
    write_gguf(folder_ / fmt::format("m-{:05}-of-00002.gguf", number + 1), part, settings);
  }
  const Model model = import_model(folder_ / "m-00002-of-00002.gguf");
  EXPECT_EQ(model.weight_files.size(), 2u);
  EXPECT_EQ(model.graph.nodes("attention").size(), 4u);
}

TEST_F(GgufDecoder, KeysThatCouldChangeTheResultAreRefusedByName) {
  EXPECT_THAT(error("llama.attention.clamp_kqv", 8.f),
              AllOf(HasSubstr("bad.gguf: metadata of llama"), HasSubstr("\"attention.clamp_kqv\" is 8")));
  EXPECT_THAT(error("llama.expert_count", uint32_t{8}),
              AllOf(HasSubstr("\"expert_count\" is 8"), HasSubstr("accepted: 0")));
  EXPECT_THAT(error("llama.attention.causal", false), HasSubstr("\"attention.causal\" is false"));
  EXPECT_THAT(error("llama.attention.sliding_window", uint32_t{8}), HasSubstr("sliding_window"));
  EXPECT_THAT(error("llama.rope.scaling.type", "dynamic"), HasSubstr("\"dynamic\"; accepted: none, linear, yarn"));
  EXPECT_THAT(error("llama.rope.scaling.attn_factor", 2.f), HasSubstr("attn_factor"));
  EXPECT_EQ(error("mradermacher.quantized_by", "someone"), "");
  EXPECT_EQ(error("llama.expert_count", uint32_t{0}), "");
}

TEST_F(GgufDecoder, SizesThatDoNotGoTogetherAreRefused) {
  EXPECT_THAT(error("llama.vocab_size", uint32_t{25}), HasSubstr("vocab_size is 25, but \"token_embd.weight\" has 24"));
  EXPECT_THAT(error("llama.attention.value_length", uint32_t{4}), HasSubstr("attention.value_length is 4"));
  EXPECT_THAT(error("llama.rope.dimension_count", uint32_t{4}), HasSubstr("rope.dimension_count is 4"));
  EXPECT_THAT(error("llama.attention.head_count_kv", uint32_t{3}),
              HasSubstr("attention.head_count 4 is not a multiple"));
  EXPECT_THAT(error("llama.attention.head_count", std::vector<int32_t>{4, 4}), HasSubstr("[4,4]"));
  EXPECT_THAT(error("llama.feed_forward_length", uint32_t{65}),
              HasSubstr("\"blk.0.ffn_gate.weight\" is [64,32]; the metadata ask for [65,32]"));
  EXPECT_THAT(error("llama.block_count", uint32_t{5}), HasSubstr("there is no tensor \"blk.4.attn_norm.weight\""));
  EXPECT_THAT(error("llama.block_count", uint32_t{4'000'000'000}), HasSubstr("block_count"));
  EXPECT_THAT(error("llama.rope.freq_base", -1.f), HasSubstr("rope_theta is -1"));
}

TEST_F(GgufDecoder, TensorsThatNobodyReadsAreRefusedByName) {
  EXPECT_THAT(error(TinyDecoder{.settings = {{"llama.block_count", uint32_t{3}}}}),
              AllOf(HasSubstr("9 of its tensors"), HasSubstr("blk.3.")));
  EXPECT_THAT(error(TinyDecoder{.tensors = {{"blk.0.attn_q.bias", Tensor(DType::f32, {32})}}}),
              AllOf(HasSubstr("1 of its tensors"), HasSubstr("blk.0.attn_q.bias")));
  EXPECT_THAT(error(TinyDecoder{.tensors = {{"rope_freqs.weight", Tensor(DType::f32, {5})}}}),
              HasSubstr("F32 [5]; accepted: F32 [4]"));
  EXPECT_THAT(error(TinyDecoder{.settings = {{"llama.rope.scaling.factor", 2.f}},
                                .tensors = {{"rope_freqs.weight", Tensor::of<float>({4}, {1, 1, 1, 1})}}}),
              HasSubstr("scales as well"));
}

TEST_F(GgufDecoder, UnknownArchitecturesAreToldTheKnownOnes) {
  write_gguf(folder_ / "m.gguf", {}, {{"general.architecture", "lama"}});
  EXPECT_THAT(error_of([&] { import_model(folder_ / "m.gguf"); }),
              AllOf(HasSubstr("architecture \"lama\" is not known"),
                    HasSubstr("llama, qwen2, qwen3, smollm3, gemma2, gemma3")));
  write_gguf(folder_ / "n.gguf", {}, {{"general.architecture", "llama"}});
  EXPECT_THAT(error_of([&] { import_model(folder_ / "n.gguf"); }), HasSubstr("\"block_count\""));
}

}  // namespace
}  // namespace hone
