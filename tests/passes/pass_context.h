// The context that a pass takes in tests of every pass: options by which it changes graphs.
#pragma once

#include <algorithm>

#include "passes/differentiate.h"
#include "passes/nonfinite.h"
#include "passes/pass.h"
#include "passes/quantize.h"
#include "passes/set_compute.h"

namespace hone::test {

// `graph`: what a bias is corrected towards.
inline PassContext context_for(const PassDef& pass, const Graph& graph, const Statistics& statistics) {
  PassContext context{.statistics = &statistics, .exact = &graph};
  const auto takes = [&](const OptionTable& table) { return std::ranges::count(pass.run.options(), &table) > 0; };
  const FormatRules rules{.to = "int8", .activations = "int8"};
  if (takes(option_table<FormatRules>)) context.options = rules;
  if (takes(option_table<NonfiniteOptions>)) context.options = {rules, NonfiniteOptions{"saturate"}};
  if (takes(option_table<SetComputeOptions>)) context.options = SetComputeOptions{"bf16"};
  return context;
}

// Whether the graph is one that the pass has a use for: of others it throws.
inline bool takes(const PassDef& pass, const Graph& graph) {
  return std::string_view(pass.name) != "differentiate" || !trainable_parameters(graph).empty();
}

}  // namespace hone::test
