// batch_norm in training: by the statistics of the batch itself, which its running ones follow; and its gradient, from
// the same statistics. Ioffe and Szegedy, "Batch normalization" (2015); averages as PyTorch's, which takes the variance
// of the population to normalise and that of the sample to remember.
#include <cmath>

#include "base/threads.h"
#include "ops/elements.h"
#include "ops/rules.h"
#include "ops/sliding_window.h"

namespace hone {
namespace {

constexpr AttributeSpec kTrainAttributes[] = {
    {"epsilon", AttributeKind::number, false, "added to the variance; default 1e-5"},
    {"momentum", AttributeKind::number, false, "share of this batch in the new running statistics; default 0.1"},
    kChannelsLastAttribute};
constexpr AttributeSpec kGradientAttributes[] = {kChannelsLastAttribute};

const Dim& channels_of(const InferArgs& a, const TensorType& x) {
  if (x.rank() < 2) fail("{} has no channels; accepted: [N,C,...], or [N,...,C] under channels_last", to_string(x));
  return channels_last(a.attributes) ? x.shape.back() : x.shape[1];
}

void expect_per_channel(const InferArgs& a, size_t first, const Dim& channels) {
  for (size_t i = first; i < a.operands.size(); ++i) {
    expect_float(a[i], "what there is one of for each channel");
    expect_rank(a[i], 1, 1, "what there is one of for each channel");
    expect_dim(a[i].shape[0], channels, "its length, one per channel of x,");
  }
}

DType statistics_dtype(const TensorType& x) { return x.dtype == DType::f64 ? DType::f64 : DType::f32; }

std::vector<TensorType> infer_train(const InferArgs& a) {
  expect_float(a[0], "x");
  const Dim channels = channels_of(a, a[0]);
  expect_per_channel(a, 1, channels);
  const TensorType statistics = plain_type(statistics_dtype(a[0]), {channels});
  return {plain_type(a[0].dtype, a[0].shape), statistics, statistics, plain_type(a[3].dtype, {channels}),
          plain_type(a[4].dtype, {channels})};
}

// Calls visit(channel, elements), where `elements` are the positions of a channel's elements, for each channel.
template <class Visit>
void each_channel(const Attributes& attributes, const std::vector<int64_t>& sizes, Visit visit) {
  const AxisView view = around_axis(sizes, channels_last(attributes) ? sizes.size() - 1 : 1);
  parallel_for(view.length, [&](int64_t c) {
    std::vector<size_t> elements;
    for (int64_t o = 0; o < view.outer; ++o)
      for (int64_t j = 0; j < view.inner; ++j)
        elements.push_back(static_cast<size_t>((o * view.length + c) * view.inner + j));
    visit(static_cast<size_t>(c), elements);
  });
}

std::vector<Tensor> eval_train(const EvalArgs& a) {
  const double epsilon = a.attributes.get_or<double>("epsilon", 1e-5),
               momentum = a.attributes.get_or<double>("momentum", 0.1);
  std::vector<double> x = a[0].to_doubles(), means(static_cast<size_t>(a[1].elements())), inverses(means.size());
  const std::vector<double> scale = a[1].to_doubles(), bias = a[2].to_doubles();
  std::vector<double> running_mean = a[3].to_doubles(), running_variance = a[4].to_doubles();
  each_channel(a.attributes, a[0].shape(), [&](size_t c, const std::vector<size_t>& elements) {
    const auto n = static_cast<double>(elements.size());
    double sum = 0, squares = 0;
    for (size_t i : elements) sum += x[i];
    const double mean = sum / n;
    for (size_t i : elements) squares += (x[i] - mean) * (x[i] - mean);
    const double inverse = 1 / std::sqrt(squares / n + epsilon);
    for (size_t i : elements) x[i] = (x[i] - mean) * inverse * scale[c] + bias[c];
    means[c] = mean, inverses[c] = inverse;
    running_mean[c] += momentum * (mean - running_mean[c]);
    if (n > 1) running_variance[c] += momentum * (squares / (n - 1) - running_variance[c]);
  });
  const std::vector<double>* values[] = {&x, &means, &inverses, &running_mean, &running_variance};
  std::vector<Tensor> results;
  for (size_t i = 0; i < 5; ++i)
    results.push_back(Tensor::from_doubles(a.results[i].dtype, sizes_of(a.results[i]), *values[i]));
  return results;
}

std::vector<TensorType> infer_gradient(const InferArgs& a) {
  expect_float(a[0], "d");
  expect_float(a[1], "x");
  expect_rank(a[0], a[1].rank(), a[1].rank(), "d, which has the shape of x,");
  for (size_t i = 0; i < a[1].rank(); ++i) expect_dim(a[0].shape[i], a[1].shape[i], "a dimension of d, that of x,");
  const Dim channels = channels_of(a, a[1]);
  expect_per_channel(a, 2, channels);
  const DType dtype = sum_dtype(a, 0, 1);
  return {plain_type(dtype, a[1].shape), plain_type(dtype, {channels}), plain_type(dtype, {channels})};
}

std::vector<Tensor> eval_gradient(const EvalArgs& a) {
  const std::vector<double> d = a[0].to_doubles(), scale = a[2].to_doubles(), mean = a[3].to_doubles(),
                            inverse = a[4].to_doubles();
  std::vector<double> x = a[1].to_doubles(), d_scale(scale.size()), d_bias(scale.size());
  each_channel(a.attributes, a[1].shape(), [&](size_t c, const std::vector<size_t>& elements) {
    for (size_t i : elements) {
      x[i] = (x[i] - mean[c]) * inverse[c];
      d_scale[c] += d[i] * x[i];
      d_bias[c] += d[i];
    }
    const auto n = static_cast<double>(elements.size());
    for (size_t i : elements) x[i] = scale[c] * inverse[c] * (d[i] - d_bias[c] / n - x[i] * d_scale[c] / n);
  });
  const std::vector<double>* values[] = {&x, &d_scale, &d_bias};
  std::vector<Tensor> results;
  for (size_t i = 0; i < 3; ++i)
    results.push_back(Tensor::from_doubles(a.results[i].dtype, sizes_of(a.results[i]), *values[i]));
  return results;
}

}  // namespace

extern constinit const OpDef batch_norm_train_def{
    .name = "batch_norm_train",
    .doc =
        "m = mean(x) and s = 1 / sqrt(mean((x - m)²) + epsilon) of each channel of x[N,C,...] give y = (x - m) * s * "
        "scale + bias, m, s, and the running statistics that follow: mean + momentum * (m - mean), and the same of the "
        "variance and sum((x - m)²) / (n - 1), n elements a channel; the variance stays where n is 1. The operands but "
        "x, and the results but y, are [C].",
    .operands = {"x", "scale", "bias", "mean", "variance"},
    .attributes = kTrainAttributes,
    .results = 5,
    .infer = infer_train,
    .eval = eval_train};
extern constinit const OpDef batch_norm_gradient_def{
    .name = "batch_norm_gradient",
    .doc =
        "The gradients of x, scale and bias in batch_norm_train from that of y, d, with the mean m and the factor s "
        "that it gave: with x' = (x - m) * s, d_scale = sum(d * x') and d_bias = sum(d) of each channel and d_x = "
        "scale * s * (d - mean(d) - x' * mean(d * x')).",
    .operands = {"d", "x", "scale", "mean", "inverse_std"},
    .attributes = kGradientAttributes,
    .results = 3,
    .infer = infer_gradient,
    .eval = eval_gradient,
    .no_gradient = "gradients of gradients are not taken"};

}  // namespace hone
