#include "ship/maker.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/hash.h"
#include "ir/bodies.h"
#include "jobs/calibration_sources.h"
#include "jobs/compiled_packer.h"
#include "jobs/prune_model.h"
#include "jobs/save_model.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

// The layers that training rounds.
std::vector<std::string> rules_of(const Graph& graph, const std::string& format) {
  std::vector<std::string> rules;
  for (const char* op : {"linear", "conv"})
    if (!graph.nodes(op).empty()) rules.push_back(fmt::format("op:{}={}", op, format));
  if (rules.empty()) fail("there are neither linear nor conv layers that could be trained against rounding");
  return rules;
}

// What training left unpacked, such as tables. What it packed stays bit for bit: packing that again would choose other
// scales.
QuantizeOptions of_the_rest(const Graph& graph, const std::string& format) {
  QuantizeOptions to, rest;
  to.to = format;
  for (const QuantizeChoice& choice : plan_quantization(graph, to).constants)
    if (choice.format && !graph.constant(choice.value)->is_packed())
      rest.rule.push_back(fmt::format("name:{}={}", choice.name, format));
  return rest;
}

}  // namespace

Maker::Maker(const Model& model, std::shared_ptr<const CalibrationData> learning, MakerOptions options)
    : model_(model),
      graph_(with_unique_labels(canonicalise(model.graph))),
      learning_(std::move(learning)),
      options_(std::move(options)),
      packer_(compiled_packer()) {}

Graph Maker::make(const Recipe& recipe, const TaskContext& context) const {
  context.check();
  Graph graph = is_trained(recipe) ? trained(recipe, context) : rounded(graph_, recipe);
  graph.metadata["compute"] = recipe.compute;
  return graph;
}

Graph Maker::rounded(const Graph& graph, const Recipe& recipe) const {
  if (recipe.to.empty() && recipe.rule.empty() && recipe.activations.empty()) return graph;
  const CalibrationSources sources = calibration_sources(learning_, options_.session);
  return quantize(graph, recipe, sources.statistics, {.packer = packer_.get(), .ranges = sources.ranges});
}

Graph Maker::trained(const Recipe& recipe, const TaskContext& context) const {
  Recipe exact = recipe;
  exact.compute = Recipe().compute;  // training is the same for each
  const std::string folder =
      options_.folder.empty() ? "" : options_.folder + "/" + hash128(recipe_text(exact)).hex().substr(0, 12);
  const std::string done = folder + "/done.safetensors";
  if (!folder.empty() && fs::exists(done)) return load_model(done).graph;
  Model model = model_;
  if (!recipe.prune.empty()) {
    PruneModelOptions prune;
    prune.prune.structure = recipe.prune, prune.prune.sparsity = recipe.sparsity;
    model.graph = prune_model(model_, prune, context).model.graph;
  }
  if (recipe.train == "lora") model.graph = rounded(canonicalise(model.graph), recipe);
  Graph graph = canonicalise(train(recipe, std::move(model), folder, context));
  if (recipe.train == "weights") graph = rounded(graph, recipe);
  if (recipe.train == "qat")
    if (const QuantizeOptions rest = of_the_rest(graph, recipe.to); !rest.rule.empty())
      graph = quantize(graph, rest, {}, {.packer = packer_.get()});
  if (!folder.empty()) save_as_artefact(done, graph, {});
  return graph;
}

Graph Maker::train(const Recipe& recipe, Model model, const std::string& folder, const TaskContext& context) const {
  TrainModelOptions options = options_.training;
  options.training.head = "keep";
  options.training.steps = recipe.steps;
  options.session = options_.session;
  options.folder = folder, options.resume = !folder.empty();
  if (recipe.train == "qat") options.training.qat = rules_of(canonicalise(model.graph), recipe.to);
  if (recipe.train == "lora") options.training.lora = {"op:linear"};
  const TaskContext quiet{.progress = context.progress, .cancelled = context.cancelled};
  return train_model(model, options, quiet).model.graph;
}

}  // namespace hone
