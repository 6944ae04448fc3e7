#include "jobs/text_inputs.h"

#include <charconv>

#include "base/error.h"

namespace hone {
namespace {

int64_t to_number(const std::string& text, const std::string& what) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    fail("{} is \"{}\"; a whole number is needed", what, text);
  return number;
}

}  // namespace

Tokenizer tokenizer_of(const LoadedModel& model) {
  if (const auto json = model.files.find("tokenizer.json"); json != model.files.end())
    return Tokenizer::from_json(json->second, model.path + ": tokenizer.json");
  const auto vocab = model.files.find("vocab.txt");
  if (vocab == model.files.end())
    fail("{}: has no tokenizer (tokenizer.json or vocab.txt); give token ids with --input", model.path);
  const auto lowercase = model.graph.metadata.find("tokenizer.lowercase");
  return Tokenizer::from_vocab(vocab->second, lowercase == model.graph.metadata.end() || lowercase->second == "true",
                               model.path + ": vocab.txt");
}

int64_t max_tokens(const LoadedModel& model) {
  int64_t least = 0;
  for (const char* key : {"tokenizer.max_length", "max_positions"})
    if (const auto found = model.graph.metadata.find(key); found != model.graph.metadata.end()) {
      const int64_t length = to_number(found->second, key);
      if (length > 0 && (least == 0 || length < least)) least = length;
    }
  return least;
}

NamedTensors text_inputs(const LoadedModel& model, const Tokenizer& tokenizer, const std::vector<std::string>& texts) {
  const TokenBatch batch = tokenizer.encode_batch(texts, max_tokens(model));
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
