// Runs a pass by its name and holds it to what it promises of the outputs: most keep them.
#pragma once

#include "passes/pipelines.h"
#include "tests/passes/kept_outputs.h"
#include "tests/passes/layer_statistics.h"
#include "tests/passes/pass_context.h"

namespace hone::test {

inline Graph without_fake_quant(Graph graph) {
  for (NodeId id : graph.nodes("fake_quant")) {
    graph.replace_all_uses(graph.result(id), graph.operand(id, 0));
    graph.erase(id);
  }
  return graph;
}

// One product a place.
inline bool is_depthwise(const Attributes& attributes, const Tensor& x, const Tensor& weights) {
  const int64_t groups = attributes.get_or<int64_t>("groups", 1);
  return x.dim(1) == groups && (groups > 1 || weights.dim(0) == 1);
}

// The outputs under bf16 compute: linear, matmul, attention and conv, unless depthwise, read f32 factors as bf16.
inline std::vector<Tensor> outputs_in_bf16(const Graph& graph, const std::map<std::string, Tensor>& inputs) {
  const Graph concrete = specialise(graph, bind_inputs(graph, inputs));
  std::vector<Tensor> values(concrete.value_capacity());
  for (ValueId v : concrete.constants()) values[static_cast<size_t>(v)] = *concrete.constant(v);
  for (ValueId v : concrete.inputs()) values[static_cast<size_t>(v)] = inputs.at(concrete.value(v).label);
  const std::map<std::string_view, size_t> factors{{"linear", 2},
                                                   {"matmul", 2},
                                                   {"conv", 2},
                                                   {"attention", 3},
                                                   {"conv_input_gradient", 2},
                                                   {"conv_weight_gradient", 2}};
  const auto reads_f32 = [](const Node& node, const std::vector<Tensor>& operands) {
    if (std::string_view(node.op->name) == "conv") return is_depthwise(node.attributes, operands[0], operands[1]);
    const int64_t groups = node.attributes.get_or<int64_t>("groups", 1);
    return node.attributes.has("groups") && groups > 1 && std::string_view(node.op->name).starts_with("conv_") &&
           operands[0].dim(node.attributes.get_or<int64_t>("channels_last", 0) ? -1 : 1) == groups;
  };
  for (NodeId n : concrete.nodes()) {
    const Node& node = concrete.node(n);
    std::vector<Tensor> operands;
    for (ValueId v : node.operands) operands.push_back(v == kNone ? Tensor() : values[static_cast<size_t>(v)]);
    const auto found = factors.find(node.op->name);
    if (found != factors.end() && !reads_f32(node, operands))
      for (size_t i = 0; i < found->second; ++i)
        if (operands[i].dtype() == DType::f32 && !operands[i].is_packed())
          operands[i] = operands[i].converted(DType::bf16);
    std::vector<const Tensor*> pointers;
    for (size_t i = 0; i < operands.size(); ++i) pointers.push_back(node.operands[i] == kNone ? nullptr : &operands[i]);
    const std::vector<Tensor> results = evaluate_node(*node.op, pointers, node.attributes, node.subgraphs);
    for (size_t i = 0; i < results.size(); ++i) values[static_cast<size_t>(node.results[i])] = results[i];
  }
  std::vector<Tensor> outputs;
  for (const Output& output : concrete.outputs()) outputs.push_back(values[static_cast<size_t>(output.value)]);
  return outputs;
}

inline void expect_outputs_in_bf16(const Graph& before, const Graph& after) {
  Philox rng(7);
  const std::map<std::string, Tensor> inputs = random_inputs(before, rng);
  const std::vector<Tensor> want = outputs_in_bf16(before, inputs), got = evaluate(after, inputs);
  ASSERT_EQ(want.size(), got.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(fault_of(got[i], {want[i], {}}), "") << "output " << i;
}

inline Graph run_verified(const PassDef& pass, const Graph& before) {
  if (!takes(pass, before)) return before;
  Philox rng(3);
  const Statistics statistics = layer_statistics(before, random_inputs(before, rng));
  Graph after = pass.run(before, context_for(pass, before, statistics));
  verify(after);
  return after;
}

inline Graph with_first_outputs(Graph graph, size_t count) {
  const std::vector<Output> outputs(graph.outputs().begin(), graph.outputs().end());
  graph.set_outputs({outputs.begin(), outputs.begin() + static_cast<ptrdiff_t>(std::min(count, outputs.size()))});
  return graph;
}

// Of passes that change numbers or outputs on purpose:
//   quantize       the graph is the same but for its fake_quants
//   differentiate  the graph's own outputs stand in front of gradients
//   set_compute    the graph's own nodes, by the reference, on rounded operands
// For the rest, what their results compute is what the graph computed, to within its roundings.
inline void expect_promise(const PassDef& pass, const Graph& before, const Graph& after) {
  const std::string_view name = pass.name;
  if (name == "quantize") expect_kept_outputs(without_fake_quant(before), without_fake_quant(after));
  else if (name == "differentiate") expect_kept_outputs(before, with_first_outputs(after, before.outputs().size()));
  else if (name == "set_compute") expect_outputs_in_bf16(before, after);
  else expect_kept_outputs(before, after);
}

}  // namespace hone::test
