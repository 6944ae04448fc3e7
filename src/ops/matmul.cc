// matmul: batched products of matrices; leading dimensions broadcast.
#include "base/threads.h"
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kMatmulAttributes[] = {
    {"transpose_a", AttributeKind::integer, false, "1: a is [...,K,M]; default 0: [...,M,K]"},
    {"transpose_b", AttributeKind::integer, false, "1: b is [...,N,K]; default 0: [...,K,N]"},
};

bool is_transposed(const Attributes& attributes, const char* name) {
  const int64_t flag = attributes.get_or<int64_t>(name, 0);
  if (flag != 0 && flag != 1) fail("{} is {}; accepted: 0, 1", name, flag);
  return flag == 1;
}

// Integers only go with their like.
DType product_dtype(const InferArgs& a) {
  if (is_integer(a[0].dtype) && a[0].dtype == a[1].dtype) return a[0].dtype;
  expect_float(a[0], "a");
  expect_float(a[1], "b");
  return sum_dtype(a, 0, 1);
}

std::vector<TensorType> infer_matmul(const InferArgs& a) {
  const DType dtype = product_dtype(a);
  if (a[0].rank() < 2 || a[1].rank() < 2) fail("both operands need at least 2 dimensions; unsqueeze vectors first");
  const bool swap_a = is_transposed(a.attributes, "transpose_a"), swap_b = is_transposed(a.attributes, "transpose_b");
  const Shape &left = a[0].shape, &right = a[1].shape;
  const size_t l = left.size(), r = right.size();
  expect_dim(right[swap_b ? r - 1 : r - 2], left[swap_a ? l - 2 : l - 1],
             swap_b ? "the last dimension of b, which is summed over," : "the number of rows of b, summed over,");
  Shape shape = broadcast(Shape(left.begin(), left.end() - 2), Shape(right.begin(), right.end() - 2));
  shape.push_back(left[swap_a ? l - 1 : l - 2]);
  shape.push_back(right[swap_b ? r - 2 : r - 1]);
  return {plain_type(dtype, shape)};
}

// Operands as rows of k elements, so that every product is a dot product of two rows.
Tensor with_rows_of_k(const Tensor& x, bool has_rows) {
  if (has_rows) return x;
  std::vector<int64_t> sizes = x.shape(), strides = strides_of(sizes);
  const size_t r = sizes.size();
  std::swap(sizes[r - 1], sizes[r - 2]);
  std::swap(strides[r - 1], strides[r - 2]);
  return copy_strided(plain(x), sizes, strides);
}

std::vector<int64_t> offsets_of_matrices(const std::vector<int64_t>& sizes, const std::vector<int64_t>& batch) {
  const std::vector<int64_t> lead(sizes.begin(), sizes.end() - 2);
  const int64_t matrix = sizes[sizes.size() - 1] * sizes[sizes.size() - 2];
  std::vector<int64_t> offsets;
  for_each_offset(batch, strides_broadcast(lead, batch), [&](int64_t index) { offsets.push_back(index * matrix); });
  return offsets;
}

// Both as rows of k elements.
template <class T>
std::vector<T> products(const Tensor& a, const std::vector<T>& left, const Tensor& rows, const std::vector<T>& right,
                        const std::vector<int64_t>& sizes) {
  const int64_t m = a.dim(-2), k = a.dim(-1), n = rows.dim(-2);
  const std::vector<int64_t> batch(sizes.begin(), sizes.end() - 2);
  const std::vector<int64_t> from_left = offsets_of_matrices(a.shape(), batch),
                             from_right = offsets_of_matrices(rows.shape(), batch);
  std::vector<T> out(static_cast<size_t>(element_count(sizes)));
  parallel_for(static_cast<int64_t>(from_left.size()) * m, [&](int64_t row) {
    const auto matrix = static_cast<size_t>(row / m);
    const T* l = left.data() + from_left[matrix] + row % m * k;
    for (int64_t j = 0; j < n; ++j)
      out[static_cast<size_t>(row * n + j)] = dot(l, right.data() + from_right[matrix] + j * k, k);
  });
  return out;
}

std::vector<Tensor> eval_matmul(const EvalArgs& a) {
  const Tensor left = with_rows_of_k(a[0], !is_transposed(a.attributes, "transpose_a")),
               right = with_rows_of_k(a[1], is_transposed(a.attributes, "transpose_b"));
  const DType dtype = a.results[0].dtype;
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  if (is_float(dtype))
    return {Tensor::from_doubles(dtype, sizes, products(left, left.to_doubles(), right, right.to_doubles(), sizes))};
  const std::vector<int64_t> out =
      products(left, left.to_integers(), right, right.to_integers(), sizes);  // wrapping needs no signedness
  return {Tensor::of<int64_t>(sizes, out).converted(dtype)};
}

Dim matmul_flops(const InferArgs& a) {
  const Shape shape = infer_matmul(a)[0].shape;
  const bool swap = is_transposed(a.attributes, "transpose_a");
  return 2 * element_count(shape) * a[0].shape[a[0].rank() - (swap ? 2 : 1)];
}

bool matmul_fits_all_sizes(const InferArgs& a, const TensorType& result) {
  const Shape &left = a[0].shape, &right = a[1].shape;
  if (left.size() < 2 || right.size() < 2) return false;
  const bool swap_a = a.attributes.get_or<int64_t>("transpose_a", 0) != 0,
             swap_b = a.attributes.get_or<int64_t>("transpose_b", 0) != 0;
  const Shape lead(result.shape.begin(), result.shape.end() - 2);
  return left[left.size() - (swap_a ? 2 : 1)] == right[right.size() - (swap_b ? 1 : 2)] &&
         broadcasts_to({left.begin(), left.end() - 2}, lead) && broadcasts_to({right.begin(), right.end() - 2}, lead);
}

}  // namespace

extern constinit const OpDef matmul_def{
    .name = "matmul",
    .doc =
        "a[...,M,K] · b[...,K,N]: f32 (f64 where an operand is), or their own "
        "type for integers, which wrap. Leading "
        "dimensions broadcast; transpose_a=1 reads a as [...,K,M], transpose_b=1 b as "
        "[...,N,K].",
    .operands = {factor(weight("a")), factor(weight("b"))},
    .attributes = kMatmulAttributes,
    .infer = infer_matmul,
    .eval = eval_matmul,
    .summed_axis = [](const Attributes& attributes, size_t operand) -> int64_t {
      const bool swap = attributes.get_or<int64_t>(operand == 0 ? "transpose_a" : "transpose_b", 0) != 0;
      return swap == (operand == 0) ? -2 : -1;
    },
    .fits_all_sizes = matmul_fits_all_sizes,
    .flops = matmul_flops};

}  // namespace hone
