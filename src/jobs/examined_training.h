// What of a model can be trained, and what stands between its weights and its outputs.
#pragma once

#include <vector>

#include "jobs/findings.h"
#include "report/record.h"
#include "train/training_form.h"

namespace hone {

// Tables "parameters", as a framework would list them, and "untrainable": ops on their way to the outputs that give no
// gradient. `sizes`: where open ones do not tell what a gradient is.
std::vector<Table> examine_training(const TrainingForm& form, const Bindings& sizes, Findings& findings);

}  // namespace hone
