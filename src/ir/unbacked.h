// Sizes that depend on data: those that a shape rule could not know, for which Graph mints symbols (_1, _2, …).
#pragma once

#include "ir/dim.h"

namespace hone {

// Whether the shapes of inputs alone don't give a value. An attribute with such a size needs the node that finds it but
// does not keep it alive, as an operand does.
bool depends_on_data(const Dim& dim);
bool depends_on_data(const Shape& shape);  // any dimension

}  // namespace hone
