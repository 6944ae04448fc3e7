// Rows of a table by index.
#include "formats/packed.h"
#include "kernels/gather/plan.h"
#include "kernels/lowering.h"
#include "ops/calls/quantize.h"

namespace hone {

namespace {

// A packed table as a matrix, [rows, columns]: one of more dimensions is, where its rows are made of whole groups.
Support packed_table(const TensorType& type, const Shape& shape, const Dim& rows, GatherPlan& plan) {
  const Format& format = *type.format;
  plan.table_format = to_string(format);
  const Geometry& g = format.geometry;
  const bool by_groups = g.kind == Geometry::Kind::group && (g.axis == -1 || g.axis == std::ssize(shape) - 1);
  if (shape.size() != 2) {
    const bool whole = by_groups && shape.back().is_constant() && g.columns > 0 &&
                       shape.back().constant() % g.columns == 0 && g.columns * format.element.bits % 8 == 0;
    if (!whole) return {"a packed table of other than 2 dimensions whose groups end inside a row"};
    Format matrix = format;
    matrix.geometry.axis = -1;
    plan.table_format = to_string(matrix);
  }
  if (!rows.is_constant() && !by_groups) return {"a packed table of open size"};
  plan.rows = rows.is_constant() ? rows.constant() : 1;  // groups along rows lie alike in any number of them
  return {};
}

}  // namespace

Support lower_gather(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(step.group.anchor);
  const bool every_row = node.op == &dequantize_def;
  const ValueId table = node.operands[0], ids = every_row ? kNone : node.operands[1];
  const TensorType& type = graph.type(table);
  const Shape shape = lowering.shape(table);
  if (shape.empty()) return {"a scalar table"};
  const int64_t attribute = node.attributes.get_or<int64_t>("axis", every_row ? -2 : 0),
                axis = std::max<int64_t>(0, attribute < 0 ? attribute + std::ssize(shape) : attribute);
  const Dim columns = element_count(Shape(shape.begin() + axis + 1, shape.end()));
  if (!columns.is_constant()) return {"rows whose length is open"};
  const Dim before = element_count(Shape(shape.begin(), shape.begin() + axis)),
            rows = every_row ? before * shape[static_cast<size_t>(axis)] : shape[static_cast<size_t>(axis)];
  GatherPlan plan{.columns = columns.constant(), .table = type.dtype, .every_row = every_row};
  if (every_row && shape.size() < 2) return {"a packed vector"};
  if (type.is_packed()) {
    if (axis != 0 && !every_row) return {"a packed table along another axis than the first"};
    if (Support r = packed_table(type, shape, rows, plan); !r.supported()) return r;
  }
  if (step.group.results.size() != 1) return {"several results"};
  const ValueId result = step.group.results[0];
  plan.result = graph.type(result).dtype;
  if (!every_row) plan.ids = graph.type(ids).dtype;
  if (plan.ids != DType::i64 && plan.ids != DType::i32) return {fmt::format("indices of {}", to_string(plan.ids))};
  lowering.bind(step, table);
  lowering.bind(step, table, type.is_packed() ? Plane::scales : Plane::none);
  lowering.bind(step, ids, every_row ? Plane::none : Plane::data);
  lowering.bind(step, result);
  if (type.is_packed()) lowering.bind(step, table, Plane::zero_points), lowering.bind(step, table, Plane::global);
  step.plan = plan;
  step.lasting = true;
  const Extent tables = lowering.extent(every_row ? Dim(1) : before), row_count = lowering.extent(rows),
               numbers = every_row ? row_count : lowering.count(lowering.shape(ids));
  prepared.place = [=](const RunSizes& sizes, StepCall& placed) {
    const int64_t ids_per_table = sizes.of(numbers);
    placed.set(GatherArgs{
        .results = sizes.of(tables) * ids_per_table, .rows = sizes.of(row_count), .ids_per_table = ids_per_table});
    return Support{};
  };
  return {};
}

}  // namespace hone
