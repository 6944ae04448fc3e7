// The reviews of quick labs.
#pragma once

#include <cstddef>
#include <string>

namespace hone {

// The CSV with the first `rows` rows for training and the first `judged` of each other split; without the column
// "split" all are for training. Throws Error, `source` first, for what is no CSV.
std::string first_of_each_split(const std::string& csv, const std::string& source, size_t rows, size_t judged);

}  // namespace hone
