#include "models/find_model.h"

#include <fmt/format.h>

#include "base/error.h"
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

}  // namespace

const ModelDef& model_for(const Json& config, const std::string& source) {
  const std::string architecture = architecture_of(config, source);
  std::vector<std::string> known;
  for (const ModelDef* def : models::all())
    for (const std::string& name : split(def->architectures, ' ')) {
      if (name == architecture) return *def;
      known.push_back(name);
    }
  fail("{}: architecture \"{}\" is not known; known: {}{}", source, architecture, fmt::join(known, ", "),
       did_you_mean(architecture, known));
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
