#include "jobs/text_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "io/tokenizer_files.h"
#include "ir/row_keys.h"

namespace hone {
namespace {

int64_t to_number(const std::string& text, const std::string& what) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    fail("{} is \"{}\"; a whole number is needed", what, text);
  return number;
}

// The smallest of the numbers that the model's metadata has under these keys; 0: it has none.
int64_t least_of(const Model& model, std::initializer_list<const char*> keys) {
  int64_t least = 0;
  for (const char* key : keys)
    if (const auto found = model.graph.metadata.find(key); found != model.graph.metadata.end()) {
      const int64_t length = to_number(found->second, key);
      if (length > 0 && (least == 0 || length < least)) least = length;
    }
  return least;
}

}  // namespace

Tokenizer tokenizer_of(const Model& model) {
  if (!has_tokenizer(model.files))
    fail("{}: has no tokenizer ({}); give token ids with --input", model.path, kTokenizerSetNames);
  TokenizerSettings settings = read_tokenizer_settings(model.files, model.path);
  // Files of earlier versions carry no settings but this one.
  if (const auto lowercase = model.graph.metadata.find("tokenizer.lowercase");
      lowercase != model.graph.metadata.end() && model.files.contains(kVocabTxt) &&
      !model.files.contains(kTokenizerConfig))
    settings.lowercase = lowercase->second == "true";
  return Tokenizer::from_files(model.files, settings, model.path);
}

int64_t most_tokens(const Model& model) { return least_of(model, {"tokenizer.max_length", kPositions}); }

int64_t max_tokens(const Model& model) {
  if (model.max_length > 0) return model.max_length;
  return least_of(model, {"tokenizer.max_length", kPositions, kTextLength});
}

void cut_texts(Model& model, int64_t length) {
  if (length < 1) fail("max-length is {}; at least 1 is needed", length);
  if (const int64_t most = most_tokens(model); most > 0 && length > most)
    fail("max-length is {}; the model takes {} tokens", length, most);
  model.max_length = length;
}

std::string cut_text(const Model& model) {
  if (model.max_length > 0) return fmt::format("texts are cut to {} tokens (--max-length)", model.max_length);
  if (!model.graph.metadata.contains(kTextLength)) return "";
  return fmt::format("texts are cut to {} tokens, as in training (--max-length gives another length)",
                     max_tokens(model));
}

std::string prompt_of(const Model& model) {
  const auto found = model.graph.metadata.find(kTextPrompt);
  return found == model.graph.metadata.end() ? "" : found->second;
}

void choose_prompt(Model& model, const std::string& name) {
  const auto found = model.graph.metadata.find(kTextPrompts);
  const Json prompts =
      found == model.graph.metadata.end() ? Json::object() : parse_json(found->second, model.path + ": prompts");
  std::vector<std::string> names;
  for (const auto& [key, text] : prompts.items()) names.push_back(key);
  if (names.empty())
    fail("{}: has no prompts (config_sentence_transformers.json); write them into the texts", model.path);
  if (!prompts.contains(name) || !prompts.at(name).is_string())
    fail("{}: has no prompt \"{}\"; it has {}{}", model.path, name, fmt::join(names, ", "), did_you_mean(name, names));
  model.graph.metadata[kTextPrompt] = prompts.at(name).get<std::string>();
}

Dataset with_prompt(Dataset dataset, const Model& model) {
  const std::string prompt = prompt_of(model);
  if (prompt.empty()) return dataset;
  for (std::vector<std::string>* texts : {&dataset.texts, &dataset.second_texts})
    for (std::string& text : *texts) text.insert(0, prompt);
  return dataset;
}

void note_lacking_types(const Model& model, const Dataset& dataset) {
  if (dataset.second_texts.empty() || !model.graph.metadata.contains(kTextTypes)) return;
  const auto head = model.graph.metadata.find(kTextHead);
  if (head != model.graph.metadata.end() && head->second == "states") return;  // nothing has learned pairs yet
  log(LogLevel::warning,
      fmt::format(
          "{}: {} has pairs of texts, which the model tells apart by token types, and its graph takes none; with "
          "--inputs input_ids,attention_mask,token_type_ids it does",
          model.path, dataset.path));
}

NamedTensors text_inputs(const Model& model, const Tokenizer& tokenizer, const std::vector<std::string>& texts) {
  std::vector<std::string> prompted = texts;
  for (std::string& text : prompted) text.insert(0, prompt_of(model));
  const TokenBatch batch = tokenizer.encode_batch(prompted, max_tokens(model));
  NamedTensors inputs;
  for (ValueId v : model.graph.arguments()) {
    const std::string& label = model.graph.value(v).label;
    if (label == "input_ids") inputs.emplace(label, batch.ids);
    else if (label == "attention_mask") inputs.emplace(label, batch.attention_mask);
    else if (label == "token_type_ids") inputs.emplace(label, Tensor(DType::i64, batch.ids.shape()));
  }
  return inputs;
}

}  // namespace hone
