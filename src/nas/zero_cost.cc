#include "nas/zero_cost.h"

#include <cmath>

#include "base/error.h"
#include "jobs/default_inputs.h"
#include "jobs/evaluation.h"
#include "jobs/prune_model.h"
#include "prune/synaptic_flow.h"
#include "train/train_graph.h"

namespace hone {
namespace {

CalibrationData first_rows(const Model& model, const ZeroCostOptions& options) {
  const Dataset dataset = read_dataset(options.data, options.reading);
  return evaluation_samples(model, {.data = {.path = options.data,
                                             .reading = options.reading,
                                             .split = dataset.find_split("train") ? "train" : "",
                                             .limit = options.samples,
                                             .batch = options.samples}});
}

}  // namespace

Figures zero_cost_figures(const Model& model, const std::set<std::string>& wanted, const ZeroCostOptions& options) {
  Figures figures;
  const Graph graph = canonicalise_for_training(model.graph);
  const std::vector<std::string> labels = prunable_weights(graph, {});
  if (wanted.contains("synflow"))
    figures["synflow"] =
        synaptic_flow(graph, labels, default_inputs(graph, bind_symbols(graph, options.shapes), 1), options.session);
  if (!wanted.contains("snip") && !wanted.contains("gradient_norm")) return figures;
  if (options.data.empty()) fail("snip and gradient_norm are of a loss on data; give --data");
  const LossData data = loss_data(graph, first_rows(model, options), options.data, "the score snip or gradient_norm");
  double squares = 0, sensitivity = 0;
  for (const auto& [label, gradient] : loss_gradients(graph, labels, data, options.session)) {
    const std::vector<float> weight = graph.constant(graph.find_constant(label))->to_floats();
    const std::span<const float> d = gradient.as<float>();
    for (size_t i = 0; i < d.size(); ++i) {
      const double slope = d[i];
      squares += slope * slope, sensitivity += std::abs(weight[i] * slope);
    }
  }
  if (wanted.contains("snip")) figures["snip"] = sensitivity;
  if (wanted.contains("gradient_norm")) figures["gradient_norm"] = std::sqrt(squares);
  return figures;
}

}  // namespace hone
