// Gradients of gathers.
#include "kernels/add_rows/plan.h"
#include "kernels/lowering.h"

namespace hone {

Support lower_add_rows(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(step.group.anchor);
  const ValueId d = node.operands[0], ids = node.operands[1];
  const Shape table = lowering.shape(node.results[0]);
  const int64_t attribute = node.attributes.get_or<int64_t>("axis", 0),
                axis = attribute < 0 ? attribute + std::ssize(table) : attribute;
  const Dim columns = element_count(Shape(table.begin() + axis + 1, table.end())),
            tables = element_count(Shape(table.begin(), table.begin() + axis));
  if (!columns.is_constant()) return {"rows whose length is open"};
  if (graph.type(d).is_packed()) return {"packed rows"};
  AddRowsPlan plan;
  plan.product.n = columns.constant();
  plan.d = graph.type(d).dtype, plan.ids = graph.type(ids).dtype;
  lowering.bind(step, d);
  lowering.bind(step, ids);
  // The epilogue knows operands by column as those along the last axis.
  const bool matrix = axis + 2 == std::ssize(table);
  if (step.group.nodes.size() > 1 && !matrix) return {"nodes behind rows of several axes, or of one element"};
  const bool several = !(tables == Dim(1));
  if (Support r = lowering.epilogue(step, plan.product, Expr::arg(0, Scalar::f32), 1, kNone, several); !r.supported())
    return r;
  step.plan = plan;
  step.lasting = true;
  const Extent row_count = lowering.extent(table[static_cast<size_t>(axis)]), table_count = lowering.extent(tables),
               id_count = lowering.count(lowering.shape(ids));
  prepared.place = [=](const RunSizes& sizes, StepCall& placed) {
    placed.set(
        AddRowsArgs{.rows = sizes.of(row_count), .tables = sizes.of(table_count), .id_count = sizes.of(id_count)});
    return Support{};
  };
  return {};
}

}  // namespace hone
