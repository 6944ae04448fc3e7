// mean_pool: the mean of the tokens that a mask keeps, as sentence encoders pool.
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr double kSmallestCount = 1e-9;  // of sentence-transformers: a sentence without tokens gives zeros

std::vector<TensorType> infer_mean_pool(const InferArgs& a) {
  expect_float(a[0], "x");
  expect_rank(a[0], 3, 3, "x [B,S,C]");
  expect_index(a[1], "the mask");
  expect_rank(a[1], 2, 2, "the mask [B,S]");
  expect_dim(a[1].shape[0], a[0].shape[0], "the batch of the mask, that of x,");
  expect_dim(a[1].shape[1], a[0].shape[1], "the length of the mask, one per token of x,");
  return {plain_type(a[0].dtype, {a[0].shape[0], a[0].shape[2]})};
}

std::vector<Tensor> eval_mean_pool(const EvalArgs& a) {
  const std::vector<double> x = a[0].to_doubles();
  const std::vector<int64_t> mask = a[1].to_integers();
  const int64_t batches = a[0].dim(0), tokens = a[0].dim(1), columns = a[0].dim(2);
  std::vector<double> out(static_cast<size_t>(batches * columns), 0.0);
  for (int64_t b = 0; b < batches; ++b) {
    double count = 0;
    double* sum = out.data() + b * columns;
    for (int64_t s = 0; s < tokens; ++s) {
      const auto weight = static_cast<double>(mask[static_cast<size_t>(b * tokens + s)]);
      count += weight;
      for (int64_t c = 0; c < columns; ++c) sum[c] += weight * x[static_cast<size_t>((b * tokens + s) * columns + c)];
    }
    for (int64_t c = 0; c < columns; ++c) sum[c] /= std::max(count, kSmallestCount);
  }
  return {Tensor::from_doubles(a.results[0].dtype, sizes_of(a.results[0]), out)};
}

}  // namespace

extern constinit const OpDef mean_pool_def{
    .name = "mean_pool",
    .doc = "sum(x * mask) / max(sum(mask), 1e-9) over the tokens: x[B,S,C], mask[B,S] (integers) → [B,C].",
    .operands = {"x", "mask"},
    .infer = infer_mean_pool,
    .eval = eval_mean_pool};

}  // namespace hone
