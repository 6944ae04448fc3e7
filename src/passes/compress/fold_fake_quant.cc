// fake_quant over a constant: the constant is packed. Post-training quantization is `quantize` followed by this.
#include <algorithm>

#include "formats/learned_scale.h"
#include "formats/scale.h"
#include "ops/calls/cast.h"
#include "ops/calls/fake_quant.h"
#include "ops/evaluate.h"
#include "ops/scale_groups.h"
#include "passes/captures.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

// Plain formats (fp16, bf16) change the dtype of the constant, and with it that of some results, which keep their type
// by a cast.
void keep_result_types(Graph& graph, ValueId constant) {
  const std::vector<Graph::Use> uses = graph.uses(constant);
  std::vector<std::vector<TensorType>> before;
  for (const Graph::Use& use : uses) {
    before.emplace_back();
    for (ValueId result : graph.node(use.node).results) before.back().push_back(graph.type(result));
  }
  graph.reinfer();
  for (size_t i = 0; i < uses.size(); ++i) {
    const std::vector<ValueId> results = graph.node(uses[i].node).results;
    for (size_t r = 0; r < results.size(); ++r) {
      if (graph.type(results[r]).dtype == before[i][r].dtype) continue;
      const auto place = std::find(graph.nodes().begin(), graph.nodes().end(), uses[i].node) + 1;
      graph.set_insertion_point(place == graph.nodes().end() ? kNone : *place);
      const ValueId cast = ops::cast(graph, {.x = results[r], .dtype = before[i][r].dtype});
      graph.set_insertion_point(kNone);
      graph.replace_all_uses(results[r], cast);
      graph.set_operand(graph.producer(cast), 0, results[r]);
      graph.reinfer();
    }
  }
}

// A format that has no codes leaves plain values, rounded.
Tensor in_format(const Tensor& plain, const Format& format, const Packer& packer) {
  if (!is_fake_only(format)) return packer.pack(format, plain);
  const Tensor* operand = &plain;
  return evaluate_node(fake_quant_def, {&operand, 1}, {{"format", format}})[0];
}

const Tensor* given(const Graph& graph, NodeId id, size_t operand) {
  const std::vector<ValueId>& operands = graph.node(id).operands;
  return operand < operands.size() && operands[operand] != kNone ? graph.constant(operands[operand]) : nullptr;
}

bool has_scale(const Node& node) { return node.operands.size() > 1 && node.operands[1] != kNone; }

// A step of fixed point that is known is a matter of the format.
void fold_step(Graph& graph, NodeId id) {
  const Format format = graph.node(id).attributes.get<Format>("format");
  const Tensor* const step = given(graph, id, 1);
  if (!step || format.scale_kind != &no_scale) return;
  const Format stepped = with_step(format, step->to_floats()[0]);
  graph.set_insertion_point(id);
  const ValueId rounded = ops::fake_quant(graph, {.x = graph.operand(id, 0), .format = stepped});
  graph.set_insertion_point(kNone);
  replace_by_value(graph, id, rounded);
}

// By the constants that are given for its groups.
Tensor packed_by(const Graph& graph, NodeId id, const Tensor& plain, const Format& format) {
  const auto spread = [&](size_t operand) {
    const Tensor* const groups = given(graph, id, operand);
    return groups ? spread_over_groups(format, plain.shape(), groups->to_floats()) : std::vector<float>();
  };
  const Planes planes = pack_learned(format, plain.shape(), plain.to_floats(), {spread(1), spread(2)});
  return Tensor::packed(format, plain.shape(), Buffer::copy_of(planes.codes), Buffer::copy_of(planes.scales),
                        Buffer::copy_of(planes.zero_points), Buffer::copy_of(planes.global));
}

Graph fold_fake_quant(Graph graph, const PassContext& context) {
  const Packer reference;
  const Packer& packer = context.packer ? *context.packer : reference;
  for (NodeId id : graph.nodes(fake_quant_def))
    if (has_scale(graph.node(id))) fold_step(graph, id);
  for (NodeId id : graph.nodes(fake_quant_def)) {
    const ValueId source = graph.operand(id, 0);
    const Tensor* tensor = graph.constant(source);
    if (!tensor || (has_scale(graph.node(id)) && !given(graph, id, 1))) continue;
    const Format format = graph.node(id).attributes.get<Format>("format");
    const Tensor plain = tensor->is_packed() ? packer.unpack(*tensor) : *tensor;
    const ValueId packed = graph.add_constant(
        "", has_scale(graph.node(id)) ? packed_by(graph, id, plain, format) : in_format(plain, format, packer));
    replace_by_value(graph, id, packed);
    retype_captures(graph);
    graph.set_label(packed, derived_label(graph, source, "." + to_string(format)));
    if (!graph.type(packed).is_packed()) keep_result_types(graph, packed);
  }
  graph.erase_unused_constants();
  graph.reinfer();
  return graph;
}

}  // namespace

extern constinit const PassDef fold_fake_quant_def{
    .name = "fold_fake_quant",
    .doc =
        "fake_quant of a constant becomes a constant packed in that format (fp16, bf16: of that element type; "
        "compat=mase: plain values), by the scale that is given where there is one.",
    .run = fold_fake_quant};

}  // namespace hone
