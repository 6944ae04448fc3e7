// What training, adapters, rounding and pruning leave as it is, in sentences.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/training_form.h"

namespace hone {

// A line for each reason: "2 tensors are not trained: cos [1,1,12,8], … (a table or mask by its name; …)". Shapes are
// those of the file. Statistics of batch norms and numbers of formulas, which no one expects to be trained, are left
// out.
std::vector<std::string> untrained_lines(const std::vector<StoredTensor>& others, const std::vector<Relaid>& relaid);

// Likewise of weights that a verb does not see (unseen_weights): "2 weights stay without adapters: a [4,4], b [4,4]
// (linear reads it behind slice)".
std::vector<std::string> passed_over_lines(const std::vector<StoredTensor>& unseen, const std::vector<Relaid>& relaid,
                                           std::string_view how);

}  // namespace hone
