#include "models/random_weights.h"

#include <cmath>

#include "base/error.h"
#include "base/hash.h"
#include "base/philox.h"
#include "base/stop.h"
#include "ops/calls/batch_norm.h"
#include "ops/evaluate.h"

namespace hone {
namespace {

Tensor uniform(Philox random, const std::vector<int64_t>& shape, float low, float high) {
  check_stop();
  Tensor tensor(DType::f32, shape);
  for (float& v : tensor.mutable_as<float>()) v = random.uniform(low, high);
  return tensor;
}

Tensor random_weight(uint64_t seed, const std::string& name, const std::vector<int64_t>& shape) {
  const Philox random(seed, hash_text(name));
  if (name.ends_with("running_mean")) return uniform(random, shape, 0, 0);
  if (name.ends_with("running_var")) return uniform(random, shape, 1, 1);
  if (name.ends_with("bias")) return uniform(random, shape, -0.1f, 0.1f);
  if (shape.size() < 2) return uniform(random, shape, 0.5f, 1.5f);
  const auto fan_in = static_cast<double>(element_count(shape) / shape[0]);
  const auto limit = static_cast<float>(std::sqrt(6 / fan_in));  // a uniform of [-a, a) has variance a^2 / 3
  return uniform(random, shape, -limit, limit);
}

struct Moments {
  Tensor mean, variance;
};

// Of each channel of x [N,C,...].
Moments moments_of_channels(const Tensor& x) {
  const int64_t channels = x.dim(1), plane = x.elements() / (x.dim(0) * channels);
  const auto count = static_cast<double>(x.dim(0) * plane);
  const std::vector<double> values = x.to_doubles();
  std::vector<double> means, variances;
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0, squares = 0;
    for (int64_t n = 0; n < x.dim(0); ++n)
      for (int64_t i = 0; i < plane; ++i) {
        const double v = values[static_cast<size_t>((n * channels + c) * plane + i)];
        sum += v, squares += v * v;
      }
    means.push_back(sum / count);
    variances.push_back(squares / count - means.back() * means.back());
  }
  return {Tensor::from_doubles(DType::f32, {channels}, means), Tensor::from_doubles(DType::f32, {channels}, variances)};
}

}  // namespace

WeightSource random_weights(uint64_t seed) {
  return
      [seed](const std::string& name, const std::vector<int64_t>& shape) { return random_weight(seed, name, shape); };
}

void settle_batch_norms(Graph& graph, const Bindings& sizes, uint64_t seed) {
  const Graph concrete = specialise(graph, sizes);
  std::vector<Tensor> values(concrete.value_capacity());
  const auto at = [&](ValueId v) -> Tensor& { return values[static_cast<size_t>(v)]; };
  for (ValueId v : concrete.constants()) at(v) = *concrete.constant(v);
  for (ValueId v : concrete.inputs()) {
    Philox random(seed, hash_text(concrete.value(v).label));
    at(v) = Tensor(DType::f32, constant_shape(concrete.type(v).shape));
    for (float& x : at(v).mutable_as<float>()) x = random.normal();
  }
  for (NodeId n : concrete.nodes()) {
    check_stop();
    const Node& node = concrete.node(n);
    if (node.op == &batch_norm_def) {
      Moments moments = moments_of_channels(at(node.operands[0]));
      at(node.operands[3]) = std::move(moments.mean);
      at(node.operands[4]) = std::move(moments.variance);
      for (size_t i : {3, 4}) {
        const ValueId statistic = graph.find_constant(concrete.value(node.operands[i]).label);
        CHECK(statistic != kNone, "batch_norm of {} has statistics that are no weights", concrete.name);
        graph.set_constant(statistic, at(node.operands[i]));
      }
    }
    std::vector<const Tensor*> operands;
    for (ValueId v : node.operands) operands.push_back(v == kNone ? nullptr : &at(v));
    std::vector<Tensor> results = evaluate_node(*node.op, operands, node.attributes);
    for (size_t i = 0; i < results.size(); ++i) at(node.results[i]) = std::move(results[i]);
  }
}

}  // namespace hone
