// The context that a pass by its name takes: options that leave graphs without fake_quant as they are, where there are
// such.
#pragma once

#include <string_view>

#include "passes/correct_bias.h"
#include "passes/pipelines.h"
#include "passes/round_weights.h"

namespace hone::test {

inline PassContext context_for(std::string_view pass, const Graph& graph, const Statistics& statistics) {
  if (pass == "set_compute") return {Compute::f32, &statistics};
  if (pass == "round_weights") return {RoundingOptions(), &statistics};
  if (pass == "correct_bias") return {BiasCorrection{graph}, &statistics};
  QuantizeOptions options;
  options.to = "int8", options.activations = "int8";
  return {options, &statistics};
}

}  // namespace hone::test
