// Einsum. What the pass expand_einsum makes of it are products of matrices.
#include "io/onnx/onnx_family.h"
#include "ops/calls/einsum.h"

namespace hone {
namespace {

std::vector<ValueId> import_einsum(OnnxNode& n) {
  return {ops::einsum(n, {.inputs = n.all_inputs(), .equation = n.text("equation")})};
}

constexpr OnnxOperator kOperators[] = {{"Einsum", 12, import_einsum}};

}  // namespace

extern constinit const OnnxFamilyDef onnx_einsum_def{.name = "einsum", .operators = kOperators};

}  // namespace hone
