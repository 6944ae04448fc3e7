// Operators of the domain hone.test: the distance of two tensors, element by element.
#include "io/onnx/formula.h"
#include "io/onnx/onnx_family.h"
#include "ops/calls/arithmetic.h"

namespace hone {
namespace {

std::vector<ValueId> import_distance(OnnxNode& n) {
  const onnx::Formula a(n, n.in(0)), b(n, n.in(1));
  return {(a - b).apply(abs_def)};
}

constexpr OnnxOperator kOperators[] = {{"Distance", 1, import_distance, "hone.test"}};

}  // namespace

extern constinit const OnnxFamilyDef onnx_distance_def{.name = "distance", .operators = kOperators};

}  // namespace hone
