#include "jobs/default_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/checked.h"
#include "base/memory_limit.h"
#include "base/philox.h"
#include "base/stop.h"
#include "base/text.h"
#include "jobs/fitting_sizes.h"
#include "ops/calls/cross_entropy.h"
#include "ops/calls/gather.h"
#include "ops/elements.h"
#include "runtime/arena.h"

namespace hone {
namespace {

Tensor made_up(const Graph& graph, ValueId input, const std::vector<int64_t>& shape, Philox& random) {
  const Value& value = graph.value(input);
  const auto n = static_cast<size_t>(element_count(shape));
  const MemoryCharge charge(checked_mul(element_count(shape), sizeof(double)),
                            fmt::format("input \"{}\" [{}]", value.label, fmt::join(shape, ",")));
  if (is_float(value.type.dtype)) {
    std::vector<float> values(n);
    for (size_t i = 0; i < n; ++i) {
      if (i % kVisitsPerStop == 0) check_stop();
      values[i] = random.normal();
    }
    return Tensor::from_floats(value.type.dtype, shape, values);
  }
  if (value.type.dtype == DType::string) fail("input \"{}\" holds text; give it with --input or --text", value.label);
  const int64_t bound = indexed_rows(graph, input).value_or(1);  // only zero is safe when nothing says more
  const bool mask = value.label.find("mask") != std::string::npos || value.type.dtype == DType::boolean;
  std::vector<double> values(n);
  for (size_t i = 0; i < n; ++i) {
    if (i % kVisitsPerStop == 0) check_stop();
    values[i] = mask ? 1 : bound > 1 ? random.below(static_cast<uint32_t>(std::min<int64_t>(bound, UINT32_MAX))) : 0;
  }
  return Tensor::from_doubles(value.type.dtype, shape, values);
}

constexpr int64_t kChannels = 3, kImageSize = 224;  // of inputs [N,C,H,W]: colour, and what classifiers are trained on

// What the model notes of itself under `key`, a whole number above 0.
std::optional<int64_t> noted(const Graph& graph, const std::string& key) {
  const auto found = graph.metadata.find(key);
  if (found == graph.metadata.end()) return std::nullopt;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(found->second.data(), found->second.data() + found->second.size(), number);
  if (error != std::errc() || end != found->second.data() + found->second.size() || number < 1)
    fail("{} is \"{}\"; a whole number above 0 is needed", key, found->second);
  return number;
}

// Symbols of state, as it begins: their sizes where the graph says what that is (`is_set`), else 1.
Bindings sizes_of_state(const Graph& graph, bool is_set) {
  Bindings sizes;
  for (ValueId v : graph.inputs()) {
    const Value& value = graph.value(v);
    if (value.role != InputRole::state || value.initial.has_value() != is_set) continue;
    for (size_t axis = 0; axis < value.type.shape.size(); ++axis) {
      const Dim& dim = value.type.shape[axis];
      if (is_set && dim.is_symbol()) sizes.try_emplace(dim.to_string(), value.initial->dim(axis));
      std::vector<std::string> names;
      dim.collect_symbols(names);
      for (const std::string& name : names)
        if (!is_set) sizes.try_emplace(name, 1);
    }
  }
  return sizes;
}

Tensor zeros(const TensorType& type, const std::vector<int64_t>& shape) {
  if (!type.is_packed()) return Tensor(type.dtype, shape);
  const PlaneSizes sizes = plane_sizes(type, shape);
  std::array<Buffer, kPlanes> planes;
  for (size_t p = 0; p < kPlanes; ++p) planes[p] = Buffer(static_cast<size_t>(sizes[p]));
  return Tensor::packed(*type.format, shape, planes[0], planes[1], planes[2], planes[3]);
}

}  // namespace

std::optional<int64_t> indexed_rows(const Graph& graph, ValueId input) {
  for (const Graph::Use& use : graph.uses(input)) {
    const Node& node = graph.node(use.node);
    const OpDef* const op = node.op;
    if (op == &gather_def && use.operand == 1) {
      const auto axis = static_cast<size_t>(node.attributes.get_or<int64_t>("axis", 0));
      const Shape& table = graph.type(node.operands[0]).shape;
      if (axis < table.size() && table[axis].is_constant()) return table[axis].constant();
    }
    if (op != &cross_entropy_def || use.operand != 1) continue;
    const Shape& scores = graph.type(node.operands[0]).shape;  // empty where its rank is not known
    if (!scores.empty() && scores.back().is_constant()) return scores.back().constant();
  }
  return std::nullopt;
}

Bindings bind_symbols(const Graph& graph, const ShapeOptions& options) {
  const std::vector<std::string> symbols = graph.symbols();
  for (const auto& [name, size] : options.dims) {
    if (std::find(symbols.begin(), symbols.end(), name) == symbols.end())
      fail("the model has no dimension \"{}\"; it has {}{}", name,
           symbols.empty() ? "none" : fmt::format("{}", fmt::join(symbols, ", ")), did_you_mean(name, symbols));
    if (size < 1) fail("dimension {} is {}; at least 1 is needed", name, size);
  }
  const int64_t limit = noted(graph, "max_positions").value_or(std::numeric_limits<int64_t>::max());
  const int64_t image_size = noted(graph, "image_size").value_or(kImageSize);
  const int64_t sequence = options.sequence.value_or(std::min(options.usual_sequence, limit));
  if (options.batch < 1 || sequence < 1)
    fail("batch {} and sequence {}: at least 1 is needed", options.batch, sequence);
  const Bindings beside_constants = sizes_beside_constants(graph);
  const Bindings of_state = sizes_of_state(graph, true);
  Bindings bindings = options.dims;
  bindings.insert(of_state.begin(), of_state.end());
  std::vector<std::string> free;  // guessed, and might as well be more
  for (ValueId v : graph.arguments()) {
    const Shape& shape = graph.type(v).shape;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      std::vector<std::string> names;
      shape[axis].collect_symbols(names);
      const bool is_batch = axis == 0, is_channels = shape.size() == 4 && axis == 1;
      for (const std::string& name : names) {
        if (is_batch && options.batch > 1 && of_state.contains(name) && of_state.at(name) != options.batch)
          fail("batch {}: the model's state begins with {} = {}; leave --batch out", options.batch, name,
               of_state.at(name));
        if (bindings.contains(name)) continue;
        const auto known = beside_constants.find(name);
        const bool is_known = known != beside_constants.end() && !is_batch;
        bindings[name] = is_batch            ? options.batch
                         : is_known          ? known->second
                         : is_channels       ? kChannels
                         : shape.size() == 4 ? image_size
                         : axis == 1         ? sequence
                                             : 1;
        const bool is_sequence = axis == 1 && shape.size() != 4;
        if (!is_batch && !is_known && !is_channels && !(is_sequence && options.sequence)) free.push_back(name);
      }
    }
  }
  bindings.merge(sizes_of_state(graph, false));
  bindings = fitting_sizes(graph, bindings, free, limit);
  for (ValueId v : graph.arguments()) {
    const Shape& shape = graph.type(v).shape;
    if (shape.size() < 2 || limit == std::numeric_limits<int64_t>::max()) continue;
    const int64_t length = shape[1].evaluate(bindings);
    if (length > limit) fail("sequence {}: the model has {} positions; give --seq {} or less", length, limit, limit);
  }
  return bindings;
}

NamedTensors default_inputs(const Graph& graph, const Bindings& bindings, uint64_t seed) {
  NamedTensors inputs;
  uint64_t stream = 0;
  for (ValueId v : graph.arguments()) {
    Philox random(seed, stream++);
    inputs.emplace(graph.value(v).label, made_up(graph, v, evaluate(graph.type(v).shape, bindings), random));
  }
  for (ValueId v : graph.inputs())
    if (const Value& value = graph.value(v); value.role == InputRole::state && !value.initial)
      inputs.emplace(value.label, zeros(value.type, evaluate(value.type.shape, bindings)));
  return inputs;
}

}  // namespace hone
