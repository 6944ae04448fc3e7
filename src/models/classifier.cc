#include "models/classifier.h"

#include "base/error.h"
#include "ops/calls/cross_entropy.h"

namespace hone {

int64_t class_count(const ModelConfig& config) {
  if (config.has("id2label")) {
    const auto count = static_cast<int64_t>(config.json().at("id2label").size());
    if (count < 1) fail("{}: key \"id2label\" lists no class", config.source());
    return count;
  }
  return config.size_or("num_labels", 2);
}

void classifier_outputs(TransformerBuilder& builder, ValueId logits, ValueId labels, int64_t classes) {
  Graph& graph = builder.graph();
  graph.add_output(logits, "logits");
  if (labels == kNone) return;
  const ModelConfig config(builder.request());
  const std::string problem = config.text_or("problem_type", "single_label_classification");
  if (problem != "single_label_classification" || classes < 2)
    fail(
        "{}: the loss of a model with {} classes and problem_type {} is not supported; accepted: "
        "single_label_classification with at least 2. "
        "Leave labels out of the inputs",
        config.source(), classes, problem);
  graph.add_output(ops::cross_entropy(graph, {.logits = logits, .labels = labels}, "loss"), "loss");
}

}  // namespace hone
