// What follows from the plan of a row kernel.
#include <algorithm>

#include "base/multiples.h"
#include "codegen/element_cost.h"
#include "codegen/elements.h"
#include "codegen/kernels/row/plan.h"
#include "codegen/shapes.h"
#include "ir/graph.h"

namespace hone {
namespace {

Support supports(const RowPlan& plan, const Target&) {
  const size_t operands = plan.operands.size();
  if (operands + plan.results.size() > KernelArgs{}.pointers.size() || 2 + 2 * operands > KernelArgs{}.dims.size())
    return {
        fmt::format("{} operands and {} results do not fit the arguments of a kernel", operands, plan.results.size())};
  for (const RowPlan::Operand& operand : plan.operands)
    if (!has_machine_type(operand.dtype)) return {fmt::format("elements of type {}", to_string(operand.dtype))};
  bool indexed = uses_index(plan.program);
  for (const RowPlan::Step& step : plan.reductions) {
    indexed |= uses_index(step.element);
    if (step.element.result_type(0) == Scalar::boolean) return {"a reduction of booleans"};
  }
  if (indexed) return {"the element's index inside a row kernel"};
  CHECK(plan.program.results.size() == plan.results.size() && plan.scalar_results.size() == plan.results.size());
  return {};
}

Launch launch(const RowPlan& plan, const Target& target, KernelArgs& args) {
  Launch call{.items = args.dims[0]};
  double ns = element_ns(plan.program, static_cast<int>(plan.results.size()), target);
  for (size_t j = 0; j < plan.reductions.size(); ++j) {
    ns += element_ns(plan.reductions[j].element, 1, target);
    if (plan.reductions[j].keep) call.scratch_bytes += round_up(args.dims[1], 64) * kept_element_bytes(plan, j);
  }
  call.items_per_chunk =
      std::max<int64_t>(1, static_cast<int64_t>(20000 / (ns * static_cast<double>(args.dims[1]) + 10)));
  return call;
}

std::string describe(const RowPlan& plan, const Target&) {
  const auto kept = std::ranges::count_if(plan.reductions, &RowPlan::Step::keep);
  return fmt::format("{} pass{} over each row{}", plan.reductions.size() + 1, plan.reductions.empty() ? "" : "es",
                     kept ? ", elements kept between" : "");
}

bool keeps_rows(const Graph& graph, NodeId n) {
  return graph.type(graph.result(n)).shape == graph.type(graph.operand(n, 0)).shape;
}

bool works_on_rows(const Graph& graph, NodeId n) {
  const auto run = reduced_run(graph.node(n), graph.type(graph.operand(n, 0)).shape);
  return run && run->inner == Dim(1);
}

bool takes(const OpDef& op) { return op.row != nullptr; }

constexpr KernelClass<RowPlan> row{
    .name = "row",
    .doc = "reductions along rows and what is computed from them: norms, softmax, losses",
    .takes = takes,
    .precedence = 1,  // before window, which takes what has other axes behind it
    .group = {.takes_users = keeps_rows,
              .takes_producers = works_on_rows,
              .operand_fits = [](const Shape& operand,
                                 const Shape& like) { return row_access(operand, like).has_value(); }},
    .lower = lower_row,
    .supports = supports,
    .launch = launch,
    .describe = describe};

}  // namespace

extern constinit const KernelDef row_kernel_def = kernel_def<row>();

int64_t kept_element_bytes(const RowPlan& plan, size_t reduction) {
  return std::max(8, width_bits(plan.reductions[reduction].element.result_type(0))) / 8;
}

const KernelDef& RowPlan::kernel() { return row_kernel_def; }

}  // namespace hone
