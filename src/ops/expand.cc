// expand: a tensor repeated along axes by broadcasting.
#include <algorithm>

#include "ops/elements.h"
#include "ops/moves.h"
#include "ops/rules.h"
#include "ops/transposed.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"shape", AttributeKind::shape, false, "broadcast with the shape of x; here or as the second operand"}};

std::vector<TensorType> infer_expand(const InferArgs& a) {
  if (const std::optional<Shape> shape = dims_argument(a, 1, "shape"))
    return {plain_type(a[0].dtype, broadcast(a[0].shape, *shape))};
  const std::optional<size_t> length = vector_length(a[1], "the shape");
  return {type_of_rank(a[0].dtype, length ? std::optional(std::max(a[0].rank(), *length)) : std::nullopt)};
}

std::vector<Tensor> eval_expand(const EvalArgs& a) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  return {copy_strided(plain(a[0]), sizes, strides_broadcast(a[0].shape(), sizes))};
}

std::optional<Transposed> transposed_rule(const TransposeArgs& a) {
  if (!a.attributes.has("shape") || a[0].rank() != a.perm.size()) return std::nullopt;
  Shape shape = a.attributes.get<Shape>("shape");
  if (shape.size() > a.perm.size()) return std::nullopt;
  shape.insert(shape.begin(), a.perm.size() - shape.size(), Dim(1));
  Transposed other{&a.op, a.attributes, a.perm};
  other.attributes.set("shape", permuted(shape, inverse(a.perm)));
  return other;
}

}  // namespace

extern constinit const OpDef expand_def{.name = "expand",
                                        .doc = "x broadcast with a shape, as in NumPy.",
                                        .operands = {"x", computed("computed_shape")},
                                        .attributes = kAttributes,
                                        .infer = infer_expand,
                                        .eval = eval_expand,
                                        .transposed = transposed_rule,
                                        .moves = true,
                                        .move_map = [](const MoveArgs& a) { return std::optional(repeating_move(a)); }};

}  // namespace hone
