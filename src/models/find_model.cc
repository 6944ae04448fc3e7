#include "models/find_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/export_command.h"
#include "base/text.h"

namespace hone {
namespace {

std::string architecture_of(const Json& config, const std::string& source) {
  if (config.contains("architectures")) {
    const auto names = json_get<std::vector<std::string>>(config, "architectures", source);
    if (!names.empty()) return names[0];
  }
  fail("{}: key \"architectures\" is missing; it names what to build, e.g. [\"BertModel\"]", source);
}

[[noreturn]] void refuse(const std::string& architecture, const Json& config, const std::string& source) {
  std::vector<std::string> known, families;
  for (const ModelDef* def : models::all()) {
    families.emplace_back(def->name);
    for (std::string& name : split(def->architectures, ' ')) known.push_back(std::move(name));
  }
  std::ranges::stable_sort(known, {}, [&](const std::string& name) { return edit_distance(architecture, name); });
  const std::string type = config.contains("model_type") ? " of model_type " + json_excerpt(config["model_type"]) : "";
  const std::string folder = std::filesystem::path(source).parent_path().string();
  fail(
      "{}: architecture \"{}\"{} is not known; nearest of those that are: {}. Families: {}. hone opens its export to "
      "ONNX: {}",
      source, architecture, type, fmt::join(std::span(known).first(std::min<size_t>(3, known.size())), ", "),
      fmt::join(families, ", "), onnx_export_command(folder.empty() ? "." : folder));
}

}  // namespace

const ModelDef& model_for(const Json& config, const std::string& source) {
  const std::string architecture = architecture_of(config, source);
  for (const ModelDef* def : models::all())
    for (const std::string& name : split(def->architectures, ' '))
      if (name == architecture) return *def;
  refuse(architecture, config, source);
}

Json preset_config(const std::string& name) {
  std::vector<std::string> known;
  for (const ModelDef* def : models::all())
    for (const ModelPreset& preset : def->presets) {
      known.emplace_back(preset.name);
      if (name != preset.name) continue;
      Json config{{"architectures", {split(def->architectures, ' ')[0]}}};
      config.update(parse_json(preset.config, name));
      return config;
    }
  fail("model \"{}\" is not known; known: {}, or a configuration file, .json{}", name, fmt::join(known, ", "),
       did_you_mean(name, known));
}

}  // namespace hone
