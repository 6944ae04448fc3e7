// gather: embedding lookup and indexing along one axis.
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"axis", AttributeKind::integer, false, "the axis of the table that is indexed; default 0"}};

std::vector<TensorType> infer_gather(const InferArgs& a) {
  expect_index(a[1], "the indices");
  if (a[0].rank() == 0) fail("the table is a scalar; accepted: at least 1 dimension");
  const size_t axis = checked_axis(a.attributes.get_or<int64_t>("axis", 0), a[0].rank());
  const Shape &table = a[0].shape, &indices = a[1].shape;
  Shape shape(table.begin(), table.begin() + static_cast<ptrdiff_t>(axis));
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), table.begin() + static_cast<ptrdiff_t>(axis) + 1, table.end());
  return {plain_type(a[0].dtype, shape)};
}

// Rows of a packed table, decoded one by one: the table as a whole may be large.
Tensor gather_packed_rows(const Tensor& table, const std::vector<int64_t>& rows, const std::vector<int64_t>& sizes) {
  const int64_t row_elems = table.dim(0) == 0 ? 0 : table.elements() / table.dim(0);
  std::vector<float> values(static_cast<size_t>(row_elems) * rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    check_stop();
    unpack_range(*table.format(), table.shape(), table.planes(), rows[i] * row_elems,
                 std::span(values).subspan(i * static_cast<size_t>(row_elems), static_cast<size_t>(row_elems)));
  }
  return Tensor::from_floats(DType::f32, sizes, values);
}

std::vector<Tensor> eval_gather(const EvalArgs& a) {
  const size_t axis = checked_axis(a.attributes.get_or<int64_t>("axis", 0), a[0].shape().size());
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  std::vector<int64_t> indices = a[1].to_integers();
  for (int64_t& index : indices) index = checked_index(index, a[0].shape()[axis]);
  if (a[0].is_packed() && axis == 0) return {gather_packed_rows(a[0], indices, sizes)};
  const Tensor table = plain(a[0]);
  const AxisView view = around_axis(table.shape(), axis);
  ElementWriter out(table.dtype(), sizes);
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t index : indices) out.append(table, (o * view.length + index) * view.inner, view.inner);
  return {out.finish()};
}

}  // namespace

extern constinit const OpDef gather_def{.name = "gather",
                                        .doc =
                                            "table[..., indices, ...] along an axis: the indices' dimensions take the "
                                            "place of the axis. Negative indices count from "
                                            "the end; the table may be packed.",
                                        .operands = {weight("table"), indices("indices")},
                                        .attributes = kAttributes,
                                        .infer = infer_gather,
                                        .eval = eval_gather,
                                        .fits_all_sizes = [](const InferArgs&, const TensorType&) { return true; }};

}  // namespace hone
