// gather_gradient: rows summed where gather read them, the gradient of a table of embeddings.
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"shape", AttributeKind::shape, true, "of the table, and of the result; may be symbolic"},
    {"axis", AttributeKind::integer, false, "the axis of the table that was indexed; default 0"},
};

std::vector<TensorType> infer_gather_gradient(const InferArgs& a) {
  const Shape& table = a.attributes.get<Shape>("shape");
  expect_float(a[0], "d");
  expect_index(a[1], "the indices");
  expect_sizes(table, "shape");
  if (table.empty()) fail("the table is a scalar; accepted: at least 1 dimension");
  const size_t axis = checked_axis(a.attributes.get_or<int64_t>("axis", 0), table.size()), indices = a[1].rank();
  expect_rank(a[0], table.size() - 1 + indices, table.size() - 1 + indices, "d, of the shape that gather gives,");
  for (size_t i = 0; i < a[0].rank(); ++i) {
    const bool is_index = i >= axis && i < axis + indices;
    expect_dim(a[0].shape[i], is_index ? a[1].shape[i - axis] : table[i < axis ? i : i + 1 - indices],
               "a dimension of d, of the shape that gather gives,");
  }
  return {plain_type(a[0].dtype, table)};
}

std::vector<Tensor> eval_gather_gradient(const EvalArgs& a) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  const AxisView table = around_axis(sizes, checked_axis(a.attributes.get_or<int64_t>("axis", 0), sizes.size()));
  std::vector<int64_t> indices = a[1].to_integers();
  for (int64_t& index : indices) index = checked_index(index, table.length);
  const std::vector<double> d = a[0].to_doubles();
  std::vector<double> sums(static_cast<size_t>(element_count(sizes)), 0.0);
  const double* row = d.data();
  for (int64_t o = 0; o < table.outer; ++o)
    for (int64_t index : indices) {
      check_stop();
      double* sum = sums.data() + (o * table.length + index) * table.inner;
      for (int64_t j = 0; j < table.inner; ++j) sum[j] += *row++;
    }
  return {Tensor::from_doubles(a.results[0].dtype, sizes, sums)};
}

}  // namespace

extern constinit const OpDef gather_gradient_def{
    .name = "gather_gradient",
    .doc =
        "The gradient of a table of the given shape where d is that of gather(table, indices): zeros, to which each "
        "row "
        "of d is added at its index, in their order. Negative indices count from the end.",
    .operands = {"d", "indices"},
    .attributes = kAttributes,
    .infer = infer_gather_gradient,
    .eval = eval_gather_gradient};

}  // namespace hone
