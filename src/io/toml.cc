#include "io/toml.h"

#include <toml++/toml.h>

#include <algorithm>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/stop.h"

namespace hone {
namespace {

bool comes_before(const toml::source_position& a, const toml::source_position& b) {
  return a.line != b.line ? a.line < b.line : a.column < b.column;
}

// Tables may be nested by dots alone, and toml++ and its tree recurse over them: `a.a.a. … = 1`. Refuses keys of more
// parts than anyone writes, before they are parsed. Nothing inside strings and comments counts.
class KeyDepth {
 public:
  KeyDepth(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  void check() {
    for (size_t at = 0; at < text_.size();) {
      const char c = text_[at];
      if (c == '"' || c == '\'') {
        at = end_of_string(at);
        continue;
      }
      if (c == '#') at = std::min(text_.find('\n', at), text_.size() - 1);
      if (c == '.') count();
      else if (std::string_view("=,[]{}#\n").find(c) != std::string_view::npos) dots_ = 0;
      if (text_[at] == '\n') ++line_, dots_ = 0;
      ++at;
    }
  }

 private:
  void count() {
    constexpr int kMost = 32;
    if (++dots_ > kMost) fail("{}:{}: a key of more than {} parts", source_, line_, kMost);
  }

  size_t end_of_string(size_t begin) {
    const char quote = text_[begin];
    const bool is_long = text_.substr(begin, 3) == std::string(3, quote);
    size_t at = begin + (is_long ? 3 : 1);
    for (; at < text_.size(); ++at) {
      if (text_[at] == '\n') {
        ++line_;
        if (!is_long) return at + 1;  // malformed, as toml++ will say
      }
      if (quote == '"' && text_[at] == '\\') {
        ++at;
      } else if (text_[at] == quote && (!is_long || text_.substr(at, 3) == std::string(3, quote))) {
        return at + (is_long ? 3 : 1);
      }
    }
    return text_.size();
  }

  std::string_view text_;
  const std::string& source_;
  int dots_ = 0, line_ = 1;
};

constexpr int kMaxDepth = 64;

Json to_tree(const toml::node& node, const std::string& source, int depth);

// toml++ sorts keys by name; the position of each key restores the order of the file.
Json table_to_tree(const toml::table& table, const std::string& source, int depth) {
  if (depth > kMaxDepth) fail("{}: nested deeper than {}", source, kMaxDepth);
  check_stop();
  std::vector<std::pair<const toml::key*, const toml::node*>> entries;
  for (const auto& [key, value] : table) entries.emplace_back(&key, &value);
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return comes_before(a.first->source().begin, b.first->source().begin);
  });
  Json tree = Json::object();
  for (const auto& [key, value] : entries)
    tree.get_ref<Json::object_t&>().emplace_back(std::string(key->str()), to_tree(*value, source, depth + 1));
  return tree;
}

Json to_tree(const toml::node& node, const std::string& source, int depth) {
  if (depth > kMaxDepth) fail("{}: nested deeper than {}", source, kMaxDepth);
  if (const auto* table = node.as_table()) return table_to_tree(*table, source, depth);
  if (const auto* array = node.as_array()) {
    Json tree = Json::array();
    for (const auto& element : *array) tree.push_back(to_tree(element, source, depth + 1));
    return tree;
  }
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* integer = node.as_integer()) return integer->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* boolean = node.as_boolean()) return boolean->get();
  const auto at = node.source().begin;
  fail("{}:{}:{}: a date or time; accepted: text, numbers, true, false, arrays and tables", source, at.line, at.column);
}

std::string spell(const Json& value, const std::string& key, const std::string& source) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_structured())
    fail("{}: {}: an array of arrays or tables inside an array; expected plain values", source, key);
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());  // JSON has no inf or nan
  return value.dump();
}

void flatten(const Json& tree, const std::string& prefix, const std::string& source, OptionTexts& out) {
  for (const auto& [name, value] : tree.items()) {
    const std::string key = prefix + name;
    const bool tables = value.is_array() && !value.empty() &&
                        std::all_of(value.begin(), value.end(), [](const Json& v) { return v.is_object(); });
    if (value.is_object()) {
      flatten(value, key + ".", source, out);
    } else if (tables) {
      for (const Json& table : value) flatten(table, key + ".", source, out);
    } else {
      std::vector<std::string> texts;
      for (const Json& v : value.is_array() ? value : Json::array({value})) texts.push_back(spell(v, key, source));
      out.emplace_back(key, std::move(texts));
    }
  }
}

}  // namespace

Json parse_toml(std::string_view text, const std::string& source) {
  KeyDepth(text, source).check();
  try {
    return table_to_tree(toml::parse(text, source), source, 0);
  } catch (const toml::parse_error& e) {
    const auto at = e.source().begin;
    fail("{}:{}:{}: {}", source, at.line, at.column, e.description());
  }
}

Json read_toml_file(const std::string& path) {
  constexpr size_t kMaxBytes = 4 << 20;
  return parse_toml(read_file(path, kMaxBytes), path);
}

OptionTexts flatten_options(const Json& tree, const std::string& source) {
  OptionTexts options;
  flatten(tree, "", source, options);
  return options;
}

OptionTexts read_toml_options(const std::string& path) { return flatten_options(read_toml_file(path), path); }

}  // namespace hone
