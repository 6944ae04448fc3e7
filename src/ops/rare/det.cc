// det: determinants of square matrices.
#include <cmath>

#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

std::vector<TensorType> infer_det(const InferArgs& a) {
  expect_float(a[0], "x");
  if (a[0].rank() < 2) fail("x is {}; accepted: [...,M,M]", to_string(a[0]));
  const Shape& shape = a[0].shape;
  expect_dim(shape[shape.size() - 2], shape.back(), "the number of rows of x, one per column,");
  return {plain_type(a[0].dtype, Shape(shape.begin(), shape.end() - 2))};
}

// By elimination with the largest pivot of each column; destroys the n x n matrix at x.
double determinant(double* x, int64_t n) {
  double product = 1;
  for (int64_t k = 0; k < n; ++k) {
    check_stop();
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i)
      if (std::abs(x[i * n + k]) > std::abs(x[pivot * n + k])) pivot = i;
    if (pivot != k) {
      std::swap_ranges(x + k * n, x + (k + 1) * n, x + pivot * n);
      product = -product;
    }
    product *= x[k * n + k];
    if (x[k * n + k] == 0) return 0;
    for (int64_t i = k + 1; i < n; ++i) {
      const double factor = x[i * n + k] / x[k * n + k];
      for (int64_t j = k; j < n; ++j) x[i * n + j] -= factor * x[k * n + j];
    }
  }
  return product;
}

std::vector<Tensor> eval_det(const EvalArgs& a) {
  std::vector<double> x = a[0].to_doubles();
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  const int64_t n = a[0].dim(-1);
  std::vector<double> out;
  for (int64_t i = 0; i < element_count(sizes); ++i) out.push_back(determinant(x.data() + i * n * n, n));
  return {Tensor::from_doubles(a.results[0].dtype, sizes, out)};
}

}  // namespace

extern constinit const OpDef det_def{
    .name = "det",
    .doc = "The determinant of each matrix of x[...,M,M].",
    .infer = infer_det,
    .eval = eval_det,
    .no_gradient = "its gradient is the determinant times the inverse, and no op inverts matrices"};

}  // namespace hone
