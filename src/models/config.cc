#include "models/config.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace hone {

bool ModelConfig::has(const std::string& key) const {
  return json_.is_object() && json_.contains(key) && !json_.at(key).is_null();
}

namespace {
constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostLayers = 1000;  // far above what anyone builds, far below what would never end
bool is_size(const Json& value) { return value.is_number_integer() && value >= 1 && value <= kMost; }
}  // namespace

int64_t ModelConfig::size(const std::string& key) const {
  const Json value = json_get<Json>(json_, key, source_);
  if (!is_size(value))
    fail("{}: key \"{}\" is {}; accepted: an integer from 1 to {}", source_, key, json_excerpt(value), kMost);
  return value.get<int64_t>();
}

int64_t ModelConfig::layers(const std::string& key) const {
  const int64_t count = size(key);
  if (count > kMostLayers) fail("{}: key \"{}\" is {}; accepted: 1 to {}", source_, key, count, kMostLayers);
  return count;
}

std::vector<int64_t> ModelConfig::sizes(const std::string& key) const {
  const Json list = json_get<Json>(json_, key, source_);
  if (!list.is_array() || list.empty() || list.size() > kMostLayers || !std::all_of(list.begin(), list.end(), is_size))
    fail("{}: key \"{}\" is {}; accepted: a list of integers from 1 to {}, at most {} of them", source_, key,
         json_excerpt(list), kMost, kMostLayers);
  return list.get<std::vector<int64_t>>();
}

std::vector<int64_t> ModelConfig::depths(const std::string& key) const {
  const std::vector<int64_t> list = sizes(key);
  const int64_t sum = std::accumulate(list.begin(), list.end(), int64_t{0});  // of at most 1000 below 2^31
  if (sum > kMostLayers)
    fail("{}: key \"{}\" asks for {} blocks in all; accepted: at most {}", source_, key, sum, kMostLayers);
  return list;
}

int64_t ModelConfig::size_or(const std::string& key, int64_t fallback) const { return has(key) ? size(key) : fallback; }

int64_t ModelConfig::size_unless_none(const std::string& key, int64_t none) const {
  return has(key) && json_.at(key).is_number_integer() && json_.at(key) < 1 ? none : size_or(key, none);
}

double ModelConfig::number_or(const std::string& key, double fallback) const {
  if (!has(key)) return fallback;
  if (!json_.at(key).is_number())
    fail("{}: key \"{}\" is {}; accepted: a number", source_, key, json_excerpt(json_.at(key)));
  return json_.at(key).get<double>();
}

std::string ModelConfig::text_or(const std::string& key, const std::string& fallback) const {
  if (!has(key)) return fallback;
  if (!json_.at(key).is_string())
    fail("{}: key \"{}\" is {}; accepted: a string", source_, key, json_excerpt(json_.at(key)));
  return json_.at(key).get<std::string>();
}

bool ModelConfig::flag(const std::string& key, bool fallback) const {
  if (!has(key)) return fallback;
  if (!json_.at(key).is_boolean())
    fail("{}: key \"{}\" is {}; accepted: true, false", source_, key, json_excerpt(json_.at(key)));
  return json_.at(key).get<bool>();
}

namespace {

// Of training, of generating text, of how the folder was written, and what other files say better.
constexpr Setting kOfNoEffect[] = {{"architectures"},
                                   {"model_type"},
                                   {"_name_or_path"},
                                   {"_commit_hash"},
                                   {"transformers_version"},
                                   {"adapter_transformers_version"},
                                   {"torch_dtype"},
                                   {"dtype"},
                                   {"transformers.js_config"},
                                   {"unsloth_fixed"},
                                   {"unsloth_version"},
                                   {"language"},
                                   {"license"},
                                   {"id2label"},
                                   {"label2id"},
                                   {"num_labels"},
                                   {"_num_labels"},
                                   {"problem_type"},
                                   {"finetuning_task"},
                                   {"task_specific_params"},
                                   {"sentence_transformers"},
                                   {"tokenizer_class"},
                                   {"prefix"},
                                   {"pad_token_id"},
                                   {"bos_token_id"},
                                   {"eos_token_id"},
                                   {"cls_token_id"},
                                   {"sep_token_id"},
                                   {"mask_token_id"},
                                   {"unk_token_id"},
                                   {"decoder_start_token_id"},
                                   {"forced_bos_token_id"},
                                   {"forced_eos_token_id"},
                                   {"initializer_range"},
                                   {"initializer_factor"},
                                   {"hidden_dropout_prob"},
                                   {"attention_probs_dropout_prob"},
                                   {"classifier_dropout"},
                                   {"classifier_dropout_prob"},
                                   {"dropout"},
                                   {"attention_dropout"},
                                   {"gradient_checkpointing"},
                                   {"use_cache"},
                                   {"use_bfloat16"},
                                   {"torchscript"},
                                   {"tf_legacy_loss"},
                                   {"chunk_size_feed_forward"},
                                   {"tie_word_embeddings"},
                                   {"quantization_config"},
                                   {"return_dict"},
                                   {"return_dict_in_generate"},
                                   {"output_attentions"},
                                   {"output_hidden_states"},
                                   {"output_past"},
                                   {"output_scores"},
                                   {"attn_implementation"},
                                   {"_attn_implementation"},
                                   {"_attn_implementation_autoset"},
                                   {"max_length"},
                                   {"min_length"},
                                   {"do_sample"},
                                   {"early_stopping"},
                                   {"num_beams"},
                                   {"num_beam_groups"},
                                   {"num_return_sequences"},
                                   {"diversity_penalty"},
                                   {"length_penalty"},
                                   {"repetition_penalty"},
                                   {"no_repeat_ngram_size"},
                                   {"encoder_no_repeat_ngram_size"},
                                   {"temperature"},
                                   {"top_k"},
                                   {"top_p"},
                                   {"typical_p"},
                                   {"is_decoder", "false"},
                                   {"is_encoder_decoder", "false"},
                                   {"add_cross_attention", "false"},
                                   {"tie_encoder_decoder", "false"},
                                   {"pruned_heads", "{}"}};

}  // namespace

void ModelConfig::check(std::span<const Setting> followed) const {
  std::vector<Setting> known(followed.begin(), followed.end());
  known.insert(known.end(), std::begin(kOfNoEffect), std::end(kOfNoEffect));
  check_settings(json_, known, source_);
}

}  // namespace hone
