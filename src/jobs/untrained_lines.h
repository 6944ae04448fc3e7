// What training leaves as it is, in sentences.
#pragma once

#include <string>
#include <vector>

#include "train/training_form.h"

namespace hone {

// A line for each reason: "2 tensors are not trained: cos [1,1,12,8], … (a table or mask by its name; …)". Shapes are
// those of the file. Statistics of batch norms and numbers of formulas, which no one expects to be trained, are left
// out.
std::vector<std::string> untrained_lines(const std::vector<StoredTensor>& others, const std::vector<Relaid>& relaid);

}  // namespace hone
