// Ops that give the same elements another shape: reshape, flatten, squeeze, unsqueeze.
#include <algorithm>

#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kReshapeAttributes[] = {
    {"shape", AttributeKind::shape, false,
     "the new shape, here or as the second operand; one dimension may be -1 and is then computed from the others"},
    {"copy_zeros", AttributeKind::integer, false, "1: a 0 in the shape stands for the same dimension of x; default 0"},
};
constexpr AttributeSpec kFlattenAttributes[] = {
    {"axis", AttributeKind::integer, false, "first axis of the second dimension; default 1"},
};
constexpr AttributeSpec kSqueezeAttributes[] = {
    {"axes", AttributeKind::integers, false,
     "axes of length 1 that go, here or as the second operand; default: all such"},
};
constexpr AttributeSpec kUnsqueezeAttributes[] = {
    {"axes", AttributeKind::integers, false,
     "where the new axes of length 1 are in the result; here or as the second operand"},
};

Dim total_of(const TensorType& x) { return x.ranked ? element_count(x.shape) : Dim::unknown(); }

Shape with_zeros_copied(Shape shape, const TensorType& x) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!(shape[i] == Dim(0))) continue;
    if (x.ranked && i >= x.rank()) fail("dimension {} of the shape is 0, but x has {} to copy", i, x.rank());
    shape[i] = x.ranked ? x.shape[i] : Dim::unknown();
  }
  return shape;
}

// The dimension that is left open, from the number of all elements.
Shape with_open_dim(Shape shape, const Dim& total) {
  const auto open = std::find(shape.begin(), shape.end(), Dim(-1));
  if (open == shape.end()) return shape;
  *open = Dim(1);
  const Dim rest = element_count(shape);
  if (std::find(shape.begin(), shape.end(), Dim(-1)) != shape.end())
    fail("shape has -1 twice; one dimension can be left open");
  if (rest == Dim(0)) fail("shape has a dimension of 0 beside -1, which then is not determined");
  if (total.is_constant() && rest.is_constant() && total.constant() % rest.constant() != 0)
    fail("{} elements do not fall into rows of {}", total.constant(), rest.constant());
  *open = floordiv(total, rest);
  return shape;
}

// Element counts of symbolic shapes are compared once the symbols are bound.
std::vector<TensorType> infer_reshape(const InferArgs& a) {
  const std::optional<Shape> wanted = dims_argument(a, 1, "shape");
  if (!wanted) return {type_of_rank(a[0].dtype, vector_length(a[1], "the shape"))};
  const bool copies = a.attributes.get_or<int64_t>("copy_zeros", 0) != 0;
  const Dim total = total_of(a[0]);
  const Shape shape = with_open_dim(copies ? with_zeros_copied(*wanted, a[0]) : *wanted, total);
  const Dim count = element_count(shape);
  for (const Dim& dim : shape)
    if (dim.is_constant() && dim.constant() < 0) fail("shape {} has a negative dimension", to_string(shape));
  if (!may_be_same(total, count))
    fail("{} has {} elements but shape {} has {}", to_string(a[0]), total.to_string(), to_string(shape),
         count.to_string());
  return {plain_type(a[0].dtype, shape)};
}

std::vector<TensorType> infer_flatten(const InferArgs& a) {
  if (!a[0].ranked) return {type_of_rank(a[0].dtype, 2)};
  const int64_t wanted = a.attributes.get_or<int64_t>("axis", 1);
  const auto rank = static_cast<int64_t>(a[0].rank());
  if (wanted < -rank || wanted > rank)
    fail("axis {} does not exist in {} dimensions; accepted: {} to {}", wanted, rank, -rank, rank);
  const auto cut = a[0].shape.begin() + (wanted < 0 ? wanted + rank : wanted);
  return {plain_type(a[0].dtype,
                     {element_count(Shape(a[0].shape.begin(), cut)), element_count(Shape(cut, a[0].shape.end()))})};
}

// Without axes, a symbol may turn out to be 1.
std::vector<TensorType> infer_squeeze_all(const TensorType& x) {
  if (!x.is_static()) return {TensorType::unranked(x.dtype)};
  Shape shape;
  std::copy_if(x.shape.begin(), x.shape.end(), std::back_inserter(shape), [](const Dim& d) { return d != Dim(1); });
  return {plain_type(x.dtype, shape)};
}

std::vector<TensorType> infer_squeeze(const InferArgs& a) {
  if (!a.attributes.has("axes") && !a.has(1)) return infer_squeeze_all(a[0]);
  const std::optional<std::vector<int64_t>> axes = axes_argument(a, 1);
  if (!axes) {
    const std::optional<size_t> gone = vector_length(a[1], "axes");
    if (gone && *gone > a[0].rank()) fail("{} axes are to go, but x has {}", *gone, a[0].rank());
    return {type_of_rank(a[0].dtype, gone ? std::optional(a[0].rank() - *gone) : std::nullopt)};
  }
  const std::vector<size_t> gone = checked_axes(*axes, a[0].rank());
  Shape shape;
  for (size_t i = 0; i < a[0].rank(); ++i) {
    if (std::find(gone.begin(), gone.end(), i) == gone.end()) shape.push_back(a[0].shape[i]);
    else if (!may_be_same(a[0].shape[i], Dim(1)))
      fail("axis {} has length {}; only axes of length 1 can go", i, a[0].shape[i].to_string());
  }
  return {plain_type(a[0].dtype, shape)};
}

std::vector<TensorType> infer_unsqueeze(const InferArgs& a) {
  const std::optional<std::vector<int64_t>> axes = axes_argument(a, 1);
  if (!axes) {
    const std::optional<size_t> added = vector_length(a[1], "axes");
    return {type_of_rank(a[0].dtype, added ? std::optional(a[0].rank() + *added) : std::nullopt)};
  }
  type_of_rank(a[0].dtype, a[0].rank() + axes->size());  // Error for too many
  std::vector<bool> is_new(a[0].rank() + axes->size(), false);
  for (size_t axis : checked_axes(*axes, is_new.size())) is_new[axis] = true;
  Shape shape;
  auto next = a[0].shape.begin();
  for (bool one : is_new) shape.push_back(one ? Dim(1) : *next++);
  return {plain_type(a[0].dtype, shape)};
}

std::vector<Tensor> eval_view(const EvalArgs& a) { return {plain(a[0]).reshaped(sizes_of(a.results[0]))}; }

}  // namespace

extern constinit const OpDef reshape_def{.name = "reshape",
                                         .doc = "The elements of x, in order, in another shape.",
                                         .operands = {"x", computed("computed_shape")},
                                         .attributes = kReshapeAttributes,
                                         .infer = infer_reshape,
                                         .eval = eval_view,
                                         .view = true,
                                         .any_rank = true};
extern constinit const OpDef flatten_def{.name = "flatten",
                                         .doc = "x as a matrix: the dimensions before the axis, and those from it on.",
                                         .attributes = kFlattenAttributes,
                                         .infer = infer_flatten,
                                         .eval = eval_view,
                                         .view = true,
                                         .any_rank = true};
extern constinit const OpDef squeeze_def{.name = "squeeze",
                                         .doc = "x without axes of length 1.",
                                         .operands = {"x", computed("computed_axes")},
                                         .attributes = kSqueezeAttributes,
                                         .infer = infer_squeeze,
                                         .eval = eval_view,
                                         .view = true};
extern constinit const OpDef unsqueeze_def{.name = "unsqueeze",
                                           .doc = "x with new axes of length 1.",
                                           .operands = {"x", computed("computed_axes")},
                                           .attributes = kUnsqueezeAttributes,
                                           .infer = infer_unsqueeze,
                                           .eval = eval_view,
                                           .view = true};

}  // namespace hone
