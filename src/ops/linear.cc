// linear: x · wᵀ + b, the layout in which weights live everywhere.
#include "base/threads.h"
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

std::vector<TensorType> infer_linear(const InferArgs& a) {
  const DType dtype = products_dtype(a);
  if (a[0].rank() < 1) fail("x is a scalar; accepted: [..., K]");
  expect_rank(a[1], 2, 2, "w");
  expect_dim(a[1].shape[1], a[0].shape.back(), "the number of columns of w [N,K], one per column of x [...,K],");
  if (a.has(2)) {
    expect_added(a[2], dtype, "b");
    expect_rank(a[2], 1, 1, "b");
    expect_dim(a[2].shape[0], a[1].shape[0], "the length of b, one per row of w,");
  }
  Shape shape = a[0].shape;
  shape.back() = a[1].shape[0];
  return {plain_type(dtype, shape)};
}

template <class T>
std::vector<T> sums(const EvalArgs& a, const std::vector<T>& x, const std::vector<T>& w, std::vector<T> b) {
  const int64_t n = a[1].dim(0), k = a[1].dim(1);
  b.resize(static_cast<size_t>(n));  // zeros where there is none
  std::vector<T> y(static_cast<size_t>(element_count(sizes_of(a.results[0]))));
  const int64_t rows = n > 0 ? static_cast<int64_t>(y.size()) / n : 0;
  parallel_for(rows, [&](int64_t m) {
    for (int64_t j = 0; j < n; ++j)
      y[static_cast<size_t>(m * n + j)] = dot(x.data() + m * k, w.data() + j * k, k) + b[static_cast<size_t>(j)];
  });
  return y;
}

std::vector<Tensor> eval_linear(const EvalArgs& a) {
  const DType dtype = a.results[0].dtype;
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  if (is_float(dtype))
    return {Tensor::from_doubles(
        dtype, sizes,
        sums(a, a[0].to_doubles(), a[1].to_doubles(), a.has(2) ? a[2].to_doubles() : std::vector<double>()))};
  const std::vector<int64_t> y =
      sums(a, a[0].to_integers(), a[1].to_integers(), a.has(2) ? a[2].to_integers() : std::vector<int64_t>());
  return {Tensor::of<int64_t>(sizes, y).converted(dtype)};  // wraps
}

bool linear_fits_all_sizes(const InferArgs& a, const TensorType&) {
  const Shape& w = a[1].shape;
  return a[0].shape.back() == w[1] && w[1].is_constant() && (!a.has(2) || a[2].shape == Shape{w[0]});
}

Dim linear_flops(const InferArgs& a) { return 2 * element_count(a[0].shape) * a[1].shape[0]; }

}  // namespace

extern constinit const OpDef linear_def{
    .name = "linear",
    .doc =
        "x[...,K] · w[N,K]ᵀ + b[N]: f32 (f64 where an operand is). Operands are floats of any width; w may be packed. "
        "Integers of 8 bits, with or without sign, have sums and b of i32, which wrap.",
    .operands = {factor("x"), factor(weight("w")), optional(bias("b"))},
    .infer = infer_linear,
    .eval = eval_linear,
    .fits_all_sizes = linear_fits_all_sizes,
    .flops = linear_flops};

}  // namespace hone
