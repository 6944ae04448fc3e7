// Products of matrices, and determinants.
#include <cmath>

#include "io/onnx/direct.h"
#include "io/onnx/formula.h"
#include "ops/calls/det.h"
#include "ops/calls/matmul.h"
#include "ops/calls/reshape.h"

namespace hone {
namespace {

using onnx::Formula;

// As numpy.matmul: a vector is a row on the left, a column on the right, and its 1 does not stay in the result.
std::vector<ValueId> import_matmul(OnnxNode& n) {
  ValueId a = n.in(0), b = n.in(1);
  const DType dtype = n.type(a).dtype;
  const bool row = n.rank(a) == 1, column = n.rank(b) == 1;
  if (row) a = ops::unsqueeze(n, {.x = a, .axes = std::vector<int64_t>{0}});
  if (column) b = ops::unsqueeze(n, {.x = b, .axes = std::vector<int64_t>{1}});
  ValueId y = ops::matmul(n, {a, b});
  std::vector<int64_t> extra;
  if (row) extra.push_back(-2);
  if (column) extra.push_back(-1);
  if (!extra.empty()) y = ops::squeeze(n, {.x = y, .axes = extra});
  return {n.cast(y, dtype)};  // of f16 it is f32
}

Formula scaled(OnnxNode& n, Formula x, const char* attribute) {
  const double factor = n.number(attribute, 1.0);
  if (factor == 1) return x;
  if (!is_float(x.dtype()) && factor != std::trunc(factor))
    n.unsupported(fmt::format("{} is {}; supported for {}: whole numbers", attribute, factor, to_string(x.dtype())));
  return x * factor;
}

// alpha * A * B + beta * C; recognise_linear makes a linear of it where B and C are weights. As in BLAS, C is not read
// where beta is 0: what lies there may be anything. A and B are read whatever alpha is, as in ONNX Runtime.
std::vector<ValueId> import_gemm(OnnxNode& n) {
  const DType dtype = n.type(n.in(0)).dtype;
  const ValueId a = n.is_not_zero("transA", false) ? n.transpose(n.in(0), {1, 0}) : n.in(0);
  const Formula product(n, ops::matmul(n, {.a = a, .b = n.in(1), .transpose_b = n.is_not_zero("transB", false)}));
  Formula y = scaled(n, product, "alpha");
  if (n.has(2) && n.number("beta", 1) != 0) y = y + scaled(n, Formula(n, n.in(2)), "beta");
  return {y.cast(dtype)};
}

constexpr OnnxOperator kOperators[] = {
    {"Det", 11, onnx::import_direct<det_def>},
    {"Gemm", 1, import_gemm},
    {"MatMul", 1, import_matmul},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_matrix_def{.name = "matrix", .operators = kOperators};

}  // namespace hone
