// Text from a language model, token by token: prompts are read in pieces, then each step chooses a token, shows it, and
// reads it. Several sequences share steps; each joins when another has ended.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "generate/decoder_runs.h"
#include "generate/next_token.h"
#include "tokenizers/tokenizer.h"

namespace hone {

struct TextRequest {
  std::vector<int64_t> prompt;  // ids, at least one
  int64_t max_tokens = 256;     // of the answer; at least 1
  ChoiceOptions choice;
  uint64_t seed = 1;               // the same seed, prompt and options give the same answer
  std::vector<std::string> stops;  // the answer ends before the first of them
  bool truncate = false;           // a prompt that is too long loses tokens of its begin
};

struct TextToken {
  int64_t id = 0;
  std::string text;            // that the answer grows by: whole characters, empty while they are held back
  double log_probability = 0;  // that the model gave it, whatever the choice left out; natural logarithm
  double milliseconds = 0;     // from the token before it; of the first: from the prompt's begin
};

enum class TextEnd : uint8_t {
  end_token,  // the model's own
  stop,       // one of TextRequest::stops
  max_tokens,
  context_full,  // nothing is thrown away to make room
  callback,      // it gave false
  interrupted,   // by whoever wants work to end (base/stop.h)
};
const char* to_string(TextEnd end);

struct GeneratedText {
  std::string text;               // all of it: more than the tokens gave where what was held back came at the end
  std::vector<TextToken> tokens;  // with the one that ended it, if any
  TextEnd end = TextEnd::interrupted;
  int64_t prompt_tokens = 0, prompt_left_out = 0;
  double prompt_milliseconds = 0;
};

// Told of each token of a request, by its number; false ends that request.
using OnToken = std::function<bool(size_t request, const TextToken& token)>;

struct GeneratorOptions {
  int64_t sequences = 1;       // at once
  int64_t prompt_piece = 512;  // tokens of a prompt that are read in one run
  int64_t context = 0;         // tokens of a sequence; 0: those of the model, beyond which Error
};

// For one thread at a time.
class TextGenerator {
 public:
  // Throws Error where tokenizer and model disagree on the vocabulary.
  TextGenerator(CachedDecoder decoder, DecoderFacts facts, Tokenizer tokenizer, SessionOptions session,
                const GeneratorOptions& options = {});

  // Throws Error for a prompt that leaves no room for a token (by how much it is too long), ids beyond the vocabulary,
  // and what the options of a choice don't take; all before the first run. Ends early, with what there is, where work
  // is to end.
  GeneratedText generate(const TextRequest& request, const OnToken& on_token = {});
  std::vector<GeneratedText> generate(std::span<const TextRequest> requests, const OnToken& on_token = {});

  const DecoderFacts& facts() const { return runs_.facts(); }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  const Session& session() const { return runs_.session(); }

 private:
  struct Sequence;
  std::vector<int64_t> checked_prompt(const TextRequest& request, GeneratedText& result) const;
  bool read_prompt(Sequence& sequence);
  void step(std::vector<Sequence>& active);
  void take(Sequence& sequence, std::span<const float> logits);

  Tokenizer tokenizer_;
  GeneratorOptions options_;
  DecoderRuns runs_;
};

}  // namespace hone
