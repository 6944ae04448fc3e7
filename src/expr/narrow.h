// Programs whose steps in f64 are made in f32 where that gives the same value for every input.
//
// Number formats are defined in f64, which is exact but for the one rounding that a format is about. Vectors of f32
// have twice the lanes and cost half of it or less, so generated code computes as much as it can there. What the
// results are does not change, NaN, infinities, subnormals and signs of zeros included.
#pragma once

#include "expr/program.h"

namespace hone {

// With the same args and results. The interpreter does not need it.
Program narrowed(const Program& program);

}  // namespace hone
