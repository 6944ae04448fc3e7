#include "models/layers.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "ops/calls/activations.h"
#include "ops/calls/cast.h"
#include "ops/calls/linear.h"
#include "ops/calls/rounding.h"
#include "ops/calls/transcendental.h"

namespace hone {

ValueId LayerBuilder::weight(const std::string& name, const std::vector<int64_t>& shape) {
  const ValueId known = graph_.find_constant(name);
  if (known != kNone) return known;
  const Tensor tensor = request_.weights(name, shape);
  if (!is_float(tensor.dtype()))
    fail("{}: weight \"{}\" holds {}; accepted: f64, f32, f16, bf16", request_.source, name, to_string(tensor.dtype()));
  return graph_.add_constant(name, tensor);
}

ValueId LayerBuilder::as_f32(ValueId x) {
  return graph_.type(x).dtype == DType::f32 ? x : ops::cast(graph_, {.x = x, .dtype = DType::f32});
}

ValueId LayerBuilder::only_input(const std::string& name, const Shape& shape) {
  const std::vector<std::string>& wanted = request_.inputs;
  if (!wanted.empty() && wanted != std::vector{name})
    fail("inputs {}: this model takes one input, {}", fmt::join(wanted, ", "), name);
  return graph_.add_input(name, {.dtype = DType::f32, .shape = shape, .format = {}});
}

ValueId LayerBuilder::linear(ValueId x, const std::string& name, int64_t inputs, int64_t outputs,
                             const std::string& result) {
  const ValueId w = weight(name + ".weight", {outputs, inputs}), b = weight(name + ".bias", {outputs});
  return ops::linear(graph_, {.x = x, .w = w, .b = b}, result);
}

ValueId LayerBuilder::unbiased_linear(ValueId x, const std::string& name, int64_t inputs, int64_t outputs,
                                      const std::string& result) {
  return ops::linear(graph_, {.x = x, .w = weight(name + ".weight", {outputs, inputs})}, result);
}

namespace {

struct Activation {
  const char* name;
  ValueId (*emit)(Graph& graph, ValueId x);
};

constexpr auto kTanhGelu = [](Graph& g, ValueId x) { return ops::gelu(g, {.x = x, .approximate = "tanh"}); };
constexpr auto kSilu = [](Graph& g, ValueId x) { return ops::silu(g, {.x = x}); };

constexpr Activation kActivations[] = {
    {"gelu", [](Graph& g, ValueId x) { return ops::gelu(g, {.x = x, .approximate = "none"}); }},
    {"gelu_new", kTanhGelu},
    {"gelu_fast", kTanhGelu},
    {"gelu_pytorch_tanh", kTanhGelu},
    {"quick_gelu", [](Graph& g, ValueId x) { return ops::silu(g, {.x = x, .alpha = 1.702}); }},  // CLIP's, of sigmoid
    {"relu", [](Graph& g, ValueId x) { return ops::relu(g, {x}); }},
    {"relu6", [](Graph& g, ValueId x) { return ops::clip(g, {.x = x, .min = 0.0, .max = 6.0}); }},
    {"silu", kSilu},
    {"swish", kSilu},
    {"hardswish", [](Graph& g, ValueId x) { return ops::hard_swish(g, {x}); }},
    {"tanh", [](Graph& g, ValueId x) { return ops::tanh(g, {x}); }},
    {"sigmoid", [](Graph& g, ValueId x) { return ops::sigmoid(g, {x}); }}};

}  // namespace

ValueId LayerBuilder::activation(ValueId x, const std::string& name) {
  std::vector<std::string> names;
  for (const Activation& known : kActivations) {
    if (name == known.name) return known.emit(graph_, x);
    names.emplace_back(known.name);
  }
  fail("{}: activation \"{}\" is not known; accepted: {}{}", request_.source, name, fmt::join(names, ", "),
       did_you_mean(name, names));
}

}  // namespace hone
