// non_zero: where the elements are that are not 0.
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

std::vector<TensorType> infer_non_zero(const InferArgs& a) {
  expect_not_string(a[0], "x");
  return {plain_type(DType::i64, {Dim(static_cast<int64_t>(a[0].rank())), Dim::unknown()})};
}

std::vector<Tensor> eval_non_zero(const EvalArgs& a) {
  const std::vector<double> x = a[0].to_doubles();  // an integer that rounds is not rounded to 0
  std::vector<int64_t> found;
  for (size_t i = 0; i < x.size(); ++i)
    if (x[i] != 0) found.push_back(static_cast<int64_t>(i));
  const std::vector<int64_t>& sizes = a[0].shape();
  const std::vector<int64_t> strides = strides_of(sizes);
  std::vector<int64_t> indices;
  for (size_t d = 0; d < sizes.size(); ++d)
    for (int64_t position : found) indices.push_back(position / strides[d] % sizes[d]);
  return {Tensor::of<int64_t>({static_cast<int64_t>(sizes.size()), static_cast<int64_t>(found.size())}, indices)};
}

}  // namespace

extern constinit const OpDef non_zero_def{.name = "non_zero",
                                          .doc = "Indices (i64[rank,n]) of the n elements that are not 0, in order.",
                                          .infer = infer_non_zero,
                                          .eval = eval_non_zero,
                                          .no_gradient = "which elements are 0 changes in jumps only"};

}  // namespace hone
