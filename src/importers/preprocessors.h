// What a Hugging Face folder says of how its model's inputs are made of images and sounds.
#pragma once

#include <string>

#include "importers/model.h"

namespace hone {

// Puts into the metadata of a model that takes images or sounds what preprocessor_config.json of its folder says, or
// the part of processor_config.json, where newer versions keep it. Without such files nothing changes.
void read_preprocessors(Model& model, const std::string& folder);

// preprocessor_config.json of what the metadata say; empty where they say nothing.
std::string preprocessor_config_of(const Model& model);

}  // namespace hone
