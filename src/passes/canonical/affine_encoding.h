// Which of hone's formats has the codes, scales and zero points of an affine weight as its own.
#pragma once

#include <string>

#include "passes/canonical/affine_weight.h"

namespace hone {

// How codes of the file become codes of a format: with `by` added; floats as they are.
struct Encoding {
  std::string head;  // "int4", "mxfp8_e4m3"
  int bits = 0;      // of integers
  int64_t by = 0;
  std::vector<uint32_t> scales, zero_points;  // of each group
};

// In as few bits as the codes that are there need. `firsts`: the first element of each group; `are_blocks`: groups are
// blocks, of which formats with power-of-two scales have names of their own. None where no format has such codes.
std::optional<Encoding> encoding_of(const AffineWeight& weight, const std::vector<int64_t>& firsts, bool are_blocks);

// The codes, of some rows.
std::vector<uint32_t> codes_of(const Tensor& codes, const Encoding& encoding);

}  // namespace hone
