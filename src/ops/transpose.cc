// transpose: a permutation of the axes.
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"perm", AttributeKind::integers, false, "axis i of the result is axis perm[i] of x; default: reversed"},
};

std::vector<size_t> permutation(const Attributes& attributes, size_t rank) {
  std::vector<size_t> perm;
  if (attributes.has("perm")) perm = checked_axes(attributes.get<std::vector<int64_t>>("perm"), rank);
  else
    for (size_t i = rank; i-- > 0;) perm.push_back(i);
  if (perm.size() != rank) fail("perm lists {} of {} axes; each must be listed once", perm.size(), rank);
  return perm;
}

std::vector<TensorType> infer_transpose(const InferArgs& a) {
  Shape shape;
  for (size_t axis : permutation(a.attributes, a[0].rank())) shape.push_back(a[0].shape[axis]);
  return {plain_type(a[0].dtype, shape)};
}

std::vector<Tensor> eval_transpose(const EvalArgs& a) {
  const Tensor& x = a[0];
  const bool exchanges = x.shape().size() == 2 && permutation(a.attributes, 2)[0] == 1;
  if (exchanges && !x.is_packed() && x.dtype() != DType::string)
    return {Tensor(x.dtype(), {x.dim(1), x.dim(0)}, x.data().transposed(x.dim(0), x.dim(1), size_bytes(x.dtype())))};
  const std::vector<int64_t> own = strides_of(a[0].shape());
  std::vector<int64_t> strides;
  for (size_t axis : permutation(a.attributes, own.size())) strides.push_back(own[axis]);
  return {copy_strided(plain(a[0]), sizes_of(a.results[0]), strides)};
}

}  // namespace

extern constinit const OpDef transpose_def{.name = "transpose",
                                           .doc = "x with its axes permuted.",
                                           .attributes = kAttributes,
                                           .infer = infer_transpose,
                                           .eval = eval_transpose,
                                           .fits_all_sizes = [](const InferArgs&, const TensorType&) { return true; },
                                           .moves = true};

}  // namespace hone
