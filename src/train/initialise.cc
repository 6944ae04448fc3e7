#include "train/initialise.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "base/philox.h"
#include "base/stop.h"
#include "ops/calls/batch_norm.h"
#include "train/parameters.h"

namespace hone {
namespace {

Tensor filled(const std::vector<int64_t>& shape, float value) {
  Tensor tensor(DType::f32, shape);
  for (float& v : tensor.mutable_as<float>()) v = value;
  return tensor;
}

// Of what is no weight: what multiplies begins as 1, what is added as 0.
float begins_as(const StoredTensor& tensor) {
  if (tensor.role == ParameterRole::slope) return 0.25f;
  return tensor.multiplies ? 1.0f : 0.0f;
}

Tensor new_value(const StoredTensor& stored, uint64_t seed) {
  check_stop();
  const std::vector<int64_t>& shape = stored.shape;
  if (!stored.decays) return filled(shape, begins_as(stored));
  Philox random(seed, hash_text(stored.name));
  Tensor tensor(DType::f32, shape);
  const auto inputs = static_cast<double>(tensor.elements() / std::max<int64_t>(shape.empty() ? 1 : shape[0], 1));
  const auto limit = static_cast<float>(std::sqrt((stored.ops.contains("conv") ? 6 : 1) / inputs));
  for (float& v : tensor.mutable_as<float>())
    v = stored.ops.contains("gather") ? 0.02f * random.normal() : random.uniform(-limit, limit);
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
  const std::vector<StoredTensor> stored = stored_tensors(model);
  for (const StoredTensor& tensor : stored)
    if (tensor.why_not.empty()) model.set_constant(tensor.id, new_value(tensor, seed));
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
