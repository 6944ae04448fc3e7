// Which rows are trained on and which are kept to judge by.
#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"

namespace hone {

// 0 .. n-1 in an order that depends on n and the two numbers only. Different epochs of one seed are independent orders,
// each made without those before it, so that work goes on in the middle of any epoch.
std::vector<int64_t> permutation(int64_t n, uint64_t seed, uint64_t epoch);

// Takes `fraction` of the rows of "train", or of all rows where there are no splits, and makes a split of them; the
// rest is "train". Rows of one group stay together: groups are taken whole, in a random order, as long as they fit, so
// the part may be smaller than asked for by less than the largest group. Throws Error when there is a split of that
// name, when the fraction is not between 0 and 1, or when either part would be empty.
void split_off(Dataset& data, const std::string& name, double fraction, uint64_t seed);

}  // namespace hone
