#include "base/registry.h"
#include "base/text.h"
#include "cli/completion.h"
#include "cli/flags.h"
#include "cli/help_pages.h"
#include "cli/program.h"
#include "cli/verb.h"

namespace hone {
namespace {

struct HelpVerb {
  std::vector<std::string> verb;
  std::string as = "text";
  static std::span<const OptionField<HelpVerb>> fields();
};

std::vector<std::string> kinds() { return {"text", "markdown", "man", "bash", "zsh", "fish"}; }

constexpr OptionField<HelpVerb> kOwn[] = {
    flag("verb", "Verb, and an action of it; none: all verbs", &HelpVerb::verb, {.is_positional = true}),
    flag("as", "text; markdown: one page of all verbs; man: a man page; bash, zsh, fish: a script for completion",
         &HelpVerb::as, {.choices = kinds})};

std::span<const OptionField<HelpVerb>> HelpVerb::fields() { return kOwn; }

int run(HelpVerb& help) {
  const auto [program, verbs] = this_programs_verbs();
  if (help.as == "text") {
    print_text(help_text(help.verb));
    return 0;
  }
  const bool takes_verb = help.as == "man";
  if (help.verb.size() > (takes_verb ? 1 : 0))
    fail("--as {} takes {}; found \"{}\"", help.as, takes_verb ? "one verb, or none" : "no verb", help.verb.back());
  const VerbDef* verb = help.verb.empty() ? nullptr : find_def(verbs, help.verb[0]);
  if (!help.verb.empty() && !verb) fail("no verb {}{}", help.verb[0], did_you_mean(help.verb[0], names_of(verbs)));
  print_text(help.as == "markdown" ? cli_markdown(program, verbs)
             : help.as == "man"    ? man_page(program, verbs, verb)
             : help.as == "bash"   ? bash_completion(program, verbs)
             : help.as == "zsh"    ? zsh_completion(program, verbs)
                                   : fish_completion(program, verbs));
  return 0;
}

constexpr Verb<HelpVerb> kVerb{.name = "help",
                               .task = VerbTask::other,
                               .summary = "Explain a verb, write man pages, and complete words in a shell",
                               .examples =
                                   "  hone help quantize\n"
                                   "  hone help lora insert\n"
                                   "  hone help --as man quantize | man -l -\n"
                                   "  hone help --as bash > ~/.local/share/bash-completion/completions/hone",
                               .run = run};

}  // namespace

extern constinit const VerbDef help_verb_def = verb_def<kVerb>();

}  // namespace hone
