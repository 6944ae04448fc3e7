// Graphs as texts, held to the reference on made-up inputs and constants.
#pragma once

#include "tests/conformance/conform.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/op_cases.h"

namespace hone::test {

// A graph text whose input types have constant shapes, with random inputs of a size that keeps activations in range;
// integer inputs are below 7. `constants` fills in `const "name"`. `expected_step`: a part of "kind ops; " of the steps
// that it becomes, "" for any.
inline void expect_text_conforms(const std::string& text, const NamedTensors& constants = {},
                                 const SessionOptions& options = {}, const std::string& expected_step = "") {
  ParseContext context = op_context();
  context.find_constant = [&](const std::string& name, const TensorType& type) -> std::optional<Tensor> {
    if (const auto found = constants.find(name); found != constants.end()) return found->second;
    Philox rng(name.size() * 131 + static_cast<uint64_t>(name[0]));
    return random_floats(rng, constant_shape(type.shape), type.dtype, -0.5f, 0.5f);
  };
  const Graph graph = parse_graph(text, context);
  Philox rng(5);
  NamedTensors inputs;
  for (ValueId v : graph.inputs()) {
    const TensorType& type = graph.type(v);
    inputs[graph.value(v).label] = is_float(type.dtype)
                                       ? random_floats(rng, constant_shape(type.shape), type.dtype)
                                       : random_integers(rng, constant_shape(type.shape), type.dtype, 0, 6);
  }
  expect_conforms(graph, inputs, options);
  if (expected_step.empty()) return;
  std::string steps;
  for (const StepProfile& step : run_session(graph, inputs, options).profile.steps)
    steps += step.kind + " " + step.ops + "; ";
  EXPECT_NE(steps.find(expected_step), std::string::npos) << steps;
}

}  // namespace hone::test
