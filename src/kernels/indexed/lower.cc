// Gathers and scatters of dense values.
#include "kernels/elements.h"
#include "kernels/indexed/plan.h"
#include "kernels/lowering.h"
#include "kernels/shapes.h"
#include "ops/calls/gather_elements.h"
#include "ops/calls/gather_nd.h"

namespace hone {
namespace {

IndexedPlan::Joins joins_of(const Node& node) {
  using Joins = IndexedPlan::Joins;
  const auto name = node.attributes.get_or<std::string>("reduction", "none");
  return name == "add"   ? Joins::add
         : name == "mul" ? Joins::mul
         : name == "min" ? Joins::min
         : name == "max" ? Joins::max
                         : Joins::replace;
}

}  // namespace

Support lower_indexed(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(step.group.anchor);
  const ValueId data = node.operands[0], indices = node.operands[1];
  IndexedPlan plan{.scatters = node.op == &scatter_nd_def || node.op == &scatter_elements_def,
                   .tuples = node.op == &gather_nd_def || node.op == &scatter_nd_def};
  if (node.attributes.get_or<int64_t>("batch_dims", 0) != 0) return {"slices of each sample of a batch"};
  if (plan.scatters) plan.joins = joins_of(node);
  for (ValueId v : node.operands)
    if (graph.type(v).is_packed()) return {fmt::format("%{} is packed", graph.value(v).name)};
  const DType dtype = graph.type(data).dtype;
  if (!has_machine_type(dtype)) return {fmt::format("elements of type {}", to_string(dtype))};
  if (plan.joins != IndexedPlan::Joins::replace) plan.dtype = dtype;
  const Shape shape = lowering.shape(data), index_shape = lowering.shape(indices);
  if (plan.tuples && !index_shape.back().is_constant()) return {"tuples of unknown length"};
  plan.rank = plan.tuples ? index_shape.back().constant() : std::ssize(index_shape);
  plan.indices = graph.type(indices).dtype;
  const int64_t bytes = size_bytes(dtype);
  const Shape strides = dense_strides(shape);
  Shape axes;  // IndexedArgs::axes
  Dim slice = bytes;
  if (plan.tuples) {
    for (int64_t i = 0; i < plan.rank; ++i) axes.push_back(shape[static_cast<size_t>(i)]);
    for (int64_t i = 0; i < plan.rank; ++i) axes.push_back(strides[static_cast<size_t>(i)] * bytes);
    slice = element_count(Shape(shape.begin() + plan.rank, shape.end())) * bytes;
  } else {
    const int64_t given = node.attributes.get_or<int64_t>("axis", 0);
    const auto axis = static_cast<size_t>(given < 0 ? given + std::ssize(shape) : given);
    axes = index_shape;
    for (size_t i = 0; i < shape.size(); ++i) axes.push_back(i == axis ? Dim(0) : strides[i] * bytes);
    axes.push_back(shape[axis]);
    axes.push_back(strides[axis] * bytes);
  }
  if (slice.is_constant()) plan.slice_bytes = slice.constant();
  lowering.bind(step, data);
  lowering.bind(step, indices);
  lowering.bind(step, plan.scatters ? node.operands[2] : kNone, plan.scatters ? Plane::data : Plane::none);
  lowering.bind(step, node.results[0]);
  if (plan.scatters && node.operands[2] != data) step.overwritable = {data};  // updates are read behind it
  step.plan = plan;
  step.lasting = true;
  const Shape tuples(index_shape.begin(), index_shape.end() - 1);
  const Extent items = lowering.extent(plan.tuples ? element_count(tuples) : index_shape[0]),
               slice_bytes = lowering.extent(slice), data_bytes = lowering.extent(element_count(shape) * bytes),
               index_count = lowering.count(index_shape);
  std::vector<Extent> extents;
  for (const Dim& number : axes) extents.push_back(lowering.extent(number));
  if (extents.size() > IndexedArgs().axes.size()) return {fmt::format("{} axes", plan.rank)};
  prepared.place = [=](const RunSizes& sizes, StepCall& placed) {
    IndexedArgs args{.tuples = sizes.of(items),
                     .slice_bytes = sizes.of(slice_bytes),
                     .data_bytes = sizes.of(data_bytes),
                     .index_count = sizes.of(index_count)};
    std::ranges::transform(extents, args.axes.begin(), [&](Extent e) { return sizes.of(e); });
    placed.set(args);
    return Support{};
  };
  return {};
}

}  // namespace hone
