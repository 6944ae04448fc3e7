// A decoder without state that reads and writes the letters of letters.h, as a graph and as a model's file.
#pragma once

#include <string>

#include "io/artefact.h"
#include "models/decoder.h"
#include "tests/generate/letters.h"
#include "tests/models/tiny_decoder_graph.h"
#include "tokenizers/tokenizer_def.h"

namespace hone::test {

// "<s>", and all that is said one after the other.
inline constexpr const char* kLetterTemplate =
    "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}{% if add_generation_prompt %}f{% endif %}";

struct LetterModel {
  int64_t context = kGraphContext, tokens = kGraphVocabulary;  // tokens: those of the tokenizer; 0: none rides along
  TinyParts parts = {};
  std::string end = "", chat_template = "";

  Graph graph() const {
    Graph graph = tiny_decoder_graph(parts);
    graph.metadata[kDecoderContext] = std::to_string(context);
    graph.metadata[kDecoderVocabulary] = std::to_string(kGraphVocabulary);
    graph.metadata[kDecoderBegin] = "1";
    if (!end.empty()) graph.metadata[kDecoderEnd] = end;
    if (!chat_template.empty()) graph.metadata[kChatTemplate] = chat_template;
    return graph;
  }
  void write(const std::string& path) const {
    save_artefact(path, graph(), tokens > 0 ? NamedFiles{{"tokenizer.json", letters_json(tokens)}} : NamedFiles{});
  }
};

}  // namespace hone::test
