// Rows of a table by index.
#include "codegen/kernels/gather/plan.h"
#include "codegen/lowering.h"

namespace hone {

Refusal Lowering::gather(Step& step) const {
  const Node& node = graph.node(step.group.anchor);
  const ValueId table = node.operands[0], ids = node.operands[1];
  const TensorType& type = graph.type(table);
  const std::vector<int64_t> shape = shape_of(graph, table);
  if (shape.empty()) return {"a scalar table"};
  const int64_t attribute = node.attributes.get_or<int64_t>("axis", 0),
                axis = attribute < 0 ? attribute + std::ssize(shape) : attribute;
  GatherPlan plan;
  plan.columns = element_count(std::vector(shape.begin() + axis + 1, shape.end()));
  plan.table = type.dtype;
  if (type.is_packed()) {
    if (shape.size() != 2 || axis != 0) return {"a packed table that is not [rows, columns]"};
    plan.table_format = to_string(*type.format);
    plan.rows = shape[0];
  }
  plan.ids = graph.type(ids).dtype;
  plan.result = graph.type(node.results[0]).dtype;
  if (plan.ids != DType::i64 && plan.ids != DType::i32) return {fmt::format("indices of {}", to_string(plan.ids))};
  step.dims[2] = element_count(shape_of(graph, ids));
  step.dims[1] = shape[static_cast<size_t>(axis)];
  step.dims[0] = element_count(std::vector(shape.begin(), shape.begin() + axis)) * step.dims[2];
  bind(step, table);
  bind(step, table, type.is_packed() ? Plane::scales : Plane::none);
  bind(step, ids);
  bind(step, node.results[0]);
  if (type.is_packed()) bind(step, table, Plane::zero_points), bind(step, table, Plane::global);
  step.plan = plan;
  return {};
}

}  // namespace hone
