#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>
#include <set>

#include "api/generate/python.h"
#include "base/text.h"

namespace hone::generate {
namespace {

constexpr const char* kWritten = "Written by generate_api from the headers of include/hone.";

// What Python has as objects of their own, or as arguments.
bool is_bound_elsewhere(const std::string& name) {
  constexpr std::array kNames{"Task", "ValueInfo", "NodeInfo", "Use", "OutputInfo", "PackedPlanes", "TokenBatch"};
  return name.ends_with("Options") || std::ranges::find(kNames, name) != kNames.end();
}

std::string sentences(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : " ") + line;
  return text;
}

// "double a = 0, b{1}" as its parts, at commas outside of brackets.
std::vector<std::string> declarators(const std::string& statement) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : statement) {
    if (std::string_view("<({").find(c) != std::string_view::npos) ++depth;
    if (std::string_view(">)}").find(c) != std::string_view::npos) --depth;
    if (c == ',' && depth == 0) parts.emplace_back();
    else parts.back() += c;
  }
  return parts;
}

// The names that a statement declares. Functions are none.
std::vector<std::string> declared(const std::string& statement) {
  static const std::regex pattern(R"(.*?(\w+)\s*(=.*|\{.*)?)");
  std::vector<std::string> names;
  for (const std::string& part : declarators(statement)) {
    const std::string text(trim(part.substr(0, part.find_first_of("={"))));
    std::smatch found;
    if (text.find('(') == std::string::npos && std::regex_match(text, found, pattern)) names.push_back(found[1]);
  }
  return names;
}

void add_members(ResultStruct& result, const std::vector<std::string>& code) {
  std::string statement, above;
  for (size_t i = 1; i + 1 < code.size(); ++i) {
    const std::string line(trim(code[i]));
    const size_t comment = line.find("//");
    const std::string said(comment == std::string::npos ? "" : trim(line.substr(comment + 2)));
    const std::string declaration(trim(line.substr(0, comment)));
    if (declaration.empty()) {
      above = said;  // of the lines below it, up to an empty one
      continue;
    }
    statement += (statement.empty() ? "" : " ") + declaration;
    if (!statement.ends_with(";")) continue;
    statement.pop_back();
    for (const std::string& name : declared(statement)) result.members.push_back({name, said.empty() ? above : said});
    statement.clear();
  }
}

std::string quoted(const std::string& text) {
  return "\"" + std::regex_replace(text, std::regex(R"([\\"])"), R"(\$&)") + "\"";
}

}  // namespace

std::vector<ResultStruct> result_structs(const Header& header) {
  std::vector<ResultStruct> all;
  for (const Paragraph& paragraph : header.paragraphs) {
    if (paragraph.code.empty() || !paragraph.code[0].starts_with("struct ") || !paragraph.code[0].ends_with(" {"))
      continue;
    const std::string name = paragraph.code[0].substr(7, paragraph.code[0].size() - 9);
    if (is_bound_elsewhere(name)) continue;
    all.push_back({name, header.name, sentences(paragraph.comment), {}});
    add_members(all.back(), paragraph.code);
  }
  return all;
}

std::string python_structs(const std::vector<ResultStruct>& structs) {
  std::set<std::string> headers;
  for (const ResultStruct& result : structs) headers.insert(result.header);
  std::string text = fmt::format("// {}\n", kWritten);
  for (const std::string& header : headers) text += fmt::format("#include <hone/{}>\n", header);
  text += "\n#include \"structs.h\"\n\nnamespace hone::python {\n\nvoid bind_structs(nb::module_& m) {\n";
  for (const ResultStruct& result : structs) {
    std::string names;
    for (const ResultStruct::Member& member : result.members)
      names += (names.empty() ? "" : ", ") + quoted(member.name);
    text += fmt::format("  auto {0}_class = add_struct<api::{0}>(m, \"{0}\", {1}, {{{2}}});\n", result.name,
                        quoted(result.doc), names);
  }
  for (const ResultStruct& result : structs) {
    text += fmt::format("  {}_class", result.name);
    for (const ResultStruct::Member& member : result.members)
      text +=
          fmt::format("\n      .def_ro(\"{0}\", &api::{1}::{0}, {2})", member.name, result.name, quoted(member.doc));
    text += ";\n";
  }
  return text + "}\n\n}  // namespace hone::python\n";
}

std::string python_results(const std::vector<ResultStruct>& structs) {
  std::string text = fmt::format("\"\"\"What tasks find. {}\"\"\"\n\nfrom hone._hone import (\n", kWritten);
  for (const ResultStruct& result : structs) text += fmt::format("    {},\n", result.name);
  text += ")\n\n__all__ = [\n";
  for (const ResultStruct& result : structs) text += fmt::format("    \"{}\",\n", result.name);
  return text + "]\n";
}

}  // namespace hone::generate
