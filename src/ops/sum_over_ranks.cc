// The one op that looks beyond its process: what a batch is normalised by where several processes have parts of it.
#include "base/rank_sum.h"
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

std::vector<TensorType> infer(const InferArgs& a) {
  expect_float(a[0], "x");
  return {plain_type(a[0].dtype, a[0].shape)};
}

std::vector<Tensor> eval(const EvalArgs& a) {
  std::vector<double> values = a[0].to_doubles();
  sum_over_ranks(values);
  return {Tensor::from_doubles(a.results[0].dtype, sizes_of(a.results[0]), values)};
}

}  // namespace

extern constinit const OpDef sum_over_ranks_def{
    .name = "sum_over_ranks",
    .doc =
        "The sum of x over the processes that train a model together, in their order: x in one that is alone. All of "
        "them compute it, with x of the same shape.",
    .infer = infer,
    .eval = eval,
    .fits_all_sizes = [](const InferArgs&, const TensorType&) { return true; }};

}  // namespace hone
