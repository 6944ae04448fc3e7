// barrier: what keeps two computations of one thing apart, where the second is there to spare the memory between them.
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {

extern constinit const OpDef barrier_def{
    .name = "barrier",
    .doc =
        "x. No pass looks through it, so what is computed again from it is not merged with what was computed from x.",
    .infer = [](const InferArgs& a) -> std::vector<TensorType> { return {plain_type(a[0].dtype, a[0].shape)}; },
    .eval = [](const EvalArgs& a) -> std::vector<Tensor> { return {plain(a[0])}; },
    .transposed = [](const TransposeArgs& a) -> std::optional<Transposed> {
      return Transposed{&a.op, a.attributes, a.perm};
    },
    .view = true};

}  // namespace hone
