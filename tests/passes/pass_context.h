// The context that a pass by its name takes in tests of every pass: options by which it changes graphs.
#pragma once

#include <string_view>

#include "passes/correct_bias.h"
#include "passes/pipelines.h"
#include "passes/round_weights.h"

namespace hone::test {

// `graph`: what a bias is corrected towards.
inline PassContext context_for(std::string_view pass, const Graph& graph, const Statistics& statistics) {
  if (pass == "set_compute") return {Compute::bf16, &statistics};
  if (pass == "round_weights") return {RoundingOptions(), &statistics};
  if (pass == "correct_bias") return {BiasCorrection{graph}, &statistics};
  QuantizeOptions options;
  options.to = "int8", options.activations = "int8", options.on_nonfinite = "saturate";
  return {options, &statistics};
}

}  // namespace hone::test
