// Orders of axes, as the attribute perm of transpose lists them: axis i of the result is axis perm[i] of x.
#pragma once

#include <vector>

#include "ir/type.h"

namespace hone {

using Permutation = std::vector<int64_t>;

Permutation inverse(const Permutation& perm);
Permutation composed(const Permutation& first, const Permutation& second);  // of transpose by first, then by second
Shape permuted(const Shape& shape, const Permutation& perm);

// Whether a transpose of such a tensor leaves its elements in their order: axes that change places have length 1.
bool keeps_order(const Shape& shape, const Permutation& perm);

}  // namespace hone
