#include "cli/help_pages.h"

#include <fmt/format.h>

#include <cctype>

#include "cli/limits.h"
#include "cli/option_flags.h"

namespace hone {
namespace {

constexpr size_t kColumns = 100;

// The words in lines of at most so many columns, each after the first behind `indent`.
std::string wrapped(const std::string& text, const std::string& indent) {
  std::string out;
  size_t column = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (column != 0 && column + 1 + word.size() > kColumns) out += "\n" + indent, column = indent.size();
    else if (at != 0) out += ' ', ++column;
    out += word, column += word.size();
    at = end + 1;
  }
  return out;
}

// Markdown shows "<W>" as nothing unless it is told that this is text.
std::string as_text(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '<' || c == '*' || c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string option_line(const OptionInfo& option) {
  std::string text = fmt::format("- `{}`", option_text(option));
  if (!option.doc.empty()) text += ": " + as_text(option.doc);
  if (option.kind != OptionKind::flag && !option.default_text.empty())
    text += fmt::format(" (default: `{}`)", option.default_text);
  if (option.required) text += " (required)";
  return wrapped(text, "  ") + "\n";
}

// Those of no group first, then each group under its name.
template <class Line, class Heading>
std::string by_group(std::span<const OptionInfo> options, Line line, Heading heading) {
  std::vector<std::string_view> groups = {""};
  for (const OptionInfo& option : options)
    if (std::ranges::find(groups, option.traits.group) == groups.end()) groups.emplace_back(option.traits.group);
  std::string text;
  for (std::string_view group : groups) {
    if (!group.empty()) text += heading(group);
    for (const OptionInfo& option : options)
      if (option.traits.group == group) text += line(option);
  }
  return text;
}

std::vector<OptionInfo> options_of(const VerbDef& verb) {
  return verb.options ? verb.options() : std::vector<OptionInfo>();
}

std::string verb_markdown(const std::string& name, const VerbDef& verb, const char* heading) {
  std::string text = fmt::format("{} {}\n\n{}.\n\n", heading, name, wrapped(as_text(verb.summary), ""));
  if (verb.notes) text += fmt::format("```\n{}\n```\n\n", verb.notes());
  text += by_group(options_of(verb), option_line,
                   [](std::string_view group) { return fmt::format("\n**{}**\n\n", group); });
  if (verb.options) text += "\n";
  if (*verb.examples) text += fmt::format("```\n{}\n```\n\n", verb.examples);
  for (const VerbDef* action : verb.actions) text += verb_markdown(name + " " + action->name, *action, "####");
  return text;
}

// A line of man(7) must not begin with a dot or a quote, and a backslash escapes.
std::string man_text(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool begins = i == 0 || text[i - 1] == '\n';
    if (begins && (text[i] == '.' || text[i] == '\'')) out += "\\&";
    if (text[i] == '\\') out += "\\e";
    else if (text[i] == '-') out += "\\-";
    else out += text[i];
  }
  return out;
}

std::string man_option(const OptionInfo& option) {
  std::string doc = option.doc;
  if (option.kind != OptionKind::flag && !option.default_text.empty()) doc += " (default: " + option.default_text + ")";
  return fmt::format(".TP\n.B {}\n{}\n", man_text(option_text(option)), man_text(doc));
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string man_examples(const char* examples) {
  return *examples ? fmt::format(".SH EXAMPLES\n.nf\n{}\n.fi\n", man_text(examples)) : "";
}

std::string man_of(const char* program, const VerbDef& verb) {
  const std::string name = fmt::format("{}-{}", program, verb.name);
  std::string text = fmt::format(".TH {} 1\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {} {}\n[options]\n.SH OPTIONS\n",
                                 man_text(upper(name)), man_text(name), man_text(verb.summary), man_text(program),
                                 man_text(verb.name));
  const auto heading = [](std::string_view group) { return fmt::format(".SS {}\n", man_text(std::string(group))); };
  if (verb.actions.empty()) text += by_group(options_of(verb), man_option, heading);
  for (const VerbDef* action : verb.actions)
    text += fmt::format(".SS {}\n{}\n{}", man_text(action->name), man_text(action->summary),
                        by_group(options_of(*action), man_option, heading));
  return text + by_group(LimitFlags::options(), man_option, heading) + man_examples(verb.examples);
}

template <class Verb>
std::string by_task(std::span<const VerbDef* const> verbs, const char* heading, const char* after_heading,
                    Verb of_verb) {
  std::string text;
  for (size_t task = 0; task < std::size(kVerbTasks); ++task) {
    bool is_first = true;
    for (const VerbDef* verb : verbs) {
      if (static_cast<size_t>(verb->task) != task) continue;
      if (is_first) text += fmt::format("{} {}\n{}", heading, kVerbTasks[task], after_heading);
      is_first = false;
      text += of_verb(*verb);
    }
  }
  return text;
}

}  // namespace

std::string cli_markdown(const char* program, std::span<const VerbDef* const> verbs) {
  std::string text = fmt::format(
      "# Verbs of {}\n\nThis page is written by `{} help --as markdown`, and a test compares.\n\nEach verb also "
      "takes:\n\n",
      program, program);
  for (const OptionInfo& option : LimitFlags::options()) text += option_line(option);
  text += "\n" + by_task(verbs, "##", "\n", [&](const VerbDef& verb) {
            return verb_markdown(fmt::format("{} {}", program, verb.name), verb, "###");
          });
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

std::string man_page(const char* program, std::span<const VerbDef* const> verbs, const VerbDef* verb) {
  if (verb) return man_of(program, *verb);
  return fmt::format(
             ".TH {} 1\n.SH NAME\n{} \\- a trained model in; a smaller, faster model out, honestly measured\n.SH "
             "SYNOPSIS\n.B {}\n.I VERB\n[options]\n",
             man_text(upper(program)), man_text(program), man_text(program)) +
         by_task(verbs, ".SH", "", [](const VerbDef& each) {
           return fmt::format(".TP\n.B {}\n{}\n", man_text(each.name), man_text(each.summary));
         });
}

}  // namespace hone
