#include "api/generate/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

namespace hone::generate {
namespace {

constexpr size_t kColumns = 120;
constexpr std::array kReserved{"default", "float", "double", "int", "auto", "new", "delete", "export", "switch", "for"};

std::string commented(const std::string& text, const std::string& indent) {
  std::string lines, line = indent + "//";
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > kColumns) lines += line + "\n", line = indent + "//";
    line += " " + word;
  }
  return lines + line + "\n";
}

std::string struct_text(const OptionStruct& options) {
  std::string text = commented(options.doc, "") + fmt::format("struct {} {{\n", options.name);
  for (const OptionMember& member : options.members)
    text += commented(member.doc, "  ") + fmt::format("  {} {}{};\n", member.type, member.name, member.initial);
  return text + "};\n";
}

}  // namespace

OptionMember member_of(const OptionInfo& info, const char* type) {
  OptionMember member{info.name, info.name, type, "", info.doc};
  std::ranges::replace(member.name, '-', '_');
  if (std::ranges::find(kReserved, member.name) != kReserved.end()) member.name += '_';
  const std::string_view of(type);
  if (of == "bool") member.initial = " = false";
  if (of == "int64_t" || of == "uint64_t" || of == "double") member.initial = " = 0";
  if (!info.default_text.empty() && of == "std::string")
    member.initial = " = " + hone::detail::toml_string(info.default_text);
  else if (!info.default_text.empty() && !of.starts_with("std::vector")) {
    member.initial = " = " + info.default_text;
    if (of.ends_with("<std::string>")) member.initial = " = " + hone::detail::toml_string(info.default_text);
  }
  if (info.traits.choices) {
    std::string choices;
    for (const std::string& choice : info.traits.choices()) choices += (choices.empty() ? "" : ", ") + choice;
    if (member.doc.find(choices) == std::string::npos) member.doc += " (" + choices + ")";
  }
  if (info.required) member.doc += "; required";
  return member;
}

std::string with_options(const std::string& header, const std::vector<OptionStruct>& structs) {
  std::string text = header;
  for (const OptionStruct& options : structs) {
    const std::string begin = fmt::format("// begin of {}, written by generate_api\n", options.name);
    const std::string end = fmt::format("// end of {}\n", options.name);
    const size_t from = text.find(begin), to = text.find(end);
    if (from == std::string::npos) continue;
    if (to == std::string::npos) fail("the block of {} has no end", options.name);
    const size_t inside = from + begin.size();
    text.replace(inside, to - inside, struct_text(options));
  }
  return text;
}

std::string given_options(const std::vector<OptionStruct>& structs) {
  std::set<std::string> headers;
  for (const OptionStruct& options : structs) headers.insert(options.header);
  std::string text = "// Written by generate_api from the tables of options.\n#include \"api/given_options.h\"\n\n";
  for (const std::string& header : headers) text += fmt::format("#include <hone/{}>\n", header);
  text += "\nnamespace hone::api {\n";
  for (const OptionStruct& options : structs) {
    text += fmt::format("\ntemplate <>\nGivenOptions given(const {}& options) {{\n", options.name);
    text += fmt::format("  GivenOptions all;\n  const {} unset;\n", options.name);
    for (const OptionMember& member : options.members)
      text +=
          fmt::format("  detail::add(all, \"{}\", options.{}, unset.{});\n", member.option, member.name, member.name);
    text += "  return all;\n}\n";
  }
  return text + "\n}  // namespace hone::api\n";
}

}  // namespace hone::generate
