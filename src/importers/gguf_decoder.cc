#include "importers/gguf_decoder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "models/config.h"

namespace hone {
namespace {

constexpr GgufArchitecture kArchitectures[] = {{"llama", "LlamaForCausalLM", true},
                                               {"qwen2", "Qwen2ForCausalLM"},
                                               {"qwen3", "Qwen3ForCausalLM"},
                                               {"smollm3", "SmolLM3ForCausalLM", true},
                                               {.name = "gemma2", .model = "Gemma2ForCausalLM", .is_gemma = true},
                                               {.name = "gemma3", .model = "Gemma3ForCausalLM", .is_gemma = true}};

constexpr const char *kWords = "token_embd.weight", *kHead = "output.weight", *kDivisors = "rope_freqs.weight";

// Tensors without the number of their layer and their ending, .weight or .bias.
struct Name {
  std::string_view folder, gguf;
};
constexpr Name kOutside[] = {
    {"model.embed_tokens", "token_embd"}, {"model.norm", "output_norm"}, {"lm_head", "output"}};
constexpr Name kOfLayers[] = {{"input_layernorm", "attn_norm"},    {"post_attention_layernorm", "ffn_norm"},
                              {"self_attn.q_proj", "attn_q"},      {"self_attn.k_proj", "attn_k"},
                              {"self_attn.v_proj", "attn_v"},      {"self_attn.o_proj", "attn_output"},
                              {"self_attn.q_norm", "attn_q_norm"}, {"self_attn.k_norm", "attn_k_norm"},
                              {"mlp.gate_proj", "ffn_gate"},       {"mlp.up_proj", "ffn_up"},
                              {"mlp.down_proj", "ffn_down"}};

constexpr Name kOfGemma[] = {{"post_attention_layernorm", "post_attention_norm"},
                             {"pre_feedforward_layernorm", "ffn_norm"},
                             {"post_feedforward_layernorm", "post_ffw_norm"}};

std::string gguf_name(std::span<const Name> names, std::string_view part, const std::string& whole) {
  const auto found = std::ranges::find(names, part, &Name::folder);
  CHECK(found != names.end(), "{} has no name in GGUF files", whole);
  return std::string(found->gguf);
}

// "model.layers.3.mlp.up_proj.weight" → "blk.3.ffn_up.weight"
std::string gguf_name(const std::string& name, const GgufArchitecture& architecture) {
  constexpr std::string_view kLayers = "model.layers.";
  const size_t ending = name.rfind('.');
  CHECK(ending != std::string::npos, "{}", name);
  std::string_view part = std::string_view(name).substr(0, ending);
  const std::string behind = name.substr(ending);
  if (!part.starts_with(kLayers)) return gguf_name(kOutside, part, name) + behind;
  part.remove_prefix(kLayers.size());
  const size_t dot = part.find('.');
  CHECK(dot != std::string_view::npos, "{}", name);
  const std::string_view inside = part.substr(dot + 1);
  const bool is_gemmas =
      architecture.is_gemma && std::ranges::find(kOfGemma, inside, &Name::folder) != std::end(kOfGemma);
  const std::span<const Name> names = is_gemmas ? std::span<const Name>(kOfGemma) : kOfLayers;
  return fmt::format("blk.{}.{}{}", part.substr(0, dot), gguf_name(names, inside, name), behind);
}

Json json_of(const GgufMetadata& metadata, const std::string& key, const GgufValue& value) {
  using Type = GgufValue::Type;
  const bool is_list = value.type == Type::array;
  const Type type = is_list ? value.element : value.type;
  if (type == Type::string) return is_list ? Json(metadata.texts(key)) : Json(metadata.text(key));
  if (type == Type::f32 || type == Type::f64) return is_list ? Json(metadata.numbers(key)) : Json(metadata.number(key));
  if (type == Type::boolean && !is_list) return metadata.flag(key);
  return is_list ? Json(metadata.integers(key)) : Json(metadata.integer(key));
}

// Keys that begin with the architecture's name, without it.
Json settings_of(const GgufMetadata& metadata, std::string_view architecture) {
  Json settings = Json::object();
  for (const auto& [key, value] : metadata.values())
    if (key.starts_with(architecture) && key.substr(architecture.size()).starts_with('.'))
      settings[key.substr(architecture.size() + 1)] = json_of(metadata, key, value);
  return settings;
}

// Those of training and labels change nothing; the others are read below, or taken with the one value that goes with
// what is computed.
constexpr Setting kSettings[] = {{"block_count"},
                                 {"context_length"},
                                 {"embedding_length"},
                                 {"feed_forward_length"},
                                 {"attention.head_count"},
                                 {"attention.head_count_kv"},
                                 {"attention.key_length"},
                                 {"attention.value_length"},
                                 {"attention.layer_norm_rms_epsilon"},
                                 {"attention.causal", "true"},
                                 {"attention.scale", "0.0"},
                                 {"attention.sliding_window", "0"},
                                 {"vocab_size"},
                                 {"expert_count", "0"},
                                 {"expert_used_count", "0"},
                                 {"logit_scale", "0.0 | 1.0"},
                                 {"pooling_type", "0"},
                                 {"use_parallel_residual", "false"},
                                 {"tensor_data_layout"},
                                 {"rope.dimension_count"},
                                 {"rope.freq_base"},
                                 {"rope.scale_linear"},
                                 {"rope.scaling.type"},
                                 {"rope.scaling.factor"},
                                 {"rope.scaling.original_context_length"},
                                 {"rope.scaling.attn_factor", "1.0"},
                                 {"rope.scaling.yarn_ext_factor", "1.0"},
                                 {"rope.scaling.yarn_attn_factor", "1.0"},
                                 {"rope.scaling.yarn_beta_fast"},
                                 {"rope.scaling.yarn_beta_slow"},
                                 {"rope.scaling.finetuned"}};

constexpr Setting kGemma[] = {{"attention.sliding_window"},
                              {"attention.sliding_window_pattern"},
                              {"attn_logit_softcapping"},
                              {"final_logit_softcapping"},
                              {"rope.freq_base_swa"}};

std::vector<Setting> known_settings(const GgufArchitecture& architecture) {
  std::vector<Setting> known;
  if (architecture.is_gemma) known.assign(std::begin(kGemma), std::end(kGemma));  // the first of a key counts
  known.insert(known.end(), std::begin(kSettings), std::end(kSettings));
  return known;
}

class ConfigReader {
 public:
  ConfigReader(const GgufFile& file, const GgufArchitecture& architecture)
      : file_(file),
        architecture_(architecture),
        settings_(settings_of(file.metadata(), architecture.name)),
        source_(fmt::format("{}: metadata of {}", file.path(), architecture.name)),
        read_(settings_, source_),
        config_{{"architectures", {architecture.model}}} {
    check_settings(settings_, known_settings(architecture), source_);
  }

  Json run() {
    config_["num_hidden_layers"] = read_.size("block_count");
    config_["max_position_embeddings"] = read_.size("context_length");
    config_["hidden_size"] = read_.size("embedding_length");
    config_["intermediate_size"] = read_.size("feed_forward_length");
    config_["rms_norm_eps"] = json_get<double>(settings_, "attention.layer_norm_rms_epsilon", source_);
    config_["vocab_size"] = vocabulary();
    config_["tie_word_embeddings"] = !file_.find(kHead);
    if (file_.find("blk.0.attn_output.bias")) config_["attention_bias"] = true;
    if (file_.find("blk.0.ffn_down.bias")) config_["mlp_bias"] = true;
    read_heads();
    config_["rope_parameters"] = rotary();
    if (architecture_.is_gemma) add_gemma();
    read_text_ends();
    return std::move(config_);
  }

 private:
  // Rows of the table of words: files need not say it elsewhere.
  int64_t vocabulary() const {
    const GgufEntry* words = file_.find(kWords);
    if (!words || words->shape.size() != 2)
      fail("{}: there is no tensor \"{}\" of two dimensions, the table of words", file_.path(), kWords);
    const int64_t rows = words->shape[0];
    if (const int64_t said = read_.size_or("vocab_size", rows); said != rows)
      fail("{}: vocab_size is {}, but \"{}\" has {} rows", source_, said, kWords, rows);
    return rows;
  }

  void read_heads() {
    const int64_t heads = read_.size("attention.head_count"), hidden = read_.size("embedding_length"),
                  shared = read_.size_or("attention.head_count_kv", heads);
    if (!read_.has("attention.key_length") && hidden % heads != 0)
      fail(
          "{}: embedding_length {} is not a multiple of attention.head_count {}, and attention.key_length is not given",
          source_, hidden, heads);
    if (heads % shared != 0)
      fail("{}: attention.head_count {} is not a multiple of attention.head_count_kv {}", source_, heads, shared);
    columns_ = read_.size_or("attention.key_length", hidden / heads);
    for (const char* same : {"attention.value_length", "rope.dimension_count"})
      if (const int64_t found = read_.size_or(same, columns_); found != columns_)
        fail("{}: {} is {} and a head has {} columns; accepted: as many", source_, same, found, columns_);
    config_["num_attention_heads"] = heads;
    config_["num_key_value_heads"] = shared;
    config_["head_dim"] = columns_;
  }

  // rope_parameters of a folder. Without a type the factor is that of a linear scaling, and 0 stands for none.
  Json rotary() const {
    Json rope{{"rope_theta", read_.number_or("rope.freq_base", 10000)}, {"rope_type", "default"}};
    const std::string type = read_.text_or("rope.scaling.type", "linear");
    const double factor = read_.number_or("rope.scaling.factor", read_.number_or("rope.scale_linear", 0));
    const bool scales = type != "none" && (type != "linear" || (factor != 0 && factor != 1));
    if (file_.find(kDivisors)) {
      if (scales)
        fail("{}: rope.scaling.type is \"{}\", and the tensor \"{}\" scales as well; accepted: one of them", source_,
             type, kDivisors);
      add_divisors(rope);
    } else if (type == "yarn") {
      add_yarn(rope, factor);
    } else if (scales) {
      if (type != "linear") fail("{}: rope.scaling.type is \"{}\"; accepted: none, linear, yarn", source_, type);
      rope.update({{"rope_type", "linear"}, {"factor", factor}});
    }
    return rope;
  }

  // What files leave out is as llama.cpp has it: among others the scale of scores, which the largest of each kind takes
  // from other sizes.
  void add_gemma() {
    const bool is_third = architecture_.name == "gemma3";
    const int64_t layers_of_largest = is_third ? 62 : 46;
    config_["norms_hold_scales"] = true;
    config_["query_pre_attn_scalar"] = config_["num_hidden_layers"] == layers_of_largest
                                           ? read_.size("embedding_length") / read_.size("attention.head_count")
                                           : columns_;
    for (const char* cap : {"attn_logit_softcapping", "final_logit_softcapping"})
      if (read_.has(cap)) config_[cap] = read_.number_or(cap, 0);
    config_["sliding_window"] =
        is_third ? read_.size("attention.sliding_window") : read_.size_or("attention.sliding_window", 4096);
    if (!is_third) return;
    config_["sliding_window_pattern"] = read_.size_or("attention.sliding_window_pattern", 6);
    config_["rope_parameters"] = {
        {"full_attention", rotary()},
        {"sliding_attention", {{"rope_theta", read_.number_or("rope.freq_base_swa", 10000)}}}};
  }

  void add_yarn(Json& rope, double factor) const {
    rope["rope_type"] = "yarn";
    rope["factor"] = factor;
    rope["original_max_position_embeddings"] = read_.size("rope.scaling.original_context_length");
    for (const char* key : {"beta_fast", "beta_slow"})
      if (const std::string given = fmt::format("rope.scaling.yarn_{}", key); read_.has(given))
        rope[key] = read_.number_or(given, 0);
  }

  // What llama.cpp's converter makes of scalings that it has no name for: each frequency's divisor.
  void add_divisors(Json& rope) const {
    const GgufEntry& entry = *file_.find(kDivisors);
    if (entry.type->dtype != DType::f32 || entry.shape != std::vector<int64_t>{columns_ / 2})
      fail("{}: tensor \"{}\" is {} [{}]; accepted: F32 [{}], half the columns of a head", file_.path(), kDivisors,
           entry.type->name, fmt::join(entry.shape, ","), columns_ / 2);
    const std::vector<double> divisors = file_.tensor(kDivisors).to_doubles();
    rope.update({{"rope_type", "longrope"}, {"short_factor", divisors}, {"long_factor", divisors}, {"factor", 1.0}});
  }

  void read_text_ends() {
    const GgufMetadata& metadata = file_.metadata();
    if (metadata.has("tokenizer.ggml.bos_token_id"))
      config_["bos_token_id"] = metadata.integer("tokenizer.ggml.bos_token_id");
    Json end = Json::array();
    for (const char* which : {"eos", "eot", "eom"}) {
      const std::string key = fmt::format("tokenizer.ggml.{}_token_id", which);
      if (!metadata.has(key)) continue;
      if (const Json id = metadata.integer(key); std::ranges::find(end, id) == end.end()) end.push_back(id);
    }
    if (!end.empty()) config_["eos_token_id"] = end;
  }

  const GgufFile& file_;
  const GgufArchitecture& architecture_;
  const Json settings_;
  const std::string source_;
  const ModelConfig read_;
  int64_t columns_ = 0;  // of a head
  Json config_;
};

}  // namespace

const GgufArchitecture& gguf_architecture(const GgufFile& file) {
  const std::string name = file.architecture();
  std::vector<std::string> known;
  for (const GgufArchitecture& each : kArchitectures) {
    if (name == each.name) return each;
    known.emplace_back(each.name);
  }
  fail(
      "{}: architecture \"{}\" is not known in GGUF files; known: {}{}. Try the model's Hugging Face folder "
      "(config.json and model.safetensors)",
      file.path(), name, fmt::join(known, ", "), did_you_mean(name, known));
}

Json config_of_gguf(const GgufFile& file, const GgufArchitecture& architecture) {
  return ConfigReader(file, architecture).run();
}

GgufWeights::GgufWeights(const GgufFile& file, const GgufArchitecture& architecture, const Json& config)
    : file_(file), architecture_(architecture), config_(config) {}

// Row 2 i + j of a head in the file is row i of its half j.
std::vector<int64_t> GgufWeights::row_order(const std::string& name) const {
  const bool is_query = name.find(".attn_q.") != std::string::npos, is_key = name.find(".attn_k.") != std::string::npos;
  if (!architecture_.alternates_halves || (!is_query && !is_key)) return {};
  const auto columns = config_.at("head_dim").get<int64_t>();
  const auto heads = config_.at(is_query ? "num_attention_heads" : "num_key_value_heads").get<int64_t>();
  std::vector<int64_t> order;
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t half = 0; half < 2; ++half)
      for (int64_t i = half; i < columns; i += 2) order.push_back(head * columns + i);
  return order;
}

Tensor GgufWeights::tensor(const std::string& name, const std::vector<int64_t>& shape) {
  const std::string stored = gguf_name(name, architecture_);
  if (const GgufEntry* entry = file_.find(stored); entry && entry->shape != shape)
    fail("{}: tensor \"{}\" is [{}]; the metadata ask for [{}]", file_.path(), stored, fmt::join(entry->shape, ","),
         fmt::join(shape, ","));
  stored_names_[name] = stored;
  if (!file_.find(stored)) return file_.tensor(stored);  // says what there is
  return file_.tensor(stored, row_order(stored));
}

std::string GgufWeights::widened() const {
  std::map<const GgufType*, int> counts;
  for (const auto& [name, stored] : stored_names_)
    if (const GgufType& type = *file_.find(stored)->type; is_codebook(type)) ++counts[&type];
  std::vector<std::string> parts;
  for (const auto& [type, count] : counts) {
    const std::vector<int64_t> block{type->block};
    const double bits = 8.0 * static_cast<double>(plane_bytes(parse_format(type->format), block).total()) /
                        static_cast<double>(type->block);
    parts.push_back(fmt::format("{} {} as {}, {:.3g} bits a weight for {:.3g}", count, type->name, type->format, bits,
                                type->bits()));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

void GgufWeights::check_complete() const {
  std::set<std::string, std::less<>> read{kDivisors};
  for (const auto& [name, stored] : stored_names_) {
    read.insert(stored);
    if (file_.find(stored)->type->id == kNvfp4Type) read.insert(global_scale_name(stored));
  }
  std::vector<std::string_view> unread;
  for (const GgufEntry* entry : file_.entries())
    if (!read.contains(entry->name)) unread.push_back(entry->name);
  if (unread.empty()) return;
  const size_t shown = std::min<size_t>(unread.size(), 5);
  fail(
      "{}: {} of its tensors are no part of the architecture \"{}\" as hone builds it, and would change the result: "
      "{}{}",
      file_.path(), unread.size(), architecture_.name, fmt::join(std::span(unread).first(shown), ", "),
      unread.size() > shown ? ", ..." : "");
}

}  // namespace hone
