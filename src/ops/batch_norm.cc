// batch_norm with given statistics (inference).
#include <cmath>

#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"epsilon", AttributeKind::number, false, "added to the variance; default 1e-5"},
    {"momentum", AttributeKind::number, false,
     "share of a batch in the new running statistics where the norm is trained; default 0.1"}};

std::vector<TensorType> infer_batch_norm(const InferArgs& a) {
  expect_float(a[0], "x");
  if (a[0].rank() < 2) fail("x is {}; accepted: [N,C,...]", to_string(a[0]));
  for (size_t i = 1; i < 5; ++i) {
    expect_float(a[i], "scale, bias, mean or variance");
    expect_rank(a[i], 1, 1, "scale, bias, mean or variance");
    expect_dim(a[i].shape[0], a[0].shape[1], "the length of scale, bias, mean and variance, one per channel of x,");
  }
  return {plain_type(a[0].dtype, a[0].shape)};
}

std::vector<Tensor> eval_batch_norm(const EvalArgs& a) {
  const double epsilon = a.attributes.get_or<double>("epsilon", 1e-5);
  const std::vector<double> scale = a[1].to_doubles(), bias = a[2].to_doubles(), mean = a[3].to_doubles(),
                            variance = a[4].to_doubles();
  std::vector<double> x = a[0].to_doubles();
  const AxisView view = around_axis(a[0].shape(), 1);
  for (size_t i = 0; i < x.size(); ++i) {
    if (i % kVisitsPerStop == 0) check_stop();
    const size_t c = i / static_cast<size_t>(view.inner) % static_cast<size_t>(view.length);
    x[i] = (x[i] - mean[c]) / std::sqrt(variance[c] + epsilon) * scale[c] + bias[c];
  }
  return {Tensor::from_doubles(a.results[0].dtype, sizes_of(a.results[0]), x)};
}

}  // namespace

extern constinit const OpDef batch_norm_def{.name = "batch_norm",
                                            .doc =
                                                "(x - mean) / sqrt(variance + epsilon) * scale + bias; x[N,C,...], the "
                                                "others [C]: operands x, scale, bias, mean, variance.",
                                            .operands = {"x", "scale", "bias", "mean", "variance"},
                                            .attributes = kAttributes,
                                            .infer = infer_batch_norm,
                                            .eval = eval_batch_norm};

}  // namespace hone
