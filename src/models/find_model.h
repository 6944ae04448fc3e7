// Which builder a configuration or a name means.
#pragma once

#include "models/registry.h"

namespace hone {

// The builder of the first of the configuration's "architectures". Throws Error, with the known ones, when none has it.
const ModelDef& model_for(const Json& config, const std::string& source);

// The whole configuration of the preset `name`, "architectures" included. Throws Error with the known ones.
Json preset_config(const std::string& name);

}  // namespace hone
