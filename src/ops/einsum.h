// The notation of einsum: "ij,jk->ik".
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace hone {

// A dimension's letter; the k-th from the right of those that an ellipsis stands for is -k.
using Label = int;
using Labels = std::vector<Label>;

struct EinsumEquation {
  std::vector<Labels> operands;  // a label for each dimension
  Labels result;
};

// Throws Error for a text that is no equation, or none for operands of these ranks.
EinsumEquation parse_einsum(std::string text, std::span<const size_t> ranks);

}  // namespace hone
