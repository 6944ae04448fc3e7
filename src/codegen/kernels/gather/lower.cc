// Rows of a table by index.
#include "codegen/kernels/gather/plan.h"
#include "codegen/lowering.h"

namespace hone {

Support lower_gather(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(step.group.anchor);
  const ValueId table = node.operands[0], ids = node.operands[1];
  const TensorType& type = graph.type(table);
  const Shape shape = lowering.shape(table);
  if (shape.empty()) return {"a scalar table"};
  const int64_t attribute = node.attributes.get_or<int64_t>("axis", 0),
                axis = attribute < 0 ? attribute + std::ssize(shape) : attribute;
  const Dim columns = element_count(Shape(shape.begin() + axis + 1, shape.end()));
  if (!columns.is_constant()) return {"rows whose length is open"};
  GatherPlan plan;
  plan.columns = columns.constant();
  plan.table = type.dtype;
  if (type.is_packed()) {
    if (shape.size() != 2 || axis != 0) return {"a packed table that is not [rows, columns]"};
    plan.table_format = to_string(*type.format);
    plan.rows = shape[0].constant();
  }
  plan.ids = graph.type(ids).dtype;
  plan.result = graph.type(node.results[0]).dtype;
  if (plan.ids != DType::i64 && plan.ids != DType::i32) return {fmt::format("indices of {}", to_string(plan.ids))};
  lowering.bind(step, table);
  lowering.bind(step, table, type.is_packed() ? Plane::scales : Plane::none);
  lowering.bind(step, ids);
  lowering.bind(step, node.results[0]);
  if (type.is_packed()) lowering.bind(step, table, Plane::zero_points), lowering.bind(step, table, Plane::global);
  step.plan = plan;
  step.lasting = true;
  const Extent tables = lowering.count(Shape(shape.begin(), shape.begin() + axis)),
               rows = lowering.extent(shape[static_cast<size_t>(axis)]), numbers = lowering.count(lowering.shape(ids));
  prepared.place = [=](const RunSizes& sizes, StepCall& placed) {
    auto& d = placed.dims;
    d[2] = sizes.of(numbers), d[1] = sizes.of(rows), d[0] = sizes.of(tables) * d[2];
    return Support{};
  };
  return {};
}

}  // namespace hone
