// Group scales that lose less than those which a format's rule gives.
#pragma once

#include <span>
#include <vector>

#include "formats/packed.h"

namespace hone {

struct GroupScales;  // formats/group_scales.h
class BlockTraversal;

// What the elements of a matrix are multiplied with, taken as independent of each other: one number per element,
// row-major. Both empty: variance 1 and mean 0.
struct ElementInputs {
  std::vector<float> variance, mean;
};

// choose_scales(), then for each group what its rule would have given for smaller or larger elements, where that lowers
// what the errors d = x - decoded of the group add to the mean square of the product: the sum of variance * d^2, and,
// for groups within a row, the square of the sum of mean * d (other groups: the sum of mean^2 * d^2). Never where it
// does not. A global scale stays.
GroupScales search_scales(const Format& format, const BlockTraversal& blocks, std::span<const float> values,
                          const ElementInputs& inputs);

// pack() with these scales.
Planes pack_searched(const Format& format, std::span<const int64_t> shape, std::span<const float> values,
                     const ElementInputs& inputs);

}  // namespace hone
