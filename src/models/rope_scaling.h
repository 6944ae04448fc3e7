// How rotary positions reach beyond the length that a model was trained on: rope_parameters of a configuration, or
// rope_theta and rope_scaling in older files.
#pragma once

#include <vector>

#include "models/config.h"

namespace hone {

struct RotaryAngles {
  std::vector<double> frequencies;  // angle of a position, for each pair of columns that turn
  double factor = 1;                // of cosines and sines
  int64_t context = 0;              // tokens of the texts that they hold for; 0: of any
};

// Where a configuration says what, beside rope_parameters.
struct RotaryKeys {
  const char* theta = "rope_theta";
  const char* scaling = "rope_scaling";  // nullptr: none
  const char* share = nullptr;           // how much of a head turns; nullptr: rope_parameters may not say it either
  double default_share = 1;
  const char* layers = nullptr;  // of which layers; rope_parameters then has an object for them
  // longrope has other divisors for texts beyond the trained length: those for shorter ones are taken, and
  // RotaryAngles::context says so. Otherwise they are refused.
  bool takes_short = false;
};

// Of heads with `columns` columns, of which an even number turns. Types default, linear, llama3, yarn and longrope.
// Throws Error for others, and for keys that such a type does not have.
RotaryAngles rotary_angles(const ModelConfig& config, int64_t columns, double default_theta,
                           const RotaryKeys& keys = {});

}  // namespace hone
