#include "importers/class_names.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/json.h"
#include "ir/row_keys.h"

namespace hone {
namespace {

std::vector<std::string> in_config(const Json& json) {
  if (!json.is_object() || !json.contains("id2label") || !json["id2label"].is_object()) return {};
  const Json& labels = json["id2label"];
  std::vector<std::string> names;
  for (size_t id = 0; id < labels.size(); ++id) {
    const auto found = labels.find(std::to_string(id));
    if (found == labels.end() || !found->is_string() || *found == fmt::format("LABEL_{}", id)) return {};
    names.push_back(found->get<std::string>());
  }
  return names;
}

std::vector<std::string> in_metadata(const Model& model) {
  const auto found = model.graph.metadata.find(kClassNames);
  if (found == model.graph.metadata.end()) return {};
  const std::string where = fmt::format("{}: metadata \"{}\"", model.path, kClassNames);
  const Json json = parse_json(found->second, where);
  std::vector<std::string> names;
  for (const Json& name : json.is_array() ? json : Json::array({json})) {
    if (!name.is_string()) fail("{}: {} is no name of a class; a list of names is expected", where, json_excerpt(name));
    names.push_back(name.get<std::string>());
  }
  return names;
}

}  // namespace

std::vector<std::string> classes_of(const Model& model) {
  const auto config = model.files.find("config.json");
  if (config == model.files.end()) return in_metadata(model);
  return in_config(parse_json(config->second, model.path + ": config.json"));
}

void name_classes(Model& model, const std::vector<std::string>& names, bool several) {
  const auto found = model.files.find("config.json");
  Json config = found == model.files.end() ? Json::object() : parse_json(found->second, model.path + ": config.json");
  Json by_number = Json::object(), by_name = Json::object();
  for (size_t i = 0; i < names.size(); ++i) {
    by_number[std::to_string(i)] = names[i];
    by_name[names[i]] = i;
  }
  config["id2label"] = by_number;
  config["label2id"] = by_name;
  if (several) config["problem_type"] = "multi_label_classification";
  model.files["config.json"] = config.dump(2);
  model.graph.metadata[kClassNames] = Json(names).dump();
}

}  // namespace hone
