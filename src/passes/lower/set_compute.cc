#include <algorithm>
#include <map>

#include "ops/calls/cast.h"
#include "ops/calls/conv.h"
#include "ops/calls/conv_gradient.h"
#include "ops/sliding_window.h"
#include "passes/lower/set_compute.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/pipelines.h"

namespace hone {
namespace {

void check_compute(const std::string& text) { parse_compute(text); }

constexpr OptionField<SetComputeOptions> kFields[] = {
    {"compute", "what products read activations in: f32 or bf16", &SetComputeOptions::compute, check_compute, true},
};

// One product a place: too few to be worth rounding for. Windows of one channel over one channel count among them.
bool is_depthwise(const Graph& graph, const Node& conv) {
  const Shape x = channels_first(conv.attributes, graph.type(conv.operands[0]).shape);
  const int64_t groups = conv.attributes.get_or<int64_t>("groups", 1);
  return x[1] == Dim(groups) && (groups > 1 || graph.type(conv.operands[1]).shape[0] == Dim(1));
}

// One output a group, of one channel for the most part.
bool is_gradient_of_depthwise(const Graph& graph, const Node& gradient) {
  const int64_t groups = gradient.attributes.get_or<int64_t>("groups", 1);
  return groups > 1 && channels_first(gradient.attributes, graph.type(gradient.operands[0]).shape)[1] == Dim(groups);
}

// How many leading operands of the node are products' operands. Those of a convolution's gradients are (roles of
// operands say what passes may quantize, which gradients' aren't).
size_t computed_operands(const Graph& graph, const Node& node) {
  if (node.op == &conv_input_gradient_def || node.op == &conv_weight_gradient_def)
    return graph.type(node.operands[0]).rank() < 3 || is_gradient_of_depthwise(graph, node) ? 0 : 2;
  if (node.op == &conv_def &&
      (graph.type(node.operands[0]).rank() < 3 || graph.type(node.operands[1]).rank() < 2 || is_depthwise(graph, node)))
    return 0;
  return static_cast<size_t>(node.op->operands.factors());
}

ValueId rounded(Graph& graph, ValueId x, NodeId before) {
  if (const Tensor* constant = graph.constant(x))
    return graph.add_constant(derived_label(graph, x, ".bf16"), constant->converted(DType::bf16));
  graph.set_insertion_point(before);
  const ValueId cast = ops::cast(graph, {.x = x, .dtype = DType::bf16});
  graph.set_insertion_point(kNone);
  return cast;
}

Graph set_compute(Graph graph, const PassContext&, const SetComputeOptions& options) {
  if (parse_compute(options.compute) == Compute::f32) return graph;
  std::map<ValueId, ValueId> in_bf16;
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId id : nodes) {
    const std::vector<ValueId> operands = graph.node(id).operands;
    for (size_t i = 0; i < std::min(computed_operands(graph, graph.node(id)), operands.size()); ++i) {
      const ValueId x = operands[i];
      if (x == kNone || graph.type(x).is_packed() || graph.type(x).dtype != DType::f32) continue;
      if (!in_bf16.contains(x)) in_bf16[x] = rounded(graph, x, id);
      graph.set_operand(id, static_cast<int>(i), in_bf16[x]);
    }
  }
  graph.erase_unused_constants();
  graph.reinfer();
  return graph;
}

}  // namespace

std::span<const OptionField<SetComputeOptions>> SetComputeOptions::fields() { return kFields; }

extern constinit const PassDef set_compute_def{
    .name = "set_compute",
    .doc =
        "Under bf16 compute, linear, matmul, attention, conv and conv's "
        "gradients (unless depthwise) read f32 activations through a cast to bf16 and plain "
        "weights rounded to it; results stay f32.",
    .run = with_options<set_compute>};

}  // namespace hone
