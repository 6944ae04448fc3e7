#include "io/toml.h"

#include <toml++/toml.h>
#include <algorithm>

#include "base/atomic_file.h"
#include "base/error.h"

namespace hone {
namespace {

bool comes_before(const toml::source_position& a, const toml::source_position& b) {
  return a.line != b.line ? a.line < b.line : a.column < b.column;
}

Json to_tree(const toml::node& node, const std::string& source);

// toml++ sorts keys by name; the position of each key restores the order of the file.
Json table_to_tree(const toml::table& table, const std::string& source) {
  std::vector<std::pair<const toml::key*, const toml::node*>> entries;
  for (const auto& [key, value] : table) entries.emplace_back(&key, &value);
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return comes_before(a.first->source().begin, b.first->source().begin);
  });
  Json tree = Json::object();
  for (const auto& [key, value] : entries) tree[std::string(key->str())] = to_tree(*value, source);
  return tree;
}

Json to_tree(const toml::node& node, const std::string& source) {
  if (const auto* table = node.as_table()) return table_to_tree(*table, source);
  if (const auto* array = node.as_array()) {
    Json tree = Json::array();
    for (const auto& element : *array) tree.push_back(to_tree(element, source));
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
  try {
    return table_to_tree(toml::parse(text, source), source);
  } catch (const toml::parse_error& e) {
    const auto at = e.source().begin;
    fail("{}:{}:{}: {}", source, at.line, at.column, e.description());
  }
}

Json read_toml_file(const std::string& path) {
  constexpr size_t kMaxBytes = 16 << 20;
  return parse_toml(read_file(path, kMaxBytes), path);
}

OptionTexts flatten_options(const Json& tree, const std::string& source) {
  OptionTexts options;
  flatten(tree, "", source, options);
  return options;
}

OptionTexts read_toml_options(const std::string& path) { return flatten_options(read_toml_file(path), path); }

}  // namespace hone
