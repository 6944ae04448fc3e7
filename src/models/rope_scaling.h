// How rotary positions reach beyond the length that a model was trained on: rope_parameters of a configuration, or
// rope_theta and rope_scaling in older files.
#pragma once

#include <vector>

#include "models/config.h"

namespace hone {

struct RotaryAngles {
  std::vector<double> frequencies;  // angle of a position, for each pair of columns
  double factor = 1;                // of cosines and sines
};

// Of heads with `columns` columns, an even number. Types default, linear, llama3, yarn, and longrope whose factors for
// short and long texts are the same. Throws Error for others, and for keys that such a type does not have.
RotaryAngles rotary_angles(const ModelConfig& config, int64_t columns, double default_theta);

}  // namespace hone
