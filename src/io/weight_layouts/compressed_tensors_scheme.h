// quantization_config of compressed-tensors, which its layouts share.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "io/weight_layouts/weight_layout.h"

namespace hone {

inline constexpr const char* kCompressedTensors = "compressed-tensors";

// The check of its layouts' definitions.
void check_compressed_tensors(const Json& scheme, const std::string& where);

// The values that `key` has for the weights of all groups of the scheme.
std::set<int64_t> stated_in_groups(const Json& scheme, const char* key);

// Elements that share one of the scales, the tensor `name`, of a weight [N,K]; 0: those of a row.
int64_t scale_group(const StoredWeights& stored, const std::string& name, const Tensor& scales,
                    const std::vector<int64_t>& shape);

}  // namespace hone
