// Whole models at reduced sizes on the emulated driver, each step by the device's own code.
#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"
#include "models/find_model.h"
#include "models/random_weights.h"
#include "ops/evaluate.h"
#include "runtime/session.h"
#include "tests/device_cuda/emulated.h"

namespace hone::test {
namespace {

Graph built(const Json& config) {
  return model_for(config, "config.json")
      .build({.config = config,
              .source = "config.json",
              .inputs = {},
              .pooling = {},
              .weights = random_weights(1),
              .has_weight = [](const std::string&) { return true; }});
}

// One layer of MiniLM, of its sizes but for the vocabulary.
const Json kMiniLmLayer = Json::parse(R"({"architectures": ["BertModel"], "vocab_size": 50, "hidden_size": 384,
  "num_hidden_layers": 1, "num_attention_heads": 12, "intermediate_size": 1536, "max_position_embeddings": 16,
  "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12})");
const Json kSmallResNet = Json::parse(R"({"architectures": ["ResNet"], "block": "basic", "depths": [1, 1],
  "widths": [8, 16], "stem": "small", "num_channels": 3, "num_classes": 5})");

NamedTensors texts(const Graph& graph, int64_t batch, int64_t length) {
  NamedTensors inputs;
  Philox random(2);
  for (ValueId v : graph.inputs()) {
    const std::string& label = graph.value(v).label;
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < batch * length; ++i)
      ids.push_back(label == "input_ids" ? static_cast<int64_t>(random.below(50)) : label == "attention_mask" ? 1 : 0);
    inputs.emplace(label, Tensor::of<int64_t>({batch, length}, ids));
  }
  return inputs;
}

NamedTensors images(const Graph& graph, std::vector<int64_t> shape) {
  std::vector<float> pixels(static_cast<size_t>(element_count(shape)));
  Philox random(3);
  for (float& pixel : pixels) pixel = random.uniform(-1, 1);
  return {{graph.value(graph.inputs()[0]).label, Tensor::of<float>(std::move(shape), pixels)}};
}

// By the oracle, up to roundings of sums of some thousand terms; and twice in the same bits, the second time as graphs.
void expect_runs_without_fallback(const Graph& graph, const NamedTensors& inputs, const char* settings) {
  SCOPED_TRACE(settings);
  const EmulatedCuda driver(settings);
  SessionOptions options{.device = open_device("cuda"), .no_fallback = true};
  Session session(graph, std::move(options));
  Context context;
  const std::vector<Tensor> expected = evaluate(graph, inputs), first = session.run(context, inputs);
  ASSERT_EQ(first.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::vector<float> values = first[i].to_floats(), exact = expected[i].to_floats();
    ASSERT_EQ(values.size(), exact.size());
    double largest = 0;
    for (float each : exact) largest = std::max(largest, std::abs(static_cast<double>(each)));
    for (size_t k = 0; k < values.size(); ++k) ASSERT_NEAR(values[k], exact[k], 1e-4 * largest) << i << " " << k;
    for (int run = 0; run < 2; ++run) EXPECT_EQ(session.run(context, inputs)[i].to_floats(), values);
  }
  EXPECT_GT(driver.count("graph_launches"), 0);
}

TEST(CudaModels, OneLayerOfMiniLm) {
  const Graph graph = built(kMiniLmLayer);
  const NamedTensors inputs = texts(graph, 2, 7);
  expect_runs_without_fallback(graph, inputs, "capability=8.0");
}

TEST(CudaModels, OneLayerOfMiniLmWithoutBf16) {
  const Graph graph = built(kMiniLmLayer);
  const NamedTensors inputs = texts(graph, 1, 5);
  expect_runs_without_fallback(graph, inputs, "capability=7.5");
}

TEST(CudaModels, ASmallResNet) {
  const Graph graph = built(kSmallResNet);
  const NamedTensors inputs = images(graph, {2, 3, 10, 10});
  expect_runs_without_fallback(graph, inputs, "capability=8.0");
}

}  // namespace
}  // namespace hone::test
