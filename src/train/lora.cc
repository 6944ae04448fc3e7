#include "train/lora.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/regex.h"
#include "ops/calls/conv.h"
#include "ops/calls/gather.h"
#include "ops/calls/linear.h"
#include "passes/pipelines.h"

namespace hone {
namespace {

// Plain constants with a name that the node behind the predictions reads.
std::vector<std::string> last_layer(const Graph& graph) {
  std::vector<std::string> labels;
  const NodeId last = graph.producer(graph.outputs()[0].value);
  if (last == kNone || graph.node(last).op != &linear_def) return labels;
  for (ValueId id : graph.node(last).operands)
    if (const Tensor* tensor = graph.constant(id); tensor && !tensor->is_packed() && !graph.value(id).label.empty())
      labels.push_back(graph.value(id).label);
  return labels;
}

std::string exactly(const std::string& label) { return "^\\Q" + label + "\\E$"; }

}  // namespace

AdaptedModel adapt_for_training(Graph model, LoraOptions options) {
  const std::vector<std::string> head = last_layer(model);
  AdaptedModel adapted;
  int64_t beside = sizes(model).parameters;
  if (!options.rule.empty()) {
    for (const std::string& label : head) options.skip.push_back(exactly(label));
    model = run_pass(std::move(model), LoraOptions::kPass, {.options = options});
  }
  static const Regex names(kAdapterNames);
  int64_t tensors = 0, elements = 0;
  for (ValueId id : model.constants())
    if (names.search(model.value(id).label)) ++tensors, elements += model.constant(id)->elements();
  if (options.rule.empty()) beside -= elements;
  adapted.what = fmt::format("adapters of {} weights in {} tensors beside {} weights", elements, tensors, beside);
  adapted.rules.push_back(std::string(kAdapterNames) + "=rate:1");
  for (const std::string& label : head) adapted.rules.push_back(exactly(label) + "=rate:1");
  adapted.rules.emplace_back(".*=frozen");
  if (head.empty()) model.metadata.erase(kLoraSaved);
  else model.metadata[kLoraSaved] = fmt::format("{}", fmt::join(head, ","));
  adapted.graph = std::move(model);
  return adapted;
}

std::vector<StoredTensor> unadapted_weights(const Graph& model) {
  static constexpr const OpDef* kAdaptable[] = {&linear_def, &conv_def, &gather_def};
  return unseen_weights(model, kAdaptable);
}

}  // namespace hone
