// The context that a pass takes in tests of every pass: options by which it changes graphs.
#pragma once

#include <algorithm>

#include "passes/compress/lora.h"
#include "passes/compress/nonfinite.h"
#include "passes/compress/quantize.h"
#include "passes/differentiate.h"
#include "passes/lower/set_compute.h"
#include "passes/pass.h"

namespace hone::test {

// `graph`: what a bias is corrected towards.
inline PassContext context_for(const PassDef& pass, const Graph& graph, const Statistics& statistics) {
  PassContext context{.statistics = &statistics, .exact = &graph};
  const auto takes = [&](const OptionTable& table) { return std::ranges::count(pass.run.options(), &table) > 0; };
  const FormatRules rules{.to = "int8", .activations = "int8"};
  if (takes(option_table<FormatRules>)) context.options = rules;
  if (takes(option_table<NonfiniteOptions>)) context.options = {rules, NonfiniteOptions{"saturate"}};
  if (takes(option_table<LoraOptions>)) context.options = LoraOptions{.rule = {"op:linear"}, .rank = 2, .alpha = 3};
  if (takes(option_table<SetComputeOptions>)) context.options = SetComputeOptions{"bf16"};
  return context;
}

// Whether the graph is one that the pass has a use for: of others it throws.
inline bool takes(const PassDef& pass, const Graph& graph) {
  const std::string_view name = pass.name;
  if (name == "differentiate") return !trainable_parameters(graph).empty();
  if (name == "fuse_lora") return has_adapters(graph);
  if (name != "insert_lora") return true;
  const auto layers = adaptable_layers(graph);
  return !has_adapters(graph) && std::ranges::any_of(layers, [](const AdaptableLayer& layer) {
    return std::string_view(layer.op->name) == "linear";
  });
}

}  // namespace hone::test
