#include "train/initialise.h"

#include <cmath>
#include <string_view>

#include "base/hash.h"
#include "base/philox.h"
#include "base/stop.h"
#include "ops/calls.h"
#include "train/parameter_groups.h"

namespace hone {
namespace {

Tensor filled(const std::vector<int64_t>& shape, float value) {
  Tensor tensor(DType::f32, shape);
  for (float& v : tensor.mutable_as<float>()) v = value;
  return tensor;
}

// By the first op that reads it, and as what.
Tensor new_value(const Graph& graph, ValueId id, uint64_t seed) {
  check_stop();
  const std::vector<int64_t>& shape = graph.constant(id)->shape();
  const Graph::Use use = graph.uses(id).front();
  const OpDef& op = *graph.node(use.node).op;
  const std::string_view role = op.operands.of(static_cast<size_t>(use.operand)).name;
  if (shape.size() < 2) return filled(shape, role == "scale" || role == "weight" ? 1 : 0);
  Philox random(seed, hash_text(graph.value(id).label));
  Tensor tensor(DType::f32, shape);
  const auto inputs = static_cast<double>(tensor.elements() / shape[0]);
  const auto limit = static_cast<float>(std::sqrt((&op == &conv_def ? 6 : 1) / inputs));
  for (float& v : tensor.mutable_as<float>())
    v = &op == &gather_def ? 0.02f * random.normal() : random.uniform(-limit, limit);
  return tensor;
}

}  // namespace

Tensor random_matrix(uint64_t seed, const std::string& name, int64_t rows, int64_t columns) {
  Philox random(seed, hash_text(name));
  const auto limit = static_cast<float>(1 / std::sqrt(static_cast<double>(columns)));
  Tensor tensor(DType::f32, {rows, columns});
  for (float& v : tensor.mutable_as<float>()) v = random.uniform(-limit, limit);
  return tensor;
}

Graph with_new_weights(Graph model, uint64_t seed) {
  for (const ParameterGroup& group : choose_trainable(model, {}).groups)
    for (ValueId id : group.parameters) model.set_constant(id, new_value(model, id, seed));
  for (NodeId id : model.nodes(batch_norm_def))
    for (size_t i : {3u, 4u}) {
      const ValueId statistic = model.operand(id, static_cast<int>(i));
      if (const Tensor* tensor = model.constant(statistic))
        model.set_constant(statistic, filled(tensor->shape(), i == 4 ? 1 : 0));
    }
  model.metadata.erase("random_weights");
  model.reinfer();
  return model;
}

}  // namespace hone
