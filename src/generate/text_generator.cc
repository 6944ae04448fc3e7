#include "generate/text_generator.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/stop.h"
#include "generate/stopped_text.h"
#include "tokenizers/text_stream.h"

namespace hone {
namespace {

// Fewer tokens than the model's: the others would be an id for which the model has no embedding. A model may have more:
// vocabularies are padded to sizes that multiply well.
Tokenizer checked_tokenizer(Tokenizer tokenizer, const DecoderFacts& facts) {
  if (const int64_t tokens = tokenizer.spec().vocabulary_size; tokens > facts.vocabulary)
    fail("the tokenizer has {} tokens and the model's vocabulary {}: they are not of one model", tokens,
         facts.vocabulary);
  for (int64_t id : facts.end)
    if (id < 0 || id >= facts.vocabulary)
      fail("the model's end token {} is beyond the {} tokens of its vocabulary", id, facts.vocabulary);
  return tokenizer;
}

DecoderFacts with_context(DecoderFacts facts, int64_t context) {
  if (context == 0) return facts;
  if (context < 2 || context > facts.context)
    fail("option context: expected 2 to {}, the model's tokens, found {}", facts.context, context);
  facts.context = context;
  return facts;
}

double milliseconds_between(int64_t begin_ns, int64_t end_ns) { return static_cast<double>(end_ns - begin_ns) / 1e6; }

}  // namespace

const char* to_string(TextEnd end) {
  return std::array{
      "end token", "stop", "max tokens", "context full", "callback", "interrupted"}[static_cast<size_t>(end)];
}

// One that is under way.
struct TextGenerator::Sequence {
  Sequence(size_t number, int64_t slot, const TextRequest& request, GeneratedText& result, std::vector<int64_t> prompt,
           const Tokenizer& tokenizer, const OnToken& on_token)
      : number(number),
        slot(slot),
        request(request),
        result(result),
        history(std::move(prompt)),
        stream(tokenizer.stream(true)),
        text(request.stops),
        on_token(on_token) {}

  // What the answer grows by when this is its last token, or not.
  std::string grown(int64_t id, bool is_end_token) { return is_end_token ? "" : text.add(stream.add(id)); }
  std::string rest() { return text.add(stream.finish()) + text.finish(); }
  void end(TextEnd why) {
    ended = true;
    result.end = why;
  }

  size_t number;
  int64_t slot;
  const TextRequest& request;
  GeneratedText& result;
  std::vector<int64_t> history;  // prompt and answer
  TextStream stream;
  StoppedText text;
  const OnToken& on_token;
  int64_t last_ns = 0;
  bool ended = false;
};

TextGenerator::TextGenerator(CachedDecoder decoder, DecoderFacts facts, Tokenizer tokenizer, SessionOptions session,
                             const GeneratorOptions& options)
    : tokenizer_(checked_tokenizer(std::move(tokenizer), facts)),
      options_(options),
      runs_(std::move(decoder), with_context(std::move(facts), options.context), std::move(session),
            options.sequences) {
  if (options_.prompt_piece < 1)
    fail("a prompt is read {} tokens at a time; at least 1 is needed", options_.prompt_piece);
}

std::vector<int64_t> TextGenerator::checked_prompt(const TextRequest& request, GeneratedText& result) const {
  check(request.choice);
  const StoppedText stops(request.stops);
  if (request.max_tokens < 1) fail("option max-tokens: expected an integer from 1, found {}", request.max_tokens);
  if (request.prompt.empty()) fail("the prompt has no token; at least 1 is needed");
  for (int64_t id : request.prompt)
    if (id < 0 || id >= facts().vocabulary)
      fail("token {} of the prompt is beyond the {} tokens of the model's vocabulary", id, facts().vocabulary);
  // Every token of the answer but the last is read too.
  const int64_t most = facts().context, size = std::ssize(request.prompt);
  if (size > most && !request.truncate)
    fail(
        "the prompt has {} tokens, {} more than the {} of the context; truncate leaves out its begin",
        size, size - most, most);
  result.prompt_left_out = std::max<int64_t>(size - most, 0);
  result.prompt_tokens = size - result.prompt_left_out;
  return {request.prompt.begin() + result.prompt_left_out, request.prompt.end()};
}

// False where it has ended already.
bool TextGenerator::read_prompt(Sequence& sequence) {
  const int64_t begin = steady_ns();
  sequence.last_ns = begin;
  const std::vector<int64_t> prompt = sequence.history;
  Tensor logits;
  for (int64_t at = 0; at < std::ssize(prompt); at += options_.prompt_piece) {
    const int64_t size = std::min(options_.prompt_piece, std::ssize(prompt) - at);
    const DecoderRuns::Row row{sequence.slot,
                               std::span(prompt).subspan(static_cast<size_t>(at), static_cast<size_t>(size))};
    logits = runs_.run({&row, 1});
  }
  sequence.result.prompt_milliseconds = milliseconds_between(begin, steady_ns());
  take(sequence, logits.as<float>());
  return !sequence.ended;
}

// Chooses a token and shows it.
void TextGenerator::take(Sequence& sequence, std::span<const float> logits) {
  GeneratedText& result = sequence.result;
  const TextRequest& request = sequence.request;
  TextToken token;
  token.id = choose_token(logits, sequence.history, request.choice, request.seed, std::ssize(result.tokens));
  token.log_probability = log_probability(logits, token.id);
  const bool is_end = std::ranges::find(facts().end, token.id) != facts().end.end();
  token.text = sequence.grown(token.id, is_end);
  if (is_end) sequence.end(TextEnd::end_token);
  else if (sequence.text.stopped()) sequence.end(TextEnd::stop);
  else if (std::ssize(result.tokens) + 1 >= request.max_tokens) sequence.end(TextEnd::max_tokens);
  else if (std::ssize(sequence.history) >= facts().context) sequence.end(TextEnd::context_full);
  if (sequence.ended) token.text += sequence.rest();
  const int64_t now = steady_ns();
  token.milliseconds = milliseconds_between(std::exchange(sequence.last_ns, now), now);
  sequence.history.push_back(token.id);
  result.text += token.text;
  result.tokens.push_back(token);
  if (sequence.on_token && !sequence.on_token(sequence.number, result.tokens.back()) && !sequence.ended)
    sequence.end(TextEnd::callback);
}

// One token more of each.
void TextGenerator::step(std::vector<Sequence>& active) {
  std::vector<DecoderRuns::Row> rows;
  for (const Sequence& each : active) rows.push_back({each.slot, std::span(each.history).last(1)});
  const Tensor logits = runs_.run(rows);
  const size_t width = logits.as<float>().size() / rows.size();
  for (size_t i = 0; i < active.size(); ++i) take(active[i], logits.as<float>().subspan(i * width, width));
}

GeneratedText TextGenerator::generate(const TextRequest& request, const OnToken& on_token) {
  return std::move(generate(std::span(&request, 1), on_token)[0]);
}

std::vector<GeneratedText> TextGenerator::generate(std::span<const TextRequest> requests, const OnToken& on_token) {
  std::vector<GeneratedText> results(requests.size());
  std::vector<std::vector<int64_t>> prompts;
  for (size_t i = 0; i < requests.size(); ++i) prompts.push_back(checked_prompt(requests[i], results[i]));
  std::vector<int64_t> free;
  for (int64_t slot = runs_.sequences(); slot-- > 0;) {
    runs_.clear(slot);
    free.push_back(slot);
  }
  std::vector<Sequence> active;
  try {
    for (size_t next = 0; next < requests.size() || !active.empty();) {
      for (; next < requests.size() && !free.empty(); ++next) {  // joins
        Sequence& joined = active.emplace_back(next, free.back(), requests[next], results[next],
                                               std::move(prompts[next]), tokenizer_, on_token);
        free.pop_back();
        read_prompt(joined);
      }
      std::vector<Sequence> left;
      for (Sequence& each : active) {
        if (!each.ended) {
          left.push_back(std::move(each));
          continue;
        }
        if (each.result.end == TextEnd::callback) each.result.text += each.rest();
        runs_.clear(each.slot);
        free.push_back(each.slot);
      }
      active = std::move(left);
      if (!active.empty()) step(active);
    }
  } catch (const Stopped&) {
    for (Sequence& each : active)
      if (!each.ended || each.result.end == TextEnd::callback) each.result.text += each.rest();
  }
  return results;
}

}  // namespace hone
