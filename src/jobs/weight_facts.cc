#include "jobs/weight_facts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/stop.h"
#include "formats/packed.h"
#include "ir/bodies.h"
#include "passes/compress/quantize.h"
#include "passes/layer.h"

namespace hone {
namespace {

template <class T>
void scan(std::span<const T> values, WeightFacts& facts) {
  for (const T& each : values) {
    const auto magnitude = std::fabs(static_cast<double>(each));
    if (magnitude <= std::numeric_limits<double>::max()) facts.largest = std::max(facts.largest, magnitude);
    else ++(std::isnan(magnitude) ? facts.nan : facts.inf);
  }
}

// A piece at a time: decoded, weights may be many times their stored size.
void scan_packed(const Tensor& tensor, WeightFacts& facts) {
  constexpr int64_t kPiece = int64_t{1} << 18;
  std::vector<float> values;
  for (int64_t begin = 0; begin < tensor.elements(); begin += kPiece) {
    check_stop();
    values.resize(static_cast<size_t>(std::min(kPiece, tensor.elements() - begin)));
    unpack_range(*tensor.format(), tensor.shape(), tensor.planes(), begin, values);
    scan(std::span<const float>(values), facts);
  }
}

WeightFacts facts_of(const Value& value) {
  const Tensor& tensor = *value.constant;
  WeightFacts facts{
      .tensor = &tensor, .name = value.label.empty() ? value.name : value.label, .elements = tensor.elements()};
  if (tensor.is_packed()) scan_packed(tensor, facts);
  else if (tensor.dtype() == DType::f32) scan(tensor.as<float>(), facts);
  else if (tensor.dtype() == DType::f64) scan(tensor.as<double>(), facts);
  else scan(std::span<const float>(tensor.to_floats()), facts);
  return facts;
}

// What training made: what quantize would pack, and biases. Other constants are parts of formulas, masks say, and
// infinities are at home in them.
std::set<ValueId> learned_constants(const Graph& graph) {
  std::set<ValueId> learned;
  for (const QuantizeChoice& choice : plan_quantization(graph, {.to = "fp32"}).constants)
    if (choice.decided_by == "to fp32") learned.insert(choice.value);
  for (const Layer& layer : layers_of(graph))
    for (ValueId v : {layer.weight, layer.bias})
      if (v != kNone) learned.insert(v);
  return learned;
}

}  // namespace

std::vector<WeightFacts> scan_weights(const Graph& graph) {
  std::vector<WeightFacts> facts;
  for_each_graph(graph, [&](const Graph& each) {
    const std::set<ValueId> learned = learned_constants(each);
    for (ValueId v : each.constants()) {
      if (!is_float(each.type(v).dtype) || each.type(v).container != Container::none) continue;
      check_stop();
      facts.push_back(facts_of(each.value(v)));
      facts.back().learned = learned.contains(v);
    }
  });
  return facts;
}

}  // namespace hone
