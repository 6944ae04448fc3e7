#include "jobs/predicted_size.h"

#include <map>
#include <optional>

#include "base/error.h"
#include "formats/packed.h"
#include "ir/graph.h"
#include "passes/compress/quantize.h"

namespace hone {
namespace {

using Largest = std::map<const Tensor*, double>;  // magnitude of each floating constant

int64_t packed_bytes(const Format& format, const std::vector<int64_t>& shape) {
  if (const std::optional<DType> plain = dtype_of_plain_format(format))
    return element_count(shape) * size_bytes(*plain);
  return plane_bytes(format, shape).total();
}

// Formats with scales adapt to any range; others end at their largest code.
bool beyond_range(const Format& format, const Tensor* constant, const Largest& largest) {
  if (format.scale.bits > 0) return false;
  const auto found = largest.find(constant);
  return found != largest.end() && found->second > format.codec->max(format.element);
}

void add(const Graph& graph, const QuantizationPlan& plan, const Largest& largest, PredictedSize& result) {
  for (const QuantizeChoice& choice : plan.constants) {
    if (choice.decided_by.starts_with("kept: larger")) ++result.larger;
    if (!choice.format) continue;
    const Tensor* constant = graph.constant(choice.value);
    ++result.tensors;
    result.bytes += packed_bytes(*choice.format, choice.shape) - constant->bytes();
    if (beyond_range(*choice.format, constant, largest)) ++result.saturated;
  }
  for (const BodyPlan& inner : plan.bodies)
    add(graph.node(inner.node).subgraphs[inner.body], inner.plan, largest, result);
}

}  // namespace

PredictedSize predict_size(const Graph& graph, const std::string& format, std::span<const WeightFacts> facts) {
  PredictedSize result{.format = format, .fault = {}};
  QuantizationPlan plan;
  try {
    plan = plan_quantization(graph, {.to = format});
  } catch (const Error& error) {
    result.fault = error.what();
    return result;
  }
  Largest largest;
  for (const WeightFacts& each : facts) largest[each.tensor] = each.largest;
  result.bytes = sizes(graph).weight_bytes;
  add(graph, plan, largest, result);
  return result;
}

}  // namespace hone
