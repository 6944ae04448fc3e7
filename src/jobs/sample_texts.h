// Texts for judging a model that reads text when its user gives none: short and long, of several subjects, each subject
// more than once so that nearest neighbours mean something.
#pragma once

#include <string>
#include <vector>

namespace hone {

std::vector<std::string> sample_texts();

}  // namespace hone
