// shape_of: the sizes of a tensor as a tensor.
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

std::vector<TensorType> infer_shape_of(const InferArgs& a) {
  return {plain_type(DType::i64, {a[0].ranked ? Dim(static_cast<int64_t>(a[0].rank())) : Dim::unknown()})};
}

Tensor sizes_tensor(const std::vector<int64_t>& sizes) {
  return Tensor::of<int64_t>({static_cast<int64_t>(sizes.size())}, sizes);
}

std::optional<Tensor> shape_from_type(const InferArgs& a) {
  if (!a[0].is_static()) return std::nullopt;
  return sizes_tensor(constant_shape(a[0].shape));
}

std::vector<Tensor> eval_shape_of(const EvalArgs& a) { return {sizes_tensor(a[0].shape())}; }

}  // namespace

extern constinit const OpDef shape_of_def{.name = "shape_of",
                                          .doc = "The sizes of x, i64[rank].",
                                          .infer = infer_shape_of,
                                          .eval = eval_shape_of,
                                          .any_rank = true,
                                          .from_types = shape_from_type,
                                          .no_gradient = "its result does not depend on the value of any float"};

}  // namespace hone
