// nll_loss: the negative log-likelihood of labels.
#include <optional>

#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"reduction", AttributeKind::string, false, "mean (default; weighted), sum, or none"},
    {"ignore_index", AttributeKind::integer, false, "positions with this label do not count; default: none is ignored"},
};

std::string reduction_of(const Attributes& attributes) {
  const std::string how = attributes.get_or<std::string>("reduction", "mean");
  if (how != "mean" && how != "sum" && how != "none") fail("reduction is \"{}\"; accepted: mean, sum, none", how);
  return how;
}

std::vector<TensorType> infer_nll_loss(const InferArgs& a) {
  expect_float(a[0], "x");
  expect_index(a[1], "labels");
  if (a[0].rank() < 2) fail("x is {}; accepted: [N,C,...]", to_string(a[0]));
  expect_rank(a[1], a[0].rank() - 1, a[0].rank() - 1, "labels [N,...]");
  for (size_t i = 0; i < a[1].rank(); ++i)
    expect_dim(a[1].shape[i], a[0].shape[i == 0 ? 0 : i + 1], "a dimension of labels [N,...], as in x [N,C,...],");
  if (a.has(2)) {
    expect_float(a[2], "weight");
    expect_rank(a[2], 1, 1, "weight");
    expect_dim(a[2].shape[0], a[0].shape[1], "the length of weight, one per class of x [N,C,...],");
  }
  return {plain_type(a[0].dtype, reduction_of(a.attributes) == "none" ? a[1].shape : Shape())};
}

std::vector<Tensor> eval_nll_loss(const EvalArgs& a) {
  const std::vector<double> x = a[0].to_doubles(), weight = a.has(2) ? a[2].to_doubles() : std::vector<double>();
  const std::vector<int64_t> labels = a[1].to_integers();
  const AxisView view = around_axis(a[0].shape(), 1);
  std::optional<int64_t> ignored;
  if (a.attributes.has("ignore_index")) ignored = a.attributes.get<int64_t>("ignore_index");
  std::vector<double> losses(labels.size(), 0.0);
  double sum = 0, sum_of_weights = 0;
  for (size_t at = 0; at < labels.size(); ++at) {
    const int64_t label = labels[at], o = static_cast<int64_t>(at) / view.inner,
                  j = static_cast<int64_t>(at) % view.inner;
    if (label == ignored) continue;
    if (label < 0 || label >= view.length)
      fail("nll_loss: label {} at position {} is not a class; accepted: 0 to {}", label, at, view.length - 1);
    const double w = a.has(2) ? weight[static_cast<size_t>(label)] : 1;
    losses[at] = -w * x[static_cast<size_t>((o * view.length + label) * view.inner + j)];
    sum += losses[at];
    sum_of_weights += w;
  }
  const std::string how = reduction_of(a.attributes);
  if (how != "none") losses = {how == "sum" ? sum : sum / sum_of_weights};
  return {Tensor::from_doubles(a.results[0].dtype, sizes_of(a.results[0]), losses)};
}

}  // namespace

extern constinit const OpDef nll_loss_def{
    .name = "nll_loss",
    .doc =
        "-weight[label] * x[n,label,...] for x[N,C,...], labels[N,...], weight[C] (1 when absent); their sum, or their "
        "sum over the sum of those weights: NaN when every label is ignored.",
    .operands = {"x", "labels", optional("weight")},
    .attributes = kAttributes,
    .infer = infer_nll_loss,
    .eval = eval_nll_loss};

}  // namespace hone
