#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "base/stop.h"
#include "cli/flags.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"
#include "views/generate.h"

namespace hone {
namespace {

struct GenerateVerb : ModelFlags, GenerateOptions, ResultFlags {
  std::optional<std::string> prompt;
  static std::span<const OptionField<GenerateVerb>> fields();
};

constexpr OptionField<GenerateVerb> kPrompt[] = {
    flag("prompt", "Text that the model goes on with; without it, each line of standard input is one",
         &GenerateVerb::prompt, {.value = "TEXT", .is_positional = true})};

std::span<const OptionField<GenerateVerb>> GenerateVerb::fields() {
  static const auto all =
      joined_fields<GenerateVerb>(ModelFlags::fields().first(1), kPrompt, ModelFlags::fields().subspan(2),
                                  GenerateOptions::fields(), ResultFlags::fields());
  return all;
}

// The next line of standard input that is not empty, without its end.
bool next_prompt(std::string& line) {
  while (std::getline(std::cin, line)) {
    check_stop();
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) return true;
  }
  return false;
}

std::vector<std::string> all_prompts(const GenerateVerb& verb) {
  if (verb.prompt) return {*verb.prompt};
  std::vector<std::string> prompts;
  for (std::string line; next_prompt(line);) prompts.push_back(line);
  return prompts;
}

// What there is when Ctrl-C ended it is shown as well.
void show(GenerateVerb& verb, const GenerateResult& result) {
  const Unstoppable whole;
  if (verb.json) {
    Record record = view_of(result);
    record.title = verb.model;
    record.command = this_command();
    verb.print(record);
    return;
  }
  for (const GeneratedText& answer : result.answers) print_text(answer.text + "\n");
}

// An answer token by token.
void stream(Answers& answers, const std::string& prompt) {
  size_t shown = 0;
  const OnToken show_token = [&](size_t, const TextToken& token) {
    print_text(token.text);
    std::fflush(stdout);  // a reader sees each token
    shown += token.text.size();
    return true;
  };
  const GenerateResult result = answers.answer(std::span(&prompt, 1), show_token);
  const Unstoppable whole;
  print_text(result.answers[0].text.substr(shown) + "\n");
  std::fflush(stdout);
}

Answers opened(GenerateVerb& verb) {
  const Progress progress = terminal_progress();
  tell(progress, "opening " + verb.model);
  return Answers(verb.load(), verb);
}

int run(GenerateVerb& verb) {
  files_of(verb).check();
  const bool reads_terminal = !verb.prompt && ::isatty(STDIN_FILENO) == 1;
  Answers answers = opened(verb);
  if (reads_terminal) std::fputs("Each line is a prompt; Ctrl-D ends.\n", stderr);
  const bool one_by_one = !verb.json && (verb.sequences == 1 || verb.prompt);
  size_t answered = 0;
  if (!one_by_one) {
    const std::vector<std::string> prompts = all_prompts(verb);
    answered = prompts.size();
    if (answered > 0) show(verb, answers.answer(prompts, {}, {.progress = terminal_progress()}));
  } else if (verb.prompt) {
    stream(answers, *verb.prompt), ++answered;
  } else {
    for (std::string line; next_prompt(line); check_stop()) stream(answers, line), ++answered;
  }
  check_stop();
  if (answered == 0 && !reads_terminal) fail("standard input has no prompt: each of its lines is one");
  return 0;
}

constexpr Verb<GenerateVerb> kVerb{
    .name = "generate",
    .task = VerbTask::use,
    .summary = "Let a language model go on with a text, or answer",
    .examples =
        "  hone generate SmolLM2-135M-Instruct.gguf \"What is a cache?\" --chat\n"
        "  hone generate model.gguf \"Once upon a time\" --temperature 0.8 --top-p 0.95 --seed 7 --max-tokens 100\n"
        "  hone generate model.gguf --json < prompts.txt",
    .run = run};

}  // namespace

extern constinit const VerbDef generate_verb_def = verb_def<kVerb>();

}  // namespace hone
