#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "study/space.h"

namespace hone {
namespace {

const std::vector<std::string> kKeys{"type", "low", "high", "step", "log", "choices", "when", "same_as"};

struct Entry {
  std::string name;
  Json table;
  std::string where;  // "s.toml: parameter depth"
};

std::vector<Json> list_of(const Json& value) {
  if (value.is_array()) return {value.begin(), value.end()};
  return {value};
}

Distribution distribution_of(const Entry& entry) {
  const Json& table = entry.table;
  const auto has = [&](const char* key) { return table.contains(key); };
  std::string type = has("type") ? json_get<std::string>(table, "type", entry.where) : "";
  if (type.empty()) {
    const auto whole = [&](const char* key) { return has(key) && table.at(key).is_number_integer(); };
    type = has("choices") ? "category" : whole("low") && whole("high") ? "int" : "float";
  }
  const std::vector<std::string> types{"float", "int", "category"};
  if (std::ranges::find(types, type) == types.end())
    fail("{}: unknown type {}; known: float, int, category{}", entry.where, type, did_you_mean(type, types));
  const bool category = type == "category";
  for (const char* key : {"low", "high", "step", "log"})
    if (category && has(key)) fail("{}: {} has no meaning for choices; leave one out", entry.where, key);
  if (category) {
    const Json choices = json_get<Json>(table, "choices", entry.where);
    if (!choices.is_array()) fail("{}: choices are no list", entry.where);
    return category_distribution(entry.name, list_of(choices));
  }
  if (has("choices")) fail("{}: a {} has low and high, no choices; leave type out", entry.where, type);
  const bool log = has("log") && json_get<bool>(table, "log", entry.where);
  if (type == "int")
    return integer_distribution(entry.name, json_get<int64_t>(table, "low", entry.where),
                                json_get<int64_t>(table, "high", entry.where),
                                has("step") ? json_get<int64_t>(table, "step", entry.where) : 1, log);
  const double step = has("step") ? json_get<double>(table, "step", entry.where) : 0;
  if (has("step") && step <= 0) fail("{}: step {} must be above 0", entry.where, step);
  return real_distribution(entry.name, json_get<double>(table, "low", entry.where),
                           json_get<double>(table, "high", entry.where), step, log);
}

std::vector<SpaceCondition> conditions_of(const Entry& entry) {
  std::vector<SpaceCondition> all;
  if (!entry.table.contains("when")) return all;
  const Json& when = entry.table.at("when");
  if (!when.is_object()) fail("{}: when is no table such as {{format = \"int4\"}}", entry.where);
  for (const auto& [name, values] : when.items()) all.push_back({name, list_of(values)});
  return all;
}

std::vector<Entry> entries_of(const Json& tree, const std::string& source) {
  const Json parameters = json_get<Json>(tree, "parameters", source);
  if (!parameters.is_object() || parameters.empty()) fail("{}: [parameters] has no entries; nothing to search", source);
  std::vector<Entry> entries;
  for (const auto& [name, value] : parameters.items()) {
    Entry entry{name, value, source + ": parameter " + name};
    if (value.is_array()) {
      entry.table = Json::object();
      entry.table["choices"] = value;
    }
    if (!entry.table.is_object())
      fail("{}: expected a table such as {{low = 1, high = 8}} or a list of choices, found {}", entry.where,
           json_excerpt(value));
    for (const auto& [key, unused] : entry.table.items())
      if (std::ranges::find(kKeys, key) == kKeys.end())
        fail("{}: unknown key {}; known: type, low, high, step, log, choices, when, same_as{}", entry.where, key,
             did_you_mean(key, kKeys));
    entries.push_back(std::move(entry));
  }
  return entries;
}

// A file may name what a condition asks for after it: those that wait are added once what they need is there.
void add_in_order(Space& space, std::vector<Entry> waiting) {
  std::set<std::string> left;
  for (const Entry& entry : waiting) left.insert(entry.name);
  while (!waiting.empty()) {
    std::vector<Entry> later;
    for (Entry& entry : waiting) {
      std::vector<SpaceCondition> when = conditions_of(entry);
      const bool ready =
          std::ranges::none_of(when, [&](const SpaceCondition& c) { return left.contains(c.parameter); });
      if (!ready) {
        later.push_back(std::move(entry));
        continue;
      }
      space.add({entry.name, distribution_of(entry), std::move(when)});
      left.erase(entry.name);
    }
    if (later.size() == waiting.size())
      fail("{}: its condition asks, in a circle, for what asks for it", later.front().where);
    waiting = std::move(later);
  }
}

}  // namespace

Space parse_space(const Json& tree, const std::string& source) {
  if (!tree.is_object()) fail("{}: is no table of parameters", source);
  for (const auto& [key, unused] : tree.items())
    if (key != "parameters" && key != "constraints")
      fail("{}: unknown key {}; known: parameters, constraints", source, key);
  std::vector<Entry> own, tied;
  for (Entry& entry : entries_of(tree, source))
    (entry.table.contains("same_as") ? tied : own).push_back(std::move(entry));
  Space space;
  try {
    add_in_order(space, std::move(own));
    for (const Entry& entry : tied) {
      if (entry.table.size() != 1) fail("parameter {}: same_as stands alone, the rest is the other's", entry.name);
      space.tie(entry.name, json_get<std::string>(entry.table, "same_as", entry.where));
    }
    if (tree.contains("constraints"))
      for (const Json& text : list_of(tree.at("constraints"))) {
        if (!text.is_string()) fail("constraint {} is no text", json_excerpt(text));
        space.constrain(text.get<std::string>());
      }
  } catch (const Error& e) {
    if (std::string_view(e.what()).starts_with(source)) throw;
    fail("{}: {}", source, e.what());
  }
  return space;
}

}  // namespace hone
