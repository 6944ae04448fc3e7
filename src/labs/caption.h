// What stands under a figure: how the points of it were trained, as the TOML file says.
#pragma once

#include <string>

#include "base/json.h"

namespace hone {

// "150 steps of 32 rows, 96 tokens each", of keys of hone train; what they leave open is left out.
std::string training_caption(const Json& keys);

// The same of a file, or of a table in it: "train", or "studies.tpe.retrain".
std::string training_caption(const std::string& path, const std::string& table = "");

}  // namespace hone
