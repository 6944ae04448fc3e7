// A narrow layer between two wide ones, with what it was added to it.
#include "models/config.h"
#include "models/layers.h"
#include "ops/calls/arithmetic.h"

namespace hone {
namespace {

Graph build_bottleneck(const ModelRequest& request) {
  const ModelConfig config(request);
  const int64_t features = config.size("num_features"), width = config.size("width");
  Graph graph;
  graph.name = "bottleneck";
  graph.metadata["family"] = "bottleneck";
  LayerBuilder layers(graph, request);
  const ValueId x = layers.only_input("features", {Dim::symbol("B"), features});
  const ValueId narrow = layers.activation(layers.linear(x, "down", features, width), "relu");
  const ValueId wide = ops::add(graph, {layers.linear(narrow, "up", width, features), x});
  graph.add_output(layers.linear(wide, "head", features, config.size_or("num_classes", 10), "logits"), "logits");
  return graph;
}

constexpr ModelPreset kPresets[] = {{"bottleneck", R"({"num_features": 24, "width": 4, "num_classes": 3})"}};

}  // namespace

extern constinit const ModelDef bottleneck_def{.name = "bottleneck",
                                               .doc = "A narrow layer between two wide ones.",
                                               .architectures = "Bottleneck",
                                               .presets = kPresets,
                                               .build = build_bottleneck};

}  // namespace hone
