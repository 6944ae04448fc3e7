#include "jobs/open_generator.h"

#include <ctime>
#include <optional>
#include <utility>

#include "base/error.h"
#include "io/tokenizer_files.h"
#include "jobs/text_inputs.h"

namespace hone {
namespace {

// Refused before anything is made ready.
DecoderFacts facts_of(const Model& model) {
  if (!is_decoder(model.graph))
    fail(
        "{}: is no language model that goes on with texts: it has no causal attention from input_ids and "
        "attention_mask to logits of each token; hone info {} shows what it takes and gives",
        model.path, model.path);
  if (!has_tokenizer(model.files))
    fail("{}: has no tokenizer ({}), so that it reads and writes no text", model.path, kTokenizerSetNames);
  return decoder_facts(model.graph);
}

// The text of a token that templates write themselves.
std::string text_of(const Tokenizer& tokenizer, std::optional<int64_t> id) {
  if (!id) return "";
  return tokenizer.decode({{*id}}, false);
}

}  // namespace

TextGenerator open_generator(const Model& model, const OpenGeneratorOptions& options) {
  DecoderFacts facts = facts_of(model);
  Tokenizer tokenizer = tokenizer_of(model);
  try {
    return TextGenerator(with_cache(model.graph, {.type = options.kv_cache}), std::move(facts), std::move(tokenizer),
                         options.session, options.generator);
  } catch (const Error& error) {
    fail("{}: {}", model.path, error.what());
  }
}

ChatTemplate chat_template_of(const DecoderFacts& facts, const std::string& path) {
  if (facts.chat_template.empty()) fail("{}: the model has no chat template; give it the text as it is", path);
  return ChatTemplate(facts.chat_template, path);
}

std::vector<int64_t> chat_ids(const ChatTemplate& chat, const std::vector<ChatMessage>& messages,
                              const TextGenerator& generator) {
  const Tokenizer& tokenizer = generator.tokenizer();
  const DecoderFacts& facts = generator.facts();
  const ChatTemplate::Names names{
      .begin = text_of(tokenizer, facts.begin),
      .end = text_of(tokenizer, facts.end.empty() ? std::nullopt : std::optional(facts.end.front())),
      .now = std::time(nullptr)};
  return tokenizer.encode_text(chat.render(messages, names), EncodeOptions{.own_tokens = false}).ids;
}

}  // namespace hone
