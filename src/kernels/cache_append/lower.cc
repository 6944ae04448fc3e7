// Rows appended to paged sequences: a copy of the pages, which is left out where they are written over, and the new
// rows.
#include "formats/packed.h"
#include "kernels/cache_append/plan.h"
#include "kernels/lowering.h"

namespace hone {
namespace {

constexpr Plane kPlanesOf[] = {Plane::data, Plane::scales, Plane::zero_points};

// By plane. Rows share no group and no byte (op cache_append).
std::array<int64_t, 3> bytes_of_row(const TensorType& type, const std::vector<int64_t>& row) {
  if (!type.is_packed()) return {element_count(row) * size_bytes(type.dtype), 0, 0};
  const PlaneBytes bytes = plane_bytes(*type.format, row);
  return {bytes.codes, bytes.scales, bytes.zero_points};
}

}  // namespace

Support lower_cache_append(const Lowering& lowering, Prepared& prepared) {
  const Graph& graph = lowering.graph;
  std::vector<StepDraft>& steps = prepared.steps;
  const Node& node = graph.node(steps[0].group.anchor);
  const ValueId pages = node.operands[0], rows = node.operands[1], table = node.operands[2], lengths = node.operands[3];
  const TensorType& type = graph.type(pages);
  if (graph.constant(pages) || graph.constant(rows)) return {"pages or rows that are a constant"};
  if (type.dtype == DType::string) return {"rows of strings"};
  const Shape shape = lowering.shape(pages), new_rows = lowering.shape(rows), pages_of = lowering.shape(table);
  Shape row(shape.begin() + 2, shape.end());
  if (!is_constant(row)) return {"rows whose length is open"};
  if (row.empty()) row = {Dim(1)};
  const std::array<int64_t, 3> bytes = bytes_of_row(type, constant_shape(row));
  CacheAppendPlan plan{.table = graph.type(table).dtype, .lengths = graph.type(lengths).dtype, .planes = 3};
  while (plan.planes > 1 && bytes[static_cast<size_t>(plan.planes) - 1] == 0) --plan.planes;
  steps.assign(2, StepDraft(steps[0]));
  for (StepDraft& step : steps) {
    step.copies = &step == &steps[0];
    plan.task = step.copies ? CacheAppendPlan::Task::copy : CacheAppendPlan::Task::append;
    step.plan = plan;
    step.lasting = true;
    for (const ValueId v : {step.copies ? pages : rows, node.results[0]})
      for (int p = 0; p < 3; ++p)
        lowering.bind(step, p < plan.planes ? v : kNone, p < plan.planes ? kPlanesOf[p] : Plane::none);
    for (const ValueId v : {table, lengths})
      lowering.bind(step, step.copies ? kNone : v, step.copies ? Plane::none : Plane::data);
  }
  steps[0].overwritable = {pages};
  const Extent sequences = lowering.extent(new_rows[0]), row_count = lowering.extent(new_rows[1]),
               page_rows = lowering.extent(shape[1]), sequence_pages = lowering.extent(pages_of[1]),
               page_count = lowering.extent(shape[0]);
  prepared.place = [=](const RunSizes& sizes, StepCall& placed) {
    placed.set(CacheAppendArgs{.sequences = sizes.of(sequences),
                               .new_rows = sizes.of(row_count),
                               .page_rows = sizes.of(page_rows),
                               .sequence_pages = sizes.of(sequence_pages),
                               .pages = sizes.of(page_count),
                               .row_bytes = bytes});
    return Support{};
  };
  return {};
}

}  // namespace hone
