// A decoder and its tokenizer made ready to answer, and conversations as prompts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "generate/chat_template.h"
#include "generate/text_generator.h"
#include "jobs/load_model.h"

namespace hone {

struct OpenGeneratorOptions {
  std::string kv_cache = "f32";  // CacheOptions::type
  GeneratorOptions generator;
  SessionOptions session;
};

// Throws Error, which begins with the model's path, for a model that is no decoder or has no tokenizer, where the two
// disagree, and for a cache that its heads don't allow.
TextGenerator open_generator(const Model& model, const OpenGeneratorOptions& options);

// Of a model at `path`. Throws Error where it has none, and for what of it is not known.
ChatTemplate chat_template_of(const DecoderFacts& facts, const std::string& path);

// Ids of a conversation that the model is to answer. A template writes the model's own tokens itself, so none are put
// around what it gives.
std::vector<int64_t> chat_ids(const ChatTemplate& chat, const std::vector<ChatMessage>& messages,
                              const TextGenerator& generator);

}  // namespace hone
