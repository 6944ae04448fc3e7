// reverse_sequence: the beginnings of sequences of a batch turned round.
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"time_axis", AttributeKind::integer, false, "the axis along which a sequence runs, 0 (default) or 1"},
    {"batch_axis", AttributeKind::integer, false, "the axis of the sequences, the other of the two; default 1"},
};

std::vector<TensorType> infer_reverse_sequence(const InferArgs& a) {
  const int64_t time = a.attributes.get_or<int64_t>("time_axis", 0),
                batch = a.attributes.get_or<int64_t>("batch_axis", 1);
  if (!((time == 0 && batch == 1) || (time == 1 && batch == 0)))
    fail("time_axis is {} and batch_axis {}; accepted: 0 and 1, or 1 and 0", time, batch);
  expect_rank(a[0], 2, SIZE_MAX, "x");
  expect_index(a[1], "the lengths");
  expect_rank(a[1], 1, 1, "the lengths");
  expect_dim(a[1].shape[0], a[0].shape[static_cast<size_t>(batch)], "the number of lengths, one per sequence,");
  return {plain_type(a[0].dtype, a[0].shape)};
}

std::vector<Tensor> eval_reverse_sequence(const EvalArgs& a) {
  const Tensor x = plain(a[0]);
  const bool time_first = a.attributes.get_or<int64_t>("time_axis", 0) == 0;
  const std::vector<int64_t> lengths = a[1].to_integers();
  const int64_t rows = x.dim(0), columns = x.dim(1), steps = time_first ? rows : columns;
  for (int64_t length : lengths)
    if (length < 0 || length > steps) fail("a length is {}; accepted: 0 to {}", length, steps);
  const int64_t run = around_axis(x.shape(), 1).inner;
  ElementWriter out(x.dtype(), x.shape());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t time = time_first ? i : j, batch = time_first ? j : i, length = lengths[static_cast<size_t>(batch)];
      const int64_t from = time < length ? length - 1 - time : time;
      out.append(x, (time_first ? from * columns + batch : batch * columns + from) * run, run);
    }
  return {out.finish()};
}

}  // namespace

extern constinit const OpDef reverse_sequence_def{
    .name = "reverse_sequence",
    .doc = "Each sequence of x with its first elements, as many as the second operand says for it, in reverse order.",
    .operands = {"x", "lengths"},
    .attributes = kAttributes,
    .infer = infer_reverse_sequence,
    .eval = eval_reverse_sequence};

}  // namespace hone
