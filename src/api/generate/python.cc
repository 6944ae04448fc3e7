#include "api/generate/python.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "base/text.h"

namespace hone::generate {
namespace {

constexpr size_t kColumns = 100;
constexpr const char* kWritten = "Written by generate_api from the tables of options.";

std::string python_name(const OptionMember& member) {
  constexpr std::array kKeywords{"for", "from", "import", "in", "is", "lambda", "not", "pass", "with", "class", "def"};
  std::string name = member.option;
  std::ranges::replace(name, '-', '_');
  return std::ranges::find(kKeywords, name) == kKeywords.end() ? name : name + "_";
}

struct Keyword {
  std::string type, initial;
};

// How an option is written in a signature. What is empty in C++ is None here: not given.
Keyword keyword_of(const OptionMember& member) {
  const std::string& type = member.type;
  if (member.option == "data" || member.option == "calib") return {"Data", "None"};  // a file, or arrays
  std::string initial = member.initial.empty() ? "" : member.initial.substr(3);      // behind " = "
  if (type.starts_with("std::vector")) return {"str | Sequence[str]", "()"};
  if (type == "bool") return {"bool", initial == "true" ? "True" : "False"};
  const std::string name = type.find("string") != std::string::npos   ? "str"
                           : type.find("double") != std::string::npos ? "float"
                                                                      : "int";
  if (initial.empty()) return {name + " | None", "None"};
  return {name, initial};
}

std::string wrapped_text(const std::string& text, const std::string& first, const std::string& indent) {
  std::string lines, line = first;
  std::istringstream words(text);
  bool begins = true;
  for (std::string word; words >> word; begins = false) {
    if (!begins && line.size() + 1 + word.size() > kColumns) lines += line + "\n", line = indent + word;
    else line += (begins ? "" : " ") + word;
  }
  return lines + line + "\n";
}

// What may stand between three quotes; of C++, only what Python has as well.
std::string quoted_doc(const std::string& source) {
  const std::string text = std::regex_replace(std::regex_replace(source, std::regex("\\bThrows "), "Raises "),
                                              std::regex("\\w+Options::"), "");
  return std::regex_replace(std::regex_replace(text, std::regex(R"(\\)"), R"(\\)"), std::regex("\"\"\""), "'''");
}

struct Function {
  std::string name, value_name, value_type, result, target;
  std::string doc;
  std::string caller = "run_task";  // of hone/_task.py
  bool is_task = true;              // takes progress and warning
  std::string more_arguments = {};
};

std::string function_text(const Function& function, const OptionStruct& options) {
  std::string text = fmt::format("def {}(\n    {}: {},\n", function.name, function.value_name, function.value_type);
  text += function.more_arguments;
  const bool leads = !options.members.empty() && options.members[0].type == "std::string" && function.is_task;
  if (!leads) text += "    *,\n";
  for (const OptionMember& member : options.members) {
    const Keyword keyword = keyword_of(member);
    text += fmt::format("    {}: {} = {},\n", python_name(member), keyword.type, keyword.initial);
    if (leads && &member == &options.members[0]) text += "    *,\n";
  }
  if (function.is_task) text += "    progress: Progress = None,\n    warning: Told = None,\n";
  text += fmt::format(") -> {}:\n", function.result);
  text += wrapped_text(quoted_doc(function.doc), "    \"\"\"", "    ");
  text += "\n    Options:\n";
  for (const OptionMember& member : options.members)
    text += wrapped_text(quoted_doc(member.doc), fmt::format("        {}: ", python_name(member)), "            ");
  if (function.is_task)
    text +=
        "        progress: called with what comes next; True: a bar of tqdm\n"
        "        warning: called with what one should know, a sentence at a time\n";
  return text + fmt::format("    \"\"\"\n    return {}({}, locals())\n", function.caller, function.target);
}

const OptionStruct& struct_named(const std::vector<OptionStruct>& structs, const std::string& name) {
  for (const OptionStruct& options : structs)
    if (options.name == name) return options;
  fail("a task takes {}, which no table of options writes", name);
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : " ") + line;
  return text;
}

}  // namespace

std::vector<TaskFunction> task_functions(const Header& header) {
  static const std::regex pattern(
      R"(HONE_API (\w+) (\w+)\(const ([\w:<>]+)& \w+, const (\w+Options)& options, const Task& task = \{\}\);)");
  std::vector<TaskFunction> all;
  for (const Paragraph& paragraph : header.paragraphs) {
    std::string code;
    for (const std::string& line : paragraph.code) code += (code.empty() ? "" : " ") + std::string(trim(line));
    std::smatch found;
    if (std::regex_match(code, found, pattern))
      all.push_back({found[2], found[1], header.name, found[3], found[4], paragraph.comment});
  }
  return all;
}

std::string python_options(const std::vector<OptionStruct>& structs) {
  std::set<std::string> headers;
  for (const OptionStruct& options : structs) headers.insert(options.header);
  std::string text = fmt::format("// {}\n#include \"options.h\"\n\n", kWritten);
  for (const std::string& header : headers) text += fmt::format("#include <hone/{}>\n", header);
  text += "\nnamespace hone::python {\n";
  for (const OptionStruct& options : structs) {
    text += fmt::format("\ntemplate <>\n{} options_of(const nb::dict& given) {{\n", options.name);
    text += "  static constexpr const char* kNames[] = {\n";
    for (const OptionMember& member : options.members) text += fmt::format("      \"{}\",\n", python_name(member));
    text += "      nullptr};\n  check_names(given, kNames);\n";
    text += fmt::format("  {} options;\n", options.name);
    for (const OptionMember& member : options.members)
      text += fmt::format("  take(given, \"{}\", options.{});\n", python_name(member), member.name);
    text += "  return options;\n}\n";
  }
  return text + "\n}  // namespace hone::python\n";
}

std::string python_bindings(const std::vector<TaskFunction>& tasks) {
  std::set<std::string> headers;
  for (const TaskFunction& task : tasks) headers.insert(task.header);
  std::string text = fmt::format("// {}\n", kWritten);
  for (const std::string& header : headers) text += fmt::format("#include <hone/{}>\n", header);
  text += "\n#include \"tasks.h\"\n\nnamespace hone::python {\n\nvoid bind_tasks(nb::module_& m) {\n";
  for (const TaskFunction& task : tasks) text += fmt::format("  add_task(m, \"_{0}\", api::{0});\n", task.name);
  return text + "}\n\n}  // namespace hone::python\n";
}

std::string python_tasks(const std::vector<TaskFunction>& tasks, const std::vector<OptionStruct>& structs) {
  std::string names;
  for (const TaskFunction& task : tasks) names += fmt::format("{}, ", task.result);
  std::string text = fmt::format("\"\"\"Tasks on models. {}\"\"\"\n\n", kWritten);
  text += "from collections.abc import Mapping, Sequence\n\nfrom hone import _hone\n";
  text += fmt::format("from hone._hone import {}Graph, Model, Session\n", names);
  text += "from hone._task import Data, Progress, Told, made, run_once, run_task\n";
  text += "from hone._outputs import Outputs\nfrom hone.typing import ArrayLike\n\n";
  text += "__all__ = [\"compile\", \"run\"";
  for (const TaskFunction& task : tasks) text += fmt::format(", \"{}\"", task.name);
  text += "]\n\n\n";
  const OptionStruct& session = struct_named(structs, "SessionOptions");
  text += function_text({"compile", "model", "Model | Graph", "Session", "_hone._compile",
                         "A model, or a graph, made ready to run. Throws Error for options that are not accepted, and "
                         "devices that are not there.",
                         "made", false},
                        session);
  text += "\n\n" + function_text({"run", "model", "Model | Graph", "Outputs", "_hone._compile",
                                  "One run of a model, or a graph: compile(), and the session's run() of `inputs`.",
                                  "run_once", false, "    inputs: Mapping[str, ArrayLike],\n"},
                                 session);
  for (const TaskFunction& task : tasks) {
    const bool several = task.value.starts_with("std::vector");
    text +=
        "\n\n" + function_text({task.name, several ? "models" : "model", several ? "Model | Sequence[Model]" : "Model",
                                task.result, "_hone._" + task.name, joined(task.doc)},
                               struct_named(structs, task.options));
  }
  return text;
}

}  // namespace hone::generate
