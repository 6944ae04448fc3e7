// Rows of a table by index.
#include "codegen/lowering.h"

namespace hone {

Refusal Lowering::gather(Step& step) const {
  const Node& node = graph.node(step.group.anchor);
  const ValueId table = node.operands[0], ids = node.operands[1];
  const TensorType& type = graph.type(table);
  if (node.attributes.get_or<int64_t>("axis", 0) != 0) return {"it gathers along another axis than the first"};
  const std::vector<int64_t> shape = shape_of(graph, table);
  if (shape.empty()) return {"a scalar table"};
  GatherPlan plan;
  plan.columns = 1;
  for (size_t i = 1; i < shape.size(); ++i) plan.columns *= shape[i];
  plan.table = type.dtype;
  if (type.is_packed()) {
    if (shape.size() != 2) return {"a packed table that is not [rows, columns]"};
    plan.table_format = to_string(*type.format);
  }
  plan.ids = graph.type(ids).dtype;
  plan.result = graph.type(node.results[0]).dtype;
  if (plan.ids != DType::i64 && plan.ids != DType::i32) return {fmt::format("indices of {}", to_string(plan.ids))};
  step.dims[0] = 1;
  for (int64_t n : shape_of(graph, ids)) step.dims[0] *= n;
  step.dims[1] = shape[0];
  bind(step, table);
  bind(step, table, type.is_packed() ? Plane::scales : Plane::none);
  bind(step, ids);
  bind(step, node.results[0]);
  step.plan = plan;
  return {};
}

}  // namespace hone
