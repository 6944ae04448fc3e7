// What became of a model's tensors, as tables.
#pragma once

#include <vector>

#include "jobs/quantize_model.h"
#include "report/record.h"

namespace hone {

enum class Listed : uint8_t { all, changed };

// The table "tensors", of all or of those whose format changed; "activations", when one is rounded; "counts" of values
// that the formats can't hold; and the totals of all constants.
std::vector<Block> describe(const QuantizedModel& quantized, Listed listed = Listed::all);

}  // namespace hone
