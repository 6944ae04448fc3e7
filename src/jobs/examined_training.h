// What of a model can be trained, and what stands between its weights and its outputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jobs/findings.h"
#include "train/training_form.h"

namespace hone {

// As a framework would list it: name and shape as the file has them.
struct ExaminedParameter {
  std::string name;
  std::vector<int64_t> shape;
  ParameterRole role = ParameterRole::none;
  std::string why_not;  // it is not trained; empty: it is
};

// Ops on the way to the outputs that give no gradient.
struct UntrainableOp {
  std::string op, why;
  int64_t nodes = 0;
};

struct ExaminedTraining {
  std::vector<ExaminedParameter> parameters;
  std::vector<UntrainableOp> untrainable;
};

// `sizes`: where open ones do not tell what a gradient is.
ExaminedTraining examine_training(const TrainingForm& form, const Bindings& sizes, Findings& findings);

}  // namespace hone
