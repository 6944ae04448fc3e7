// Gradients of attention.
#include "kernels/attention_gradient/plan.h"
#include "kernels/lowering.h"

namespace hone {

Support lower_attention_gradient(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(step.group.anchor);
  const ValueId mask = node.operands.size() > 4 ? node.operands[4] : kNone;
  AttentionOperands read;
  if (Support r = read_attention(lowering, node, mask, read); !r.supported()) return r;
  if (read.plan.is_packed()) return {"packed operands"};
  if (read.before != kSeesAll || read.plan.softcap != 0 || read.plan.mask == AttentionPlan::Mask::chosen ||
      read.plan.blind_is_zero || read.plan.value_dim != read.plan.head_dim)
    return {"a window, a soft cap, a boolean mask or values of another width than the keys"};
  if (graph.type(node.operands[3]).dtype != read.plan.dtype) return {"a gradient of another element type than q"};
  std::array<int64_t, 4> rows;
  for (size_t i = 0; i < 4; ++i) {
    lowering.bind(step, node.operands[i]);
    rows[i] = lowering.shape(node.operands[i])[2].constant();
  }
  lowering.bind(step, mask, mask == kNone ? Plane::none : Plane::data);
  for (ValueId v : node.results) lowering.bind(step, v);
  step.plan = AttentionGradientPlan{read.plan};
  step.lasting = true;
  prepared.place = [=](const RunSizes& sizes, StepCall& placed) {
    AttentionGradientArgs args{.row_strides = rows};
    read.write(sizes, args);
    placed.set(args);
    return Support{};
  };
  return {};
}

}  // namespace hone
