// The size of a model's constants in a format, before anything is packed.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "jobs/weight_facts.h"

namespace hone {

struct PredictedSize {
  std::string format, fault;  // fault: why quantize refuses the format; the rest is 0 then
  int64_t bytes = 0;          // of all constants
  int64_t tensors = 0;        // that are packed
  int64_t saturated = 0;      // of them with values beyond the format's range
  int64_t larger = 0;         // left as they are, because packed they would take more
};

// With `format` for all that `hone quantize --to` packs. `facts`: as scan_weights() gives them.
PredictedSize predict_size(const Graph& graph, const std::string& format, std::span<const WeightFacts> facts);

}  // namespace hone
