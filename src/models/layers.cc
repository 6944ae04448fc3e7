#include "models/layers.h"

#include <fmt/format.h>

#include <array>

#include "base/error.h"
#include "base/text.h"
#include "ops/calls/cast.h"
#include "ops/calls/linear.h"
#include "ops/registry.h"

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

ValueId LayerBuilder::activation(ValueId x, const std::string& name) {
  struct Known {
    const char *name, *op, *approximate;
  };
  static constexpr std::array<Known, 10> known{{{"gelu", "gelu", "none"},
                                                {"gelu_new", "gelu", "tanh"},
                                                {"gelu_fast", "gelu", "tanh"},
                                                {"gelu_pytorch_tanh", "gelu", "tanh"},
                                                {"relu", "relu", ""},
                                                {"silu", "silu", ""},
                                                {"swish", "silu", ""},
                                                {"hardswish", "hard_swish", ""},
                                                {"tanh", "tanh", ""},
                                                {"sigmoid", "sigmoid", ""}}};
  std::vector<std::string> names;
  for (const Known& k : known) {
    names.emplace_back(k.name);
    if (name != k.name) continue;
    Attributes attributes;
    if (*k.approximate) attributes.set("approximate", std::string(k.approximate));
    return graph_.emit(ops::get(k.op), {x}, attributes);
  }
  fail("{}: activation \"{}\" is not known; accepted: {}{}", request_.source, name, fmt::join(names, ", "),
       did_you_mean(name, names));
}

}  // namespace hone
