#include <cstdio>
#include <iostream>

#include "base/stop.h"
#include "cli/flags.h"
#include "cli/verb.h"
#include "report/json.h"
#include "views/generate.h"

namespace hone {
namespace {

struct GenerateVerb : ModelFlags, GenerateOptions, ResultFlags {
  std::string prompt;
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

// An answer as it comes, or its record.
void show(GenerateVerb& verb, Answers& answers, const std::string& prompt) {
  std::string shown;
  const OnToken stream = [&](size_t, const TextToken& token) {
    if (!token.text.empty()) print_text(token.text);
    std::fflush(stdout);  // a reader sees each token
    shown += token.text;
    return true;
  };
  const GenerateResult result = answers.answer(std::span(&prompt, 1), verb.json ? OnToken() : stream);
  {
    const Unstoppable whole;  // what there is, when Ctrl-C ended it
    if (verb.json) print_json(json_text(view_of(result)));
    else print_text(result.answers[0].text.substr(shown.size()) + "\n");
  }
  check_stop();
}

int run(GenerateVerb& verb) {
  files_of(verb).check();
  Answers answers(verb.load(), verb);
  if (!verb.prompt.empty()) return show(verb, answers, verb.prompt), 0;
  for (std::string line; std::getline(std::cin, line);)
    if (!line.empty()) show(verb, answers, line);
  check_stop();
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
