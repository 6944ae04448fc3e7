#include "views/generate.h"

namespace hone {
namespace {

constexpr NumberStyle kCount{NumberFormat::integer}, kTime{NumberFormat::fixed, 2};

// Of the steps: the first token comes with the prompt.
Cell tokens_per_second(const GeneratedText& answer) {
  double milliseconds = 0;
  for (size_t i = 1; i < answer.tokens.size(); ++i) milliseconds += answer.tokens[i].milliseconds;
  if (milliseconds <= 0) return {};
  return number(static_cast<double>(answer.tokens.size() - 1) / milliseconds * 1000);
}

}  // namespace

Record view_of(const GenerateResult& result) {
  Table answers{.key = "answers",
                .title = "Answers",
                .columns = {{"prompt", "prompt", "", kCount},
                            {.key = "text", .title = "text", .prose = true},
                            {"end", "ended by"},
                            {"tokens", "tokens", "", kCount},
                            {"prompt_tokens", "tokens of the prompt", "", kCount},
                            {"prompt_left_out", "of it left out", "", kCount},
                            {"prompt_ms", "prompt", "ms", kTime},
                            {"tokens_per_second", "steps", "tokens/s"}}};
  Table tokens{.key = "tokens",
               .title = "Tokens",
               .columns = {{"prompt", "prompt", "", kCount},
                           {"id", "token", "", kCount},
                           {"text", "text"},
                           {"log_probability", "log probability", "", {NumberFormat::fixed, 4}},
                           {"ms", "time", "ms", kTime}},
               .note = "Log probabilities are the model's own, before temperature and what else chooses."};
  for (size_t i = 0; i < result.answers.size(); ++i) {
    const GeneratedText& answer = result.answers[i];
    const Cell prompt = number(static_cast<double>(i));
    answers.rows.push_back(
        {prompt, answer.text, std::string(to_string(answer.end)), number(static_cast<double>(answer.tokens.size())),
         number(static_cast<double>(answer.prompt_tokens)), number(static_cast<double>(answer.prompt_left_out)),
         number(answer.prompt_milliseconds), tokens_per_second(answer)});
    for (const TextToken& token : answer.tokens)
      tokens.rows.push_back({prompt, number(static_cast<double>(token.id)), token.text, number(token.log_probability),
                             number(token.milliseconds)});
  }
  const KeyValues how{.key = "run",
                      .title = "Run",
                      .items = {{"model", "model", result.model},
                                {"compute", "products read", result.compute},
                                {"kv_cache", "the cache holds", result.kv_cache},
                                {"chat", "chat template", std::string(result.chat ? "yes" : "no")}}};
  return {.title = "Generated text", .sections = {{"Generated text", {how, answers, tokens}}}};
}

}  // namespace hone
