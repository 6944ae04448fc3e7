// Epilogues of the classes that have one.
#include "kernels/lowering.h"
#include "kernels/shapes.h"

namespace hone {

Support Lowering::epilogue(StepFrame& step, Epilogue& plan, Expr sum, int first_operand, ValueId bias,
                           bool batched) const {
  const ValueId result = graph.result(step.group.anchor);
  ExprBuilderForGroup builder(graph, first_operand);
  if (bias != kNone) sum = sum + builder.get(bias);
  builder.define(result, sum);
  for (NodeId n : step.group.nodes)
    if (n != step.group.anchor) builder.apply(n);
  plan.program = program_of(builder, graph, step.group.results);
  plan.results = dtypes(step.group.results);
  for (ValueId v : builder.operands()) {
    const auto access = gemm_access(shape(v), shape(result));
    if (!access) return {fmt::format("operand %{} does not lie along the result", graph.value(v).name)};
    if (batched && *access == Epilogue::Access::row) return {"a per-row operand of a batched product"};
    plan.operands.push_back({graph.type(v).dtype, *access});
    if (*access == Epilogue::Access::full) step.overwritable.push_back(v);
    bind(step, v);
  }
  for (ValueId v : step.group.results) bind(step, v);
  return {};
}

}  // namespace hone
