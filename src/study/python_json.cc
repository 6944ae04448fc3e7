#include "study/python_json.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace hone {
namespace {

// What stands for the bare words while nlohmann's parser reads the text; no text of JSON begins with this character
// unless it is escaped.
constexpr char kMark = '\x7f';

struct Word {
  std::string_view text;
  double value;
};
constexpr Word kWords[] = {{"-Infinity", -std::numeric_limits<double>::infinity()},
                           {"Infinity", std::numeric_limits<double>::infinity()},
                           {"NaN", std::numeric_limits<double>::quiet_NaN()}};

// The text with bare words as marked strings; empty when there are none.
std::string with_marked_words(std::string_view text) {
  if (text.find("NaN") == text.npos && text.find("Infinity") == text.npos) return "";
  std::string marked;
  bool in_string = false, any = false;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (in_string && c == '\\' && i + 1 < text.size()) {
      marked += text.substr(i, 2);
      i += 2;
      continue;
    }
    if (c == '"') in_string = !in_string;
    const Word* found = nullptr;
    if (!in_string)
      for (const Word& word : kWords)
        if (!found && text.substr(i).starts_with(word.text)) found = &word;
    if (found) {
      marked += fmt::format("\"{}{}\"", kMark, found->text);
      i += found->text.size();
      any = true;
    } else {
      marked += c;
      ++i;
    }
  }
  return any ? marked : "";
}

void restore_words(Json& value) {
  if (value.is_structured()) {
    for (Json& child : value) restore_words(child);
  } else if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    if (text.empty() || text[0] != kMark) return;
    for (const Word& word : kWords)
      if (text.substr(1) == word.text) {
        value = word.value;
        return;
      }
  }
}

void append(std::string& out, const Json& value, bool spaced) {
  switch (value.type()) {
    case Json::value_t::object: {
      const char* separator = "";
      out += '{';
      for (const auto& [key, child] : value.items()) {
        out += separator;
        out += Json(key).dump(-1, ' ', true, Json::error_handler_t::replace);
        out += spaced ? ": " : ":";
        append(out, child, spaced);
        separator = spaced ? ", " : ",";
      }
      out += '}';
      return;
    }
    case Json::value_t::array: {
      const char* separator = "";
      out += '[';
      for (const Json& child : value) {
        out += separator;
        append(out, child, spaced);
        separator = spaced ? ", " : ",";
      }
      out += ']';
      return;
    }
    case Json::value_t::number_float:
      out += python_float(value.get<double>());
      return;
    default:
      out += value.dump(-1, ' ', true, Json::error_handler_t::replace);
  }
}

}  // namespace

std::string python_float(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

std::string python_json(const Json& value, JsonSpacing spacing) {
  std::string out;
  append(out, value, spacing == JsonSpacing::spaced);
  return out;
}

Json parse_python_json(std::string_view text, const std::string& source) {
  const std::string marked = with_marked_words(text);
  if (marked.empty()) return parse_json(text, source);
  Json value = parse_json(marked, source);
  restore_words(value);
  return value;
}

}  // namespace hone
