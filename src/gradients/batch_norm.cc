// batch_norm, by given statistics and by those of the batch.
#include <vector>

#include "gradients/gradient.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/batch_norm.h"
#include "ops/calls/batch_norm_train.h"
#include "ops/calls/full.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/transcendental.h"
#include "ops/sliding_window.h"

namespace hone {
namespace {

// x [N,C,...], or [N,...,C], and what there is one of for each channel.
class Channels {
 public:
  explicit Channels(const GradientArgs& a) : g_(a.graph), x_(a.operand(0)), dtype_(gradient_dtype(a.type(0).dtype)) {
    const size_t rank = a.type(0).rank(), channels = channels_last(a.op().attributes) ? rank - 1 : 1;
    for (size_t i = 0; i < rank; ++i)
      if (i != channels) summed_.push_back(static_cast<int64_t>(i));
    for (size_t i = channels + 1; i < rank; ++i) after_.push_back(static_cast<int64_t>(i - channels));
  }

  ValueId number(double value) const { return ops::full(g_, {.shape = Shape(), .value = value, .dtype = dtype_}); }
  ValueId wide(ValueId v) const { return as_dtype(g_, v, dtype_); }
  ValueId over_x(ValueId v) const {
    return after_.empty() ? wide(v) : ops::unsqueeze(g_, {.x = wide(v), .axes = after_});
  }
  ValueId sum(ValueId v) const { return ops::reduce_sum(g_, {.x = v, .axes = summed_, .keepdims = 0}); }
  ValueId elements() const { return size_along(g_, x_, {summed_.begin(), summed_.end()}, dtype_); }  // of a channel
  ValueId centred(ValueId mean) const { return ops::sub(g_, {wide(x_), over_x(mean)}); }
  ValueId mul(ValueId v, ValueId w) const { return ops::mul(g_, {v, w}); }
  ValueId scaled(double factor, ValueId v) const { return mul(number(factor), wide(v)); }

 private:
  Graph& g_;
  ValueId x_;
  DType dtype_;
  std::vector<int64_t> summed_, after_;  // axes of x but the channels; the last axes of [C,1,...]
};

std::vector<ValueId> batch_norm_gradient(const GradientArgs& a) {
  Graph& g = a.graph;
  const Channels c(a);
  const ValueId d = a.d_results[0], scale = c.wide(a.operand(1)), variance = c.wide(a.operand(4));
  const ValueId epsilon = c.number(a.op().attributes.get_or<double>("epsilon", 1e-5));
  const ValueId inverse = ops::rsqrt(g, {ops::add(g, {variance, epsilon})}), factor = c.mul(scale, inverse);
  std::vector<ValueId> gradients(5, kNone);
  if (a.wants(0)) gradients[0] = c.mul(d, c.over_x(factor));
  if (a.wants(1) || a.wants(4)) gradients[1] = c.mul(c.sum(c.mul(d, c.centred(a.operand(3)))), inverse);
  if (a.wants(2) || a.wants(3)) gradients[2] = c.sum(d);
  if (a.wants(3)) gradients[3] = ops::neg(g, {c.mul(factor, gradients[2])});
  if (a.wants(4)) gradients[4] = c.scaled(-0.5, c.mul(c.mul(factor, inverse), gradients[1]));
  return gradients;
}

ValueId sum_of(Graph& g, ValueId v, ValueId w) { return v == kNone ? w : w == kNone ? v : ops::add(g, {v, w}); }

// What the statistics' own gradients add to that of x: m = mean(x), s = (mean((x - m)²) + epsilon)^(-1/2).
ValueId by_statistics(const GradientArgs& a, const Channels& c) {
  Graph& g = a.graph;
  const double momentum = a.op().attributes.get_or<double>("momentum", 0.1);
  const ValueId mean = a.result(1), inverse = a.result(2), d_mean = a.d_results[1], d_inverse = a.d_results[2],
                d_new_mean = a.d_results[3], d_new_variance = a.d_results[4];
  ValueId of_mean = d_mean, of_squares = kNone, total = kNone;
  if (d_new_mean != kNone) of_mean = sum_of(g, of_mean, c.scaled(momentum, d_new_mean));
  if (of_mean != kNone) total = c.over_x(ops::div(g, {of_mean, c.elements()}));
  if (d_inverse != kNone) {
    const ValueId cube = c.mul(inverse, c.mul(inverse, inverse));
    of_squares = ops::div(g, {c.scaled(-1, c.mul(cube, d_inverse)), c.elements()});
  }
  if (d_new_variance != kNone) {
    const ValueId others = ops::max(g, {ops::sub(g, {c.elements(), c.number(1)}), c.number(1)});
    of_squares = sum_of(g, of_squares, ops::div(g, {c.scaled(2 * momentum, d_new_variance), others}));
  }
  if (of_squares != kNone) total = sum_of(g, total, c.mul(c.over_x(of_squares), c.centred(mean)));
  return total;
}

std::vector<ValueId> batch_norm_train_gradient(const GradientArgs& a) {
  Graph& g = a.graph;
  const Channels c(a);
  std::vector<ValueId> gradients(5, kNone);
  if (a.d_results[0] != kNone) {
    const auto all = ops::batch_norm_gradient(g, {.d = a.d_results[0],
                                                  .x = a.operand(0),
                                                  .scale = a.operand(1),
                                                  .mean = a.result(1),
                                                  .inverse_std = a.result(2),
                                                  .channels_last = channels_last(a.op().attributes)});
    for (size_t i = 0; i < 3; ++i) gradients[i] = all[i];
  }
  if (a.wants(0))
    if (const ValueId more = by_statistics(a, c); more != kNone) gradients[0] = sum_of(g, gradients[0], more);
  const ValueId moved = c.number(a.op().attributes.get_or<double>("momentum", 0.1)), one = c.number(1);
  const auto kept = [&](ValueId share, ValueId d) { return c.mul(ops::sub(g, {one, share}), c.wide(d)); };
  if (a.wants(3) && a.d_results[3] != kNone) gradients[3] = kept(moved, a.d_results[3]);
  if (a.wants(4) && a.d_results[4] != kNone) {  // all of it where there is a single element
    const ValueId others = ops::min(g, {ops::sub(g, {c.elements(), one}), one});
    gradients[4] = kept(c.mul(moved, others), a.d_results[4]);
  }
  return gradients;
}

}  // namespace

extern constinit const GradientDef batch_norm_rule_def{.op = &batch_norm_def, .rule = batch_norm_gradient};
extern constinit const GradientDef batch_norm_train_rule_def{.op = &batch_norm_train_def,
                                                             .rule = batch_norm_train_gradient};

}  // namespace hone
