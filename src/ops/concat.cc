// concat: operands one after the other along an axis.
#include <cstring>

#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"axis", AttributeKind::integer, true, "the axis along which the operands follow each other"}};

std::vector<TensorType> infer_concat(const InferArgs& a) {
  const size_t axis = checked_axis(a.attributes.get<int64_t>("axis"), a[0].rank());
  Shape shape = a[0].shape;
  shape[axis] = 0;
  for (size_t i = 0; i < a.operands.size(); ++i) {
    if (!a.has(i)) fail("operand {} is absent", i);
    expect_not_string(a[i], "an operand");
    if (a[i].dtype != a[0].dtype)
      fail("operand {} is {} but the first is {}; element types must be equal", i, to_string(a[i]), to_string(a[0]));
    expect_rank(a[i], a[0].rank(), a[0].rank(), "an operand");
    for (size_t d = 0; d < shape.size(); ++d)
      if (d != axis && !(a[i].shape[d] == shape[d]))
        fail("operand {} is {} but the first is {}; they may differ along axis {} only", i, to_string(a[i]),
             to_string(a[0]), axis);
    shape[axis] = shape[axis] + a[i].shape[axis];
  }
  return {plain_type(a[0].dtype, shape)};
}

std::vector<Tensor> eval_concat(const EvalArgs& a) {
  Tensor out(a.results[0].dtype, sizes_of(a.results[0]));
  const size_t axis = checked_axis(a.attributes.get<int64_t>("axis"), out.shape().size());
  const AxisView whole = around_axis(out.shape(), axis);
  const int64_t element = size_bytes(out.dtype());
  std::byte* to = out.mutable_data();
  int64_t first = 0;
  for (size_t i = 0; i < a.operands.size(); ++i) {
    const Tensor part = plain(a[i]);
    const AxisView view = around_axis(part.shape(), axis);
    const auto run = static_cast<size_t>(view.length * view.inner * element);
    for (int64_t o = 0; o < view.outer && run > 0; ++o)
      std::memcpy(to + (o * whole.length + first) * whole.inner * element,
                  part.data().bytes().data() + static_cast<size_t>(o) * run, run);
    first += view.length;
  }
  return {out};
}

}  // namespace

extern constinit const OpDef concat_def{
    .name = "concat",
    .doc = "The operands one after the other along an axis; their other dimensions are equal.",
    .min_operands = 1,
    .max_operands = -1,
    .attributes = kAttributes,
    .infer = infer_concat,
    .eval = eval_concat,
    .codegen = Codegen::move};

}  // namespace hone
