#include "api/generate/header.h"

#include <filesystem>
#include <sstream>

#include "base/atomic_file.h"
#include "base/text.h"

namespace hone::generate {
namespace {

bool is_comment(const std::string& line) { return trim(line).starts_with("//"); }

std::string comment_text(const std::string& line) {
  std::string_view text = trim(line).substr(2);
  if (text.starts_with(" ")) text.remove_prefix(1);
  return std::string(text);
}

// Not a declaration: parts of the page that every header has.
bool is_frame(const std::string& line) {
  const std::string_view text = trim(line);
  return text.starts_with("#") || text.starts_with("namespace ") || text.starts_with("}  // namespace") ||
         text == "extern \"C\" {" || text == "}" || text.starts_with("// begin of") || text.starts_with("// end of");
}

}  // namespace

Header read_header(const std::string& path) {
  Header header{.name = std::filesystem::path(path).filename().string(), .intro = {}, .paragraphs = {}};
  std::istringstream content(read_file(path));
  bool in_intro = true, in_class = false;
  Paragraph paragraph;
  const auto close = [&] {
    if (!paragraph.code.empty() || !paragraph.comment.empty()) header.paragraphs.push_back(std::move(paragraph));
    paragraph = {};
  };
  for (std::string line; std::getline(content, line);) {
    if (in_intro && is_comment(line)) {
      header.intro.push_back(comment_text(line));
      continue;
    }
    in_intro = false;
    const bool closes_class = line.starts_with("}") && in_class;
    if (!in_class && (line.empty() || is_frame(line))) {
      close();
      continue;
    }
    if (!in_class && is_comment(line) && paragraph.code.empty()) {
      paragraph.comment.push_back(comment_text(line));
      continue;
    }
    paragraph.code.push_back(line);
    if (closes_class) in_class = false;
    else if (line.ends_with("{")) in_class = true;
  }
  close();
  return header;
}

namespace {

// Whether a line of a class declares something by itself.
bool declares(const std::string& line) {
  const std::string_view text = trim(line);
  return !text.empty() && !text.starts_with("//") && line.starts_with("  ") && !line.starts_with("   ") &&
         !text.starts_with("}") && !text.starts_with("template") && text != "public:";
}

void check_members(const Header& header, const Paragraph& paragraph, std::vector<std::string>& faults) {
  bool is_documented = !paragraph.comment.empty(), is_private = false;  // of what holds only data, by its comment
  for (size_t i = 1; i < paragraph.code.size(); ++i) {
    const std::string& line = paragraph.code[i];
    if (trim(line) == "private:") is_private = true;
    if (trim(line) == "public:") is_private = false, is_documented = true;  // constructors, by the class's comment
    if (trim(line).empty()) is_documented = false;
    if (is_comment(line)) is_documented = true;
    const bool goes_on = i + 1 < paragraph.code.size() && paragraph.code[i + 1].starts_with("      ");
    const bool has_own =
        line.find("//") != std::string::npos || (goes_on && paragraph.code[i + 1].find("//") != std::string::npos);
    if (declares(line) && !is_private && !is_documented && !has_own)
      faults.push_back(header.name + ": " + std::string(trim(line)));
  }
}

bool is_forward(const Paragraph& paragraph) {
  for (const std::string& line : paragraph.code)
    if (!(line.starts_with("struct ") || line.starts_with("class ")) || !line.ends_with(";")) return false;
  return true;
}

// The name that a paragraph is about: of its first declaration.
std::string title_of(const Paragraph& paragraph) {
  const std::string& last = paragraph.code.back();
  if (paragraph.code[0].starts_with("typedef") && last.starts_with("} ")) return last.substr(2, last.find(';') - 2);
  for (std::string line : paragraph.code) {
    for (const char* word : {"HONE_API ", "enum class ", "class ", "struct ", "using ", "constexpr ", "typedef "})
      if (const size_t at = line.find(word); at != std::string::npos) line.erase(at, std::string(word).size());
    for (size_t at; (at = line.find("::")) != std::string::npos;) line.replace(at, 2, "__");
    line = line.substr(0, line.find_first_of("(={:;"));
    const std::string text(trim(line));
    const size_t space = text.find_last_of(" *&");
    if (!text.empty()) return space == std::string::npos ? text : text.substr(space + 1);
  }
  return "";
}

}  // namespace

std::vector<std::string> undocumented(const Header& header) {
  std::vector<std::string> faults;
  if (header.intro.empty()) faults.push_back(header.name + ": does not say what it is");
  for (const Paragraph& paragraph : header.paragraphs) {
    if (paragraph.code.empty() || is_forward(paragraph)) continue;
    const bool has_own = paragraph.code[0].find("//") != std::string::npos;
    if (paragraph.comment.empty() && !has_own) faults.push_back(header.name + ": " + paragraph.code[0]);
    check_members(header, paragraph, faults);
  }
  return faults;
}

std::string markdown(const Header& header) {
  std::string page = "# hone/" + header.name + "\n\n";
  for (const std::string& line : header.intro) page += line + "\n";
  for (const Paragraph& paragraph : header.paragraphs) {
    if (paragraph.code.empty() || is_forward(paragraph)) continue;
    page += "\n## " + title_of(paragraph) + "\n\n";
    for (const std::string& line : paragraph.comment) page += line + "\n";
    page += (paragraph.comment.empty() ? "```cpp\n" : "\n```cpp\n");
    for (const std::string& line : paragraph.code)
      if (trim(line) == "private:") {
        page += "};\n";
        break;
      } else if (line.find("hone's own") == std::string::npos) page += line + "\n";
    page += "```\n";
  }
  return page;
}

}  // namespace hone::generate
