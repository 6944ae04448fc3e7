// Normalisations of [N,C,...] with a scale and a shift per channel.
#include <string>

#include <fmt/format.h>

#include "io/onnx/onnx_family.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/batch_norm.h"
#include "ops/calls/batch_norm_train.h"
#include "ops/calls/normalisation.h"
#include "ops/calls/pool.h"
#include "ops/calls/reduce.h"

namespace hone {
namespace {

// v [n], to be broadcast along axis `axis` of a tensor of rank `rank`.
ValueId along(const OnnxNode& n, ValueId v, size_t axis, size_t rank) {
  if (rank <= axis) fail("x has {} dimensions; accepted: [N,C,...]", rank);
  Shape shape(rank - axis, 1);
  shape[0] = n.shape(v, 1)[0];
  return n.reshape(v, shape);
}

ValueId scaled_and_shifted(const OnnxNode& n, ValueId x, size_t axis, size_t rank) {
  const ValueId scaled = ops::mul(n, {x, along(n, n.in(1), axis, rank)});
  return ops::add(n, {scaled, along(n, n.in(2), axis, rank)});
}

// x [N,C,...] as [N,groups,elements of a group], each group with mean 0 and variance 1.
ValueId normalised_groups(const OnnxNode& n, const Dim& groups) {
  const Shape x = n.shape(n.in(0));
  if (x.size() < 2) fail("x is {}; accepted: [N,C,...]", to_string(n.type(n.in(0))));
  const Dim elements = floordiv(element_count(Shape(x.begin() + 1, x.end())), groups);
  return ops::layer_norm(n, {.x = n.reshape(n.in(0), {x[0], groups, elements}), .epsilon = n.number("epsilon", 1e-5)});
}

std::vector<ValueId> import_instance_normalization(OnnxNode& n) {
  const size_t rank = n.rank(n.in(0));
  const Shape shape = n.shape(n.in(0));
  return {scaled_and_shifted(n, n.reshape(normalised_groups(n, shape.at(1)), shape), 1, rank)};
}

std::vector<ValueId> import_group_normalization(OnnxNode& n) {
  const size_t rank = n.rank(n.in(0));
  const Shape shape = n.type(n.in(0)).shape;
  const ValueId normalised = normalised_groups(n, n.count("num_groups"));
  return {scaled_and_shifted(n, n.reshape(normalised, shape), 1, rank)};
}

// Here scale and shift are per group.
std::vector<ValueId> import_group_normalization_18(OnnxNode& n) {
  const ValueId normalised = normalised_groups(n, n.count("num_groups"));
  return {n.reshape(scaled_and_shifted(n, normalised, 1, 3), n.type(n.in(0)).shape)};
}

constexpr double kUsualShare = 0.1;

// What running statistics take of a batch, in the digits of an f32; ONNX says what they keep, 0.9f.
double share_of_batch(const OnnxNode& n) {
  const double kept = std::stod(fmt::format("{}", static_cast<float>(n.number("momentum", 1 - kUsualShare))));
  return std::stod(fmt::format("{}", static_cast<float>(1 - kept)));
}

std::optional<double> unusual_share(const OnnxNode& n) {
  const double share = share_of_batch(n);
  return share == kUsualShare ? std::nullopt : std::optional(share);
}

ValueId batch_norm(const OnnxNode& n) {
  const ops::BatchNorm norm{.x = n.in(0),
                            .scale = n.in(1),
                            .bias = n.in(2),
                            .mean = n.in(3),
                            .variance = n.in(4),
                            .epsilon = n.number("epsilon", 1e-5),
                            .momentum = unusual_share(n)};
  return ops::batch_norm(n, norm);
}

// By the statistics of this very batch; the running ones are carried on, with the variance of the population.
std::vector<ValueId> trained_batch_norm(const OnnxNode& n) {
  const double share = share_of_batch(n);
  const auto norm = ops::batch_norm_train(n, {.x = n.in(0),
                                              .scale = n.in(1),
                                              .bias = n.in(2),
                                              .mean = n.in(3),
                                              .variance = n.in(4),
                                              .epsilon = n.number("epsilon", 1e-5),
                                              .momentum = share});
  std::vector<ValueId> results{norm[0]};
  if (!n.wants(1) && !n.wants(2) && !n.wants(3) && !n.wants(4)) return results;
  const DType dtype = n.type(n.in(4)).dtype;
  const ValueId x = n.cast(n.in(0), dtype), mean = n.cast(norm[1], dtype);
  std::vector<int64_t> axes{0};
  for (size_t i = 2; i < n.rank(x); ++i) axes.push_back(static_cast<int64_t>(i));
  const ValueId centred = ops::sub(n, {x, along(n, mean, 1, n.rank(x))});
  const ValueId variance = ops::reduce_mean(n, {.x = ops::mul(n, {centred, centred}), .axes = axes, .keepdims = 0});
  const ValueId kept = ops::mul(n, {n.in(4), n.scalar(1 - share, dtype)});
  results.push_back(norm[3]);
  results.push_back(ops::add(n, {kept, ops::mul(n, {variance, n.scalar(share, dtype)})}));
  if (n.wants(3) || n.wants(4)) results.push_back(mean), results.push_back(variance);  // of opset 7 to 13
  return results;
}

std::vector<ValueId> import_batch_normalization(OnnxNode& n) {
  if (n.is_one("training_mode", false)) return trained_batch_norm(n);
  if (n.opset() < 7 && !n.is_not_zero("is_test", false))
    n.unsupported("BatchNormalization of opset 1 to 6 with is_test 0, which trains; supported: is_test 1");
  if (!n.is_not_zero("spatial", true))
    n.unsupported("BatchNormalization with spatial 0, a mean per element; supported: a mean per channel");
  if (n.opset() < 14 && (n.wants(1) || n.wants(2) || n.wants(3) || n.wants(4))) return trained_batch_norm(n);
  if (n.wants(1)) n.unsupported("BatchNormalization with more than one output and training_mode 0; it has one then");
  return {batch_norm(n)};
}

// x / (bias + alpha/size * sum of squares over `size` channels around)^beta: the sum is an average pool over the
// channels.
std::vector<ValueId> import_lrn(OnnxNode& n) {
  const TensorType type = n.type(n.in(0));
  if (n.rank(n.in(0)) < 2) fail("x is {}; accepted: [N,C,...]", to_string(type));
  const Shape& x = type.shape;
  const int64_t size = n.count("size");
  const ValueId square = ops::mul(n, {n.in(0), n.in(0)});
  const ValueId planes = n.reshape(square, {x[0], 1, x[1], element_count(Shape(x.begin() + 2, x.end()))});
  const ValueId mean = ops::avg_pool(n, {.x = planes,
                                         .kernel_shape = std::vector<int64_t>{size, 1},
                                         .pads = std::vector<int64_t>{(size - 1) / 2, 0, size / 2, 0},
                                         .count_include_pad = 1});
  const auto number = [&](const char* name, double fallback) { return n.scalar(n.number(name, fallback), type.dtype); };
  const ValueId sum = ops::mul(n, {n.reshape(mean, x), number("alpha", 1e-4)});
  const ValueId divisor = ops::pow(n, {ops::add(n, {sum, number("bias", 1)}), number("beta", 0.75)});
  return {ops::div(n, {n.in(0), divisor})};
}

constexpr OnnxOperator kOperators[] = {
    {"BatchNormalization", 1, import_batch_normalization},
    {"GroupNormalization", 18, import_group_normalization_18},
    {"GroupNormalization", 21, import_group_normalization},
    {"InstanceNormalization", 1, import_instance_normalization},
    {"LRN", 1, import_lrn},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_channel_norms_def{.name = "channel_norms", .operators = kOperators};

}  // namespace hone
