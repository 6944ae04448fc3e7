// tensor_scatter: new rows written into a cache of fixed size, for each sample of a batch where its own end is.
#include "base/checked.h"
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"axis", AttributeKind::integer, false, "of the rows; not the first; default -2"},
    {"circular", AttributeKind::integer, false, "1: rows past the end go on at the start; default 0"},
};

size_t axis_of(const Attributes& attributes, size_t rank) {
  const size_t axis = hone::checked_axis(attributes.get_or<int64_t>("axis", -2), rank);
  if (axis == 0) fail("axis is the first, which holds the batch; accepted: the others");
  return axis;
}

std::vector<TensorType> infer_tensor_scatter(const InferArgs& a) {
  const TensorType &cache = a[0], &update = a[1];
  if (update.dtype != cache.dtype)
    fail("the update is {} but the cache {}; element types must be equal", to_string(update), to_string(cache));
  expect_rank(update, cache.rank(), cache.rank(), "the update");
  const size_t axis = axis_of(a.attributes, cache.rank());
  for (size_t i = 0; i < cache.rank(); ++i)
    if (i != axis) expect_dim(update.shape[i], cache.shape[i], "a dimension of the update, that of the cache,");
  if (a.has(2)) {
    expect_index(a[2], "the write indices");
    expect_rank(a[2], 1, 1, "the write indices");
    expect_dim(a[2].shape[0], cache.shape[0], "the number of write indices, one per sample,");
  }
  return {plain_type(cache.dtype, cache.shape)};
}

// Which row of the update each row of the cache takes, -1 where it stays.
std::vector<int64_t> rows_written(int64_t first, int64_t count, int64_t room, bool circular) {
  if (count > room) fail("the update has {} rows; the cache has {}", count, room);
  std::vector<int64_t> taken(static_cast<size_t>(room), -1);
  if (count == 0) return taken;
  if (circular) first = (first % room + room) % room;
  else if (first < 0 || first > room - count)
    fail("{} rows from index {} on don't fit a cache of {} rows", count, first, room);
  for (int64_t i = 0; i < count; ++i) taken[static_cast<size_t>((first + i) % room)] = i;
  return taken;
}

std::vector<Tensor> eval_tensor_scatter(const EvalArgs& a) {
  const Tensor cache = plain(a[0]), update = plain(a[1]);
  if (cache.elements() == 0) return {cache};
  const size_t axis = axis_of(a.attributes, cache.shape().size());
  const bool circular = a.attributes.get_or<int64_t>("circular", 0) != 0;
  const AxisView into = around_axis(cache.shape(), axis), from = around_axis(update.shape(), axis);
  const int64_t batches = cache.dim(0);
  const std::vector<int64_t> firsts =
      a.has(2) ? a[2].to_integers() : std::vector<int64_t>(static_cast<size_t>(batches), 0);
  ElementWriter out(cache.dtype(), cache.shape());
  for (int64_t b = 0; b < batches; ++b) {
    const std::vector<int64_t> taken = rows_written(firsts[static_cast<size_t>(b)], from.length, into.length, circular);
    for (int64_t o = b * (into.outer / batches); o < (b + 1) * (into.outer / batches); ++o)
      for (int64_t row = 0; row < into.length; ++row)
        if (const int64_t source = taken[static_cast<size_t>(row)]; source < 0)
          out.append(cache, (o * into.length + row) * into.inner, into.inner);
        else out.append(update, (o * from.length + source) * into.inner, into.inner);
  }
  return {out.finish()};
}

}  // namespace

extern constinit const OpDef tensor_scatter_def{
    .name = "tensor_scatter",
    .doc =
        "The cache [B,...] with the rows of update along the axis written from row indices[b] on for sample b, or from "
        "row 0. Rows that don't fit are an Error, or go on at the start.",
    .operands = {"cache", "update", optional("indices")},
    .attributes = kAttributes,
    .infer = infer_tensor_scatter,
    .eval = eval_tensor_scatter,
    .no_gradient = "a cache outlives the run that writes it, and gradients end with the run"};

}  // namespace hone
