// Ops that give the same elements another shape: reshape, flatten, squeeze, unsqueeze.
#include <algorithm>

#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kReshapeAttributes[] = {
    {"shape", AttributeKind::shape, true,
     "the new shape; one dimension may be -1 and is then computed from the others"},
};
constexpr AttributeSpec kFlattenAttributes[] = {
    {"axis", AttributeKind::integer, false, "first axis of the second dimension; default 1"},
};
constexpr AttributeSpec kSqueezeAttributes[] = {
    {"axes", AttributeKind::integers, false, "axes of length 1 that go; default: all such"},
};
constexpr AttributeSpec kUnsqueezeAttributes[] = {
    {"axes", AttributeKind::integers, true, "where the new axes of length 1 are in the result"},
};

std::vector<TensorType> view_of(const TensorType& x, Shape shape) {
  expect_not_string(x, "x");
  return {plain_type(x.dtype, std::move(shape))};
}

// Element counts of symbolic shapes are compared once the symbols are bound.
std::vector<TensorType> infer_reshape(const InferArgs& a) {
  Shape shape = a.attributes.get<Shape>("shape");
  const Dim total = element_count(a[0].shape);
  const auto open = std::find(shape.begin(), shape.end(), Dim(-1));
  if (open != shape.end()) {
    *open = Dim(1);
    const Dim rest = element_count(shape);
    if (std::find(shape.begin(), shape.end(), Dim(-1)) != shape.end())
      fail("shape has -1 twice; one dimension can be left open");
    if (rest == Dim(0)) fail("shape has a dimension of 0 beside -1, which then is not determined");
    *open = floordiv(total, rest);
    if (total.is_constant() && rest.is_constant() && total.constant() % rest.constant() != 0)
      fail("{} elements do not fall into rows of {}", total.constant(), rest.constant());
  }
  const Dim count = element_count(shape);
  for (const Dim& dim : shape)
    if (dim.is_constant() && dim.constant() < 0) fail("shape {} has a negative dimension", to_string(shape));
  if (total.is_constant() && count.is_constant() && !(total == count))
    fail("{} has {} elements but shape {} has {}", to_string(a[0]), total.constant(), to_string(shape),
         count.constant());
  return view_of(a[0], shape);
}

std::vector<TensorType> infer_flatten(const InferArgs& a) {
  const int64_t wanted = a.attributes.get_or<int64_t>("axis", 1);
  const auto rank = static_cast<int64_t>(a[0].rank());
  if (wanted < -rank || wanted > rank)
    fail("axis {} does not exist in {} dimensions; accepted: {} to {}", wanted, rank, -rank, rank);
  const auto cut = a[0].shape.begin() + (wanted < 0 ? wanted + rank : wanted);
  return view_of(a[0], {element_count(Shape(a[0].shape.begin(), cut)), element_count(Shape(cut, a[0].shape.end()))});
}

std::vector<TensorType> infer_squeeze(const InferArgs& a) {
  std::vector<bool> gone(a[0].rank(), false);
  for (size_t axis : checked_axes(a.attributes.get_or<std::vector<int64_t>>("axes", {}), a[0].rank())) {
    if (!(a[0].shape[axis] == Dim(1)))
      fail("axis {} has length {}; only axes of length 1 can go", axis, a[0].shape[axis].to_string());
    gone[axis] = true;
  }
  Shape shape;
  for (size_t i = 0; i < a[0].rank(); ++i)
    if (!(a.attributes.has("axes") ? gone[i] : a[0].shape[i] == Dim(1))) shape.push_back(a[0].shape[i]);
  return view_of(a[0], shape);
}

std::vector<TensorType> infer_unsqueeze(const InferArgs& a) {
  const auto& axes = a.attributes.get<std::vector<int64_t>>("axes");
  std::vector<bool> is_new(a[0].rank() + axes.size(), false);
  for (size_t axis : checked_axes(axes, is_new.size())) is_new[axis] = true;
  Shape shape;
  auto next = a[0].shape.begin();
  for (bool one : is_new) shape.push_back(one ? Dim(1) : *next++);
  return view_of(a[0], shape);
}

std::vector<Tensor> eval_view(const EvalArgs& a) { return {plain(a[0]).reshaped(sizes_of(a.results[0]))}; }

}  // namespace

extern constinit const OpDef reshape_def{.name = "reshape",
                                         .doc = "The elements of x, in order, in another shape.",
                                         .attributes = kReshapeAttributes,
                                         .infer = infer_reshape,
                                         .eval = eval_view,
                                         .codegen = Codegen::view};
extern constinit const OpDef flatten_def{.name = "flatten",
                                         .doc = "x as a matrix: the dimensions before the axis, and those from it on.",
                                         .attributes = kFlattenAttributes,
                                         .infer = infer_flatten,
                                         .eval = eval_view,
                                         .codegen = Codegen::view};
extern constinit const OpDef squeeze_def{.name = "squeeze",
                                         .doc = "x without axes of length 1.",
                                         .attributes = kSqueezeAttributes,
                                         .infer = infer_squeeze,
                                         .eval = eval_view,
                                         .codegen = Codegen::view};
extern constinit const OpDef unsqueeze_def{.name = "unsqueeze",
                                           .doc = "x with new axes of length 1.",
                                           .attributes = kUnsqueezeAttributes,
                                           .infer = infer_unsqueeze,
                                           .eval = eval_view,
                                           .codegen = Codegen::view};

}  // namespace hone
