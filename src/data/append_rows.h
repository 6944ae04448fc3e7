// Two data sets as one.
#pragma once

#include "data/dataset.h"

namespace hone {

// Puts the rows of `more` behind those of `data`, splits by the same name together; classes and groups are matched by
// name. Throws Error naming both when one has a column that the other lacks, or arrays of other shapes.
void append_rows(Dataset& data, Dataset more);

}  // namespace hone
