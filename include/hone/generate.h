// Text from language models: prompts as tokens, and answers token by token.
#pragma once

#include <hone/session.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hone::HONE_API_INLINE api {
// What a generator is made ready with.
struct TextGeneratorOptions {
  SessionOptions session;        // trust_code says nothing here: code that a file carries is of another form
  std::string kv_cache = "f32";  // how keys and values are kept: f32, bf16, or scales for each row, as int8.g64
  int64_t sequences = 1;         // requests that share steps; the others wait for one to end
  int64_t context = 0;           // tokens of prompt and answer at most; 0: as many as the model takes
  int64_t prompt_piece = 512;    // tokens of a prompt that are read in one run
};

// One message of a conversation.
struct ChatMessage {
  std::string role, content;  // "system", "user" or "assistant"
};

// What is asked for, and how its tokens are chosen: docs/generate.md defines each filter.
struct TextRequest {
  std::vector<int64_t> prompt;     // ids, at least one
  int64_t max_tokens = 256;        // of the answer
  double temperature = 0;          // logits are divided by it; 0: the likeliest token, always
  int64_t top_k = 0;               // of the k likeliest tokens alone; 0: of all
  double top_p = 1;                // of the fewest tokens alone whose probabilities reach this sum
  double min_p = 0;                // of tokens alone whose probability is at least this share of the largest
  double repeat_penalty = 1;       // logits of tokens that were there are divided by it where positive, else multiplied
  uint64_t seed = 1;               // the same seed, prompt and options give the same answer
  std::vector<std::string> stops;  // the answer ends before the first of them
  bool truncate = false;           // a prompt that is longer than the context loses its begin
};

// One token of an answer.
struct TextToken {
  int64_t id = 0;
  std::string text;            // that the answer grows by: whole characters, empty while they are held back
  double log_probability = 0;  // that the model gave it, whatever the choice left out; natural logarithm
  double milliseconds = 0;     // from the token before it; of the first: from the prompt's begin
};

// Why an answer ended.
enum class TextEnd : uint8_t {
  end_token,     // the model's own
  stop,          // one of TextRequest::stops
  max_tokens,    // as many as were asked for
  context_full,  // nothing is thrown away to make room
  callback,      // it gave false
  interrupted,   // all work of the process was to end
};
// "end token", "context full".
HONE_API const char* to_string(TextEnd end);

// An answer.
struct GeneratedText {
  std::string text;               // all of it: more than the tokens gave where what was held back came at the end
  std::vector<TextToken> tokens;  // with the one that ended it, if any
  TextEnd end = TextEnd::max_tokens;
  int64_t prompt_tokens = 0, prompt_left_out = 0;  // that were read, and that `truncate` left out
  double prompt_milliseconds = 0;
};

// Told of each token of a request, by its place among the requests; false ends that request. What it throws passes
// through and ends all of them.
using OnToken = std::function<bool(size_t request, const TextToken& token)>;

// A language model made ready to answer. Copies are the same generator. It answers one call at a time: a second one,
// also from a callback, is an Error.
class HONE_API TextGenerator {
 public:
  // Throws Error for a model that is no decoder, has no tokenizer or one of another vocabulary, and for options that
  // are not accepted.
  explicit TextGenerator(const Model& model, const TextGeneratorOptions& options = {});

  // Ids of a text that the model is to go on with, with the model's own tokens around it.
  std::vector<int64_t> prompt(std::string_view text) const;

  // Ids of a conversation that the model is to answer, as its chat template has it. Throws Error where the model has
  // none, where that has what hone does not know, and where it refuses the messages.
  std::vector<int64_t> prompt(const std::vector<ChatMessage>& messages) const;
  bool has_chat_template() const;

  // Throws Error for a prompt that leaves no room for a token, with by how much it is too long, for ids beyond the
  // vocabulary, for options that are not accepted, and for logits that are no numbers, with the layer that made them.
  GeneratedText generate(const TextRequest& request, const OnToken& on_token = {});
  // Several, which have nothing to do with each other: answers in the order of the requests.
  std::vector<GeneratedText> generate(const std::vector<TextRequest>& requests, const OnToken& on_token = {});

  int64_t context() const;     // tokens of prompt and answer at most
  int64_t vocabulary() const;  // ids are below this

  struct Impl;  // hone's own

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace hone::HONE_API_INLINEapi
