#include "cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "base/registry.h"
#include "base/shell.h"
#include "cli/limits.h"
#include "cli/option_flags.h"

namespace hone {
namespace {

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

// "--to" of "-o,--to FORMAT".
std::string flag_of(const OptionInfo& option) {
  const std::string text = option_text(option);
  const size_t begin = text.find("--");
  return text.substr(begin, text.find(' ', begin) - begin);
}

std::vector<OptionInfo> flags_of(const VerbDef& verb) {
  std::vector<OptionInfo> all = verb.options ? verb.options() : std::vector<OptionInfo>();
  std::erase_if(all, [](const OptionInfo& option) { return option.traits.is_positional; });
  for (const OptionInfo& limit : LimitFlags::options()) all.push_back(limit);
  return all;
}

std::vector<std::string> words_of(const VerbDef& verb) {
  if (!verb.actions.empty()) return names_of(verb.actions);
  std::vector<std::string> words;
  for (const OptionInfo& option : flags_of(verb)) words.push_back(flag_of(option));
  words.emplace_back("--help");
  return words;
}

// Calls body(the words before, the verb or action) for each that takes options or actions.
template <class Body>
void each_command(std::span<const VerbDef* const> verbs, Body body) {
  for (const VerbDef* verb : verbs) {
    body(std::string(verb->name), *verb);
    for (const VerbDef* action : verb->actions) body(fmt::format("{} {}", verb->name, action->name), *action);
  }
}

}  // namespace

// Behind an option with choices these; behind others files, which are also what stands for no option.
std::string bash_completion(const char* program, std::span<const VerbDef* const> verbs) {
  std::string cases, values;
  std::map<std::string, std::string> choices;
  each_command(verbs, [&](const std::string& words, const VerbDef& verb) {
    cases += fmt::format("    '{}') words='{}' ;;\n", words, joined(words_of(verb)));
    if (!verb.actions.empty()) return;
    for (const OptionInfo& option : flags_of(verb))
      if (option.traits.choices)
        values += fmt::format("    '{} {}') values='{}' ;;\n", words, flag_of(option), joined(option.traits.choices()));
  });
  return fmt::format(R"(_{0}() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" verb="${{COMP_WORDS[1]}}" words='' values=''
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W '{1} --help --version' -- "$cur"))
    return
  fi
  case "$verb" in {2}) [ "$COMP_CWORD" -gt 2 ] && verb="$verb ${{COMP_WORDS[2]}}" ;; esac
  case "$verb $prev" in
{3}  esac
  if [ -n "$values" ]; then
    COMPREPLY=($(compgen -W "$values" -- "$cur"))
    return
  fi
  case "$verb" in
{4}  esac
  case "$cur" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
    *) case "$words" in -*) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")) ;;
         *) COMPREPLY=($(compgen -W "$words" -- "$cur")) ;; esac ;;
  esac
}}
complete -F _{0} {0}
)",
                     program, joined(names_of(verbs)),
                     [&] {
                       std::vector<std::string> with_actions;
                       for (const VerbDef* verb : verbs)
                         if (!verb->actions.empty()) with_actions.emplace_back(verb->name);
                       return with_actions.empty() ? std::string("''")
                                                   : fmt::format("{}", fmt::join(with_actions, "|"));
                     }(),
                     values, cases);
}

std::string zsh_completion(const char* program, std::span<const VerbDef* const> verbs) {
  return fmt::format("#compdef {}\nautoload -U +X bashcompinit && bashcompinit\n", program) +
         bash_completion(program, verbs);
}

std::string fish_completion(const char* program, std::span<const VerbDef* const> verbs) {
  std::string text;
  for (const VerbDef* verb : verbs)
    text += fmt::format("complete -c {} -n __fish_use_subcommand -a {} -d {}\n", program, verb->name,
                        shell_quoted(verb->summary));
  each_command(verbs, [&](const std::string& words, const VerbDef& verb) {
    const size_t space = words.find(' ');
    std::string where = "__fish_seen_subcommand_from " + words.substr(0, space);
    if (space != words.npos) where += "; and __fish_seen_subcommand_from " + words.substr(space + 1);
    for (const VerbDef* action : verb.actions)
      text += fmt::format("complete -c {} -n '{}' -a {} -d {}\n", program, where, action->name,
                          shell_quoted(action->summary));
    if (!verb.actions.empty()) return;
    for (const OptionInfo& option : flags_of(verb)) {
      std::string more = option.kind == OptionKind::flag ? "" : " -r";
      if (option.traits.letter) more += fmt::format(" -s {}", option.traits.letter);
      if (option.traits.choices) more += fmt::format(" -f -a '{}'", joined(option.traits.choices()));
      text += fmt::format("complete -c {} -n '{}' -l {}{} -d {}\n", program, where, flag_of(option).substr(2), more,
                          shell_quoted(option.doc));
    }
  });
  return text;
}

}  // namespace hone
