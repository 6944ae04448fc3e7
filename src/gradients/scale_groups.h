// Scales of groups (ops/scale_groups.h) as nodes: for each element that of its group, and sums over groups.
#pragma once

#include "formats/format.h"
#include "gradients/gradient.h"

namespace hone {

// A value that broadcasts to x's shape.
ValueId spread_over_groups(Graph& graph, ValueId scale, const Format& format, const Shape& x);
// Of x's shape → that of the scales.
ValueId summed_over_groups(Graph& graph, ValueId elements, const Format& format);

}  // namespace hone
