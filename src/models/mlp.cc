// A multi-layer perceptron: linear layers with an activation between them, named as in a torch.nn.Sequential called
// layers, where activations take an index too.
#include "models/config.h"
#include "models/layers.h"

namespace hone {
namespace {

Graph build_mlp(const ModelRequest& request) {
  const ModelConfig config(request);
  Graph graph;
  graph.name = "mlp";
  graph.metadata["family"] = "mlp";
  LayerBuilder layers(graph, request);
  const std::string activation = config.text_or("activation", "relu");
  int64_t features = config.size("num_features");
  ValueId x = layers.only_input("features", {Dim::symbol("B"), features});
  int index = 0;
  for (const int64_t width : config.sizes("widths")) {
    x = layers.activation(layers.linear(x, fmt::format("layers.{}", index), features, width), activation);
    features = width;
    index += 2;
  }
  const int64_t classes = config.size_or("num_classes", 10);
  graph.add_output(layers.linear(x, fmt::format("layers.{}", index), features, classes, "logits"), "logits");
  return graph;
}

constexpr ModelPreset kPresets[] = {
    {"mlp", R"({"num_features": 784, "widths": [256, 128], "activation": "relu", "num_classes": 10})"}};

}  // namespace

extern constinit const ModelDef mlp_def{.name = "mlp",
                                        .doc = "A multi-layer perceptron of chosen widths.",
                                        .architectures = "MLP",
                                        .presets = kPresets,
                                        .build = build_mlp};

}  // namespace hone
