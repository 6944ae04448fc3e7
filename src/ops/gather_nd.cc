// gather_nd and scatter_nd: the last axis of the indices holds tuples, each of which addresses a slice of the data.
#include "ops/elements.h"
#include "ops/rules.h"
#include "ops/scatter.h"

namespace hone {
namespace {

constexpr AttributeSpec kGatherAttributes[] = {
    {"batch_dims", AttributeKind::integer, false, "leading axes that data and indices share; default 0"}};
constexpr AttributeSpec kScatterAttributes[] = {kReduction};

// The shape of all slices: that of the indices without the tuples, then that of a slice. None where the length of a
// tuple is not known.
std::optional<Shape> shape_of_slices(const InferArgs& a, size_t batch_dims) {
  expect_index(a[1], "the indices");
  expect_rank(a[1], batch_dims + 1, SIZE_MAX, "the indices");
  expect_rank(a[0], batch_dims + 1, SIZE_MAX, "the data");
  for (size_t i = 0; i < batch_dims; ++i) expect_dim(a[1].shape[i], a[0].shape[i], "a batch dimension of the indices");
  const Dim& length = a[1].shape.back();
  if (!length.is_constant()) return std::nullopt;
  const size_t room = a[0].rank() - batch_dims;
  if (length.constant() < 1 || static_cast<size_t>(length.constant()) > room)
    fail("the last dimension of the indices is {}; accepted: 1 to {}, one index per axis", length.constant(), room);
  Shape shape(a[1].shape.begin(), a[1].shape.end() - 1);
  const size_t addressed = batch_dims + static_cast<size_t>(length.constant());
  shape.insert(shape.end(), a[0].shape.begin() + static_cast<ptrdiff_t>(addressed), a[0].shape.end());
  return shape;
}

size_t batch_dims_of(const Attributes& attributes) {
  const int64_t batch_dims = attributes.get_or<int64_t>("batch_dims", 0);
  if (batch_dims < 0) fail("batch_dims is {}; accepted: 0 or more", batch_dims);
  return static_cast<size_t>(batch_dims);
}

std::vector<TensorType> infer_gather_nd(const InferArgs& a) {
  const std::optional<Shape> shape = shape_of_slices(a, batch_dims_of(a.attributes));
  return {shape ? plain_type(a[0].dtype, *shape) : TensorType::unranked(a[0].dtype)};
}

std::vector<TensorType> infer_scatter_nd(const InferArgs& a) {
  expect_scatter(a[0], a[2], a.attributes);
  if (const std::optional<Shape> shape = shape_of_slices(a, 0)) {
    expect_rank(a[2], shape->size(), shape->size(), "the updates");
    for (size_t i = 0; i < shape->size(); ++i)
      expect_dim(a[2].shape[i], (*shape)[i], "a dimension of the updates, which have one slice per tuple,");
  }
  return {plain_type(a[0].dtype, a[0].shape)};
}

struct Slices {
  std::vector<int64_t> starts;  // positions of their first elements in the data
  int64_t elems = 1;            // in each
};

Slices slices_of(const Tensor& data, const Tensor& indices, size_t batch_dims) {
  const std::vector<int64_t>& sizes = data.shape();
  const std::vector<int64_t> strides = strides_of(sizes), values = indices.to_integers();
  const auto length = static_cast<size_t>(indices.dim(-1));
  int64_t batches = 1;
  for (size_t i = 0; i < batch_dims; ++i) batches *= sizes[i];
  Slices slices;
  for (size_t i = batch_dims + length; i < sizes.size(); ++i) slices.elems *= sizes[i];
  const size_t tuples = values.size() / length;
  for (size_t t = 0; t < tuples; ++t) {
    const int64_t batch = static_cast<int64_t>(t) * batches / static_cast<int64_t>(tuples);
    int64_t start = batch_dims == 0 ? 0 : batch * strides[batch_dims - 1];
    for (size_t i = 0; i < length; ++i)
      start += checked_index(values[t * length + i], sizes[batch_dims + i]) * strides[batch_dims + i];
    slices.starts.push_back(start);
  }
  return slices;
}

std::vector<Tensor> eval_gather_nd(const EvalArgs& a) {
  const Tensor data = plain(a[0]);
  const Slices slices = slices_of(data, a[1], batch_dims_of(a.attributes));
  ElementWriter out(data.dtype(), sizes_of(a.results[0]));
  for (int64_t start : slices.starts) out.append(data, start, slices.elems);
  return {out.finish()};
}

std::vector<Tensor> eval_scatter_nd(const EvalArgs& a) {
  const Slices slices = slices_of(a[0], a[1], 0);
  std::vector<int64_t> positions;
  for (int64_t start : slices.starts)
    for (int64_t i = 0; i < slices.elems; ++i) positions.push_back(start + i);
  return {scatter(a[0], positions, a[2], a.attributes)};
}

}  // namespace

extern constinit const OpDef gather_nd_def{
    .name = "gather_nd",
    .doc =
        "For every tuple of indices the slice of the data that it addresses, from the first axis on or from the one "
        "after the batch dimensions. Negative indices count from the end.",
    .operands = {"x", "indices"},
    .attributes = kGatherAttributes,
    .infer = infer_gather_nd,
    .eval = eval_gather_nd};
extern constinit const OpDef scatter_nd_def{
    .name = "scatter_nd",
    .doc =
        "The data with a slice of updates (third operand) for every tuple of indices (second) put where gather_nd "
        "would read.",
    .operands = {"x", "indices", "updates"},
    .attributes = kScatterAttributes,
    .infer = infer_scatter_nd,
    .eval = eval_scatter_nd};

}  // namespace hone
