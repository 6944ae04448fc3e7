// Gradients of whole models by all of their weights, against differences along random directions, in double.
#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"
#include "gradients/accumulate.h"
#include "models/find_model.h"
#include "models/random_weights.h"
#include "ops/calls/batch_norm.h"
#include "ops/calls/batch_norm_train.h"
#include "ops/evaluate.h"

namespace hone {
namespace {

using Tensors = std::map<std::string, Tensor>;

void double_dtypes(Graph& graph) {
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId id : nodes)
    if (graph.node(id).attributes.has("dtype") && graph.node(id).attributes.get<DType>("dtype") == DType::f32)
      graph.set_attribute(id, "dtype", DType::f64);
}

// The model with f64 for f32, its weights as parameters.
Graph in_double(Graph graph) {
  for (ValueId id : graph.constants()) {
    if (graph.type(id).dtype != DType::f32) continue;
    graph.set_constant(id, graph.constant(id)->converted(DType::f64));
    if (!graph.value(id).label.empty()) graph.make_parameter(id);
  }
  for (ValueId id : graph.inputs())
    if (TensorType type = graph.type(id); type.dtype == DType::f32) {
      type.dtype = DType::f64;
      graph.set_input_type(id, type);
    }
  double_dtypes(graph);
  graph.reinfer();
  verify(graph);
  return graph;
}

Graph with_statistics_of_batches(Graph graph) {
  for (NodeId id : graph.nodes(batch_norm_def)) {
    const Node node = graph.node(id);
    graph.set_insertion_point(id);
    const NodeId train = graph.add_node(batch_norm_train_def, node.operands, node.attributes);
    graph.set_insertion_point(kNone);
    graph.replace_all_uses(node.results[0], graph.result(train));
    graph.erase(id);
  }
  return graph;
}

Tensor random_doubles(Philox& rng, const std::vector<int64_t>& shape) {
  std::vector<double> values(static_cast<size_t>(element_count(shape)));
  for (double& value : values) value = 2 * rng.uniform() - 1;
  return Tensor::of<double>(shape, values);
}

double product(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_doubles(), y = b.to_doubles();
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

// The loss: the outputs times random weights, whose gradients those are.
class Model {
 public:
  Model(const Graph& graph, Tensors inputs) : graph_(graph), inputs_(std::move(inputs)) {
    for (ValueId id : graph_.inputs())
      if (graph_.value(id).role == InputRole::parameter) parameters_.push_back(id);
    for (const Tensor& output : evaluate(graph_, inputs_)) weights_.push_back(random_doubles(rng_, output.shape()));
  }

  Tensors gradients() {
    Graph graph = graph_;
    std::vector<Seed> seeds;
    for (size_t i = 0; i < weights_.size(); ++i)
      seeds.push_back({graph.outputs()[i].value, graph.add_constant("", weights_[i])});
    const std::vector<ValueId> found = accumulate_gradients(graph, seeds, parameters_);
    std::vector<Output> outputs;
    for (size_t i = 0; i < found.size(); ++i)
      if (found[i] != kNone) outputs.push_back({found[i], label(i)});
    graph.set_outputs(outputs);
    verify(graph);
    const std::vector<Tensor> values = evaluate(graph, inputs_);
    Tensors gradients;
    for (size_t i = 0; i < outputs.size(); ++i) gradients[outputs[i].label] = values[i];
    return gradients;
  }

  Tensors direction() {
    Tensors direction;
    for (size_t i = 0; i < parameters_.size(); ++i)
      direction[label(i)] = random_doubles(rng_, constant_shape(graph_.type(parameters_[i]).shape));
    return direction;
  }

  // What lies between the slope along a direction and the gradient times it, in parts of what that may be: at most 1.
  // Differences over h, 2h and 4h give two slopes that are off by a multiple of h^4; to that come roundings of the
  // loss, a thousand units over h. The steps are so small that hardly any of a few thousand kinks lies within them.
  double error(const Tensors& gradients, const Tensors& direction) {
    const double h = 0x1p-22;
    const auto slope = [&](double step) { return (loss(direction, step) - loss(direction, -step)) / (2 * step); };
    const double d1 = slope(h), d2 = slope(2 * h), d4 = slope(4 * h);
    const double fine = (4 * d1 - d2) / 3, coarse = (4 * d2 - d4) / 3;
    double found = 0;
    for (const auto& [name, gradient] : gradients) found += product(gradient, direction.at(name));
    const double allowed = std::abs(fine - coarse) + 1000 * 0x1p-53 * size() / h;
    EXPECT_LT(allowed, 1e-4 * std::abs(fine)) << "the bound says nothing";
    return std::abs(found - fine) / allowed;
  }

 private:
  std::string label(size_t parameter) const { return graph_.value(parameters_[parameter]).label; }

  double loss(const Tensors& direction, double step) {
    Tensors inputs = inputs_;
    for (ValueId id : parameters_) {
      const std::string& name = graph_.value(id).label;
      std::vector<double> values = graph_.value(id).initial->to_doubles();
      const std::vector<double> more = direction.at(name).to_doubles();
      for (size_t i = 0; i < values.size(); ++i) values[i] += step * more[i];
      inputs[name] = Tensor::of<double>(direction.at(name).shape(), values);
    }
    double sum = 0;
    const std::vector<Tensor> outputs = evaluate(graph_, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) sum += product(outputs[i], weights_[i]);
    return sum;
  }

  double size() {
    double sum = 0;
    for (const Tensor& output : evaluate(graph_, inputs_))
      for (double value : output.to_doubles()) sum += std::abs(value);
    return sum;
  }

  Graph graph_;
  Tensors inputs_;
  Philox rng_{5};
  std::vector<ValueId> parameters_;
  std::vector<Tensor> weights_;  // by output
};

Graph build(const char* text, std::vector<std::string> inputs = {}) {
  const Json config = Json::parse(text);
  return in_double(model_for(config, "c.json")
                       .build({.config = config,
                               .source = "c.json",
                               .inputs = std::move(inputs),
                               .pooling = {},
                               .weights = random_weights(3)}));
}

void expect_right(const Graph& graph, const Tensors& inputs) {
  Model model(graph, inputs);
  const Tensors gradients = model.gradients();
  for (int i = 0; i < 3; ++i) EXPECT_LE(model.error(gradients, model.direction()), 1);
}

Tensors images(const Graph& graph, std::vector<int64_t> shape) {
  Philox rng(9);
  return {{graph.value(graph.arguments()[0]).label, random_doubles(rng, shape)}};
}

constexpr const char* kResNet = R"({"architectures": ["ResNet"], "block": "basic", "depths": [1, 1], "widths": [3, 4],
  "stem": "small", "num_channels": 2, "image_size": 6, "num_classes": 3})";
constexpr const char* kBottleneck = R"({"architectures": ["ResNet"], "block": "bottleneck", "depths": [1, 1],
  "widths": [2, 3], "stem": "imagenet", "num_channels": 2, "image_size": 16, "num_classes": 3})";
constexpr const char* kMobileNet = R"({"architectures": ["MobileNetV3"], "num_channels": 2, "stem_width": 4,
  "hidden_size": 6, "num_classes": 3, "blocks": [[3, 6, 4, true, "relu", 2], [5, 8, 4, false, "hardswish", 1]]})";
constexpr const char* kConvNet =
    R"({"architectures": ["ConvNet"], "widths": [3, 4], "num_channels": 2, "image_size": 8, "num_classes": 3})";
constexpr const char* kBert = R"({"architectures": ["BertModel"], "vocab_size": 11, "hidden_size": 8,
  "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 6,
  "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-3})";

TEST(ModelGradients, OfImageClassifiersAreWhatDifferencesGive) {
  for (const char* config : {kResNet, kBottleneck, kMobileNet, kConvNet}) {
    SCOPED_TRACE(config);
    const Graph graph = build(config);
    const Tensors inputs = images(graph, {3, 2, 16, 16});
    expect_right(graph, inputs);
    expect_right(with_statistics_of_batches(graph), inputs);
  }
}

TEST(ModelGradients, OfABertAreWhatDifferencesGive) {
  const Graph graph = build(kBert);
  expect_right(graph, {{"input_ids", Tensor::of<int64_t>({2, 4}, {3, 1, 4, 10, 5, 9, 2, 0})},
                       {"attention_mask", Tensor::of<int64_t>({2, 4}, {1, 1, 1, 0, 1, 1, 1, 1})}});
}

TEST(ModelGradients, WithOneWeightsOffByAThousandthAreFound) {
  const Graph graph = build(kResNet);
  Model model(graph, images(graph, {3, 2, 16, 16}));
  Tensors gradients = model.gradients();
  for (const char* name : {"conv1.weight", "layer2.0.bn1.weight", "fc.bias"}) {
    Tensors faulty = gradients;
    std::vector<double> values = faulty.at(name).to_doubles();
    for (double& value : values) value *= 1.001;
    faulty[name] = Tensor::of<double>(faulty.at(name).shape(), values);
    EXPECT_GT(model.error(faulty, model.direction()), 1) << name;
  }
}

}  // namespace
}  // namespace hone
