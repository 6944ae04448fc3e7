// A data set with some of its rows.
#pragma once

#include <vector>

#include "data/dataset.h"

namespace hone {

// Rows for which `keep` says so, in their order; splits hold those of theirs that are left.
Dataset keep_rows(Dataset data, const std::vector<bool>& keep);

}  // namespace hone
