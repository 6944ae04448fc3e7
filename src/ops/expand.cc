// expand: a tensor repeated along axes by broadcasting.
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {{"shape", AttributeKind::shape, true, "broadcast with the shape of x"}};

std::vector<TensorType> infer_expand(const InferArgs& a) {
  expect_not_string(a[0], "x");
  return {plain_type(a[0].dtype, broadcast(a[0].shape, a.attributes.get<Shape>("shape")))};
}

std::vector<Tensor> eval_expand(const EvalArgs& a) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  return {copy_strided(plain(a[0]), sizes, strides_broadcast(a[0].shape(), sizes))};
}

}  // namespace

extern constinit const OpDef expand_def{.name = "expand",
                                        .doc = "x broadcast with a shape, as in NumPy.",
                                        .attributes = kAttributes,
                                        .infer = infer_expand,
                                        .eval = eval_expand,
                                        .codegen = Codegen::move};

}  // namespace hone
