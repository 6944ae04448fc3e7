#include "train/synchronised_norm.h"

#include "gradients/gradient.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/concat.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/slice.h"
#include "ops/calls/sum_over_ranks.h"
#include "ops/calls/transcendental.h"
#include "ops/sliding_window.h"

namespace hone {
namespace {

class Norm {
 public:
  Norm(Graph& graph, const Node& norm)
      : g_(graph),
        norm_(norm),
        x_(as_dtype(graph, norm.operands[0], DType::f32)),
        channels_(channels_last(norm.attributes) ? rank() - 1 : 1) {
    for (size_t i = 0; i < rank(); ++i)
      if (i != channels_) summed_.push_back(i);
    for (size_t i = channels_ + 1; i < rank(); ++i) after_.push_back(static_cast<int64_t>(i - channels_));
  }

  // The sums of the squares are of differences from the mean, as in batch_norm_train: two rounds, and no cancellation.
  SynchronisedNorm emit() {
    const ValueId own_elements = ops::reshape(g_, {.x = size_along(g_, x_, summed_, DType::f32), .shape = Shape{1}});
    const ValueId sums = over_ranks({sum(x_), own_elements});
    const Dim count = g_.type(norm_.operands[1]).shape[0];
    const ValueId elements = part(sums, count, 1), mean = div(part(sums, 0, count), elements);
    const ValueId centred = ops::sub(g_, {x_, along_channels(mean)});
    const ValueId squares = over_ranks({sum(mul(centred, centred))});
    const ValueId inverse =
        ops::rsqrt(g_, {ops::add(g_, {div(squares, elements), number(attribute("epsilon", 1e-5))})});
    const ValueId y = ops::add(
        g_, {mul(centred, along_channels(mul(inverse, norm_.operands[1]))), along_channels(norm_.operands[2])});
    const ValueId momentum = number(attribute("momentum", 0.1)), others = ops::sub(g_, {elements, number(1)});
    const ValueId sample_variance = div(squares, ops::max(g_, {others, number(1)})),
                  of_variance = mul(momentum, ops::min(g_, {others, number(1)}));  // of one element, nothing
    return {.y = as_dtype(g_, y, g_.type(norm_.operands[0]).dtype),
            .running_mean = followed(norm_.operands[3], mean, momentum),
            .running_variance = followed(norm_.operands[4], sample_variance, of_variance)};
  }

 private:
  size_t rank() const { return g_.type(norm_.operands[0]).rank(); }
  double attribute(const char* name, double usual) const { return norm_.attributes.get_or<double>(name, usual); }
  ValueId number(double value) { return g_.add_scalar(static_cast<float>(value)); }
  ValueId mul(ValueId a, ValueId b) { return ops::mul(g_, {a, b}); }
  ValueId div(ValueId a, ValueId b) { return ops::div(g_, {a, b}); }
  ValueId sum(ValueId v) {
    return ops::reduce_sum(g_, {.x = v, .axes = std::vector<int64_t>(summed_.begin(), summed_.end()), .keepdims = 0});
  }
  ValueId over_ranks(std::vector<ValueId> vectors) {
    return ops::sum_over_ranks(g_,
                               {vectors.size() == 1 ? vectors[0] : ops::concat(g_, {.inputs = vectors, .axis = 0})});
  }
  ValueId part(ValueId vector, const Dim& begin, const Dim& length) {
    return ops::slice(
        g_, {.x = vector, .starts = Shape{begin}, .ends = Shape{begin + length}, .axes = std::vector<int64_t>{0}});
  }
  ValueId along_channels(ValueId v) { return after_.empty() ? v : ops::unsqueeze(g_, {.x = v, .axes = after_}); }
  ValueId followed(ValueId running, ValueId of_batch, ValueId share) {
    return ops::add(g_, {running, mul(share, ops::sub(g_, {of_batch, running}))});
  }

  Graph& g_;
  const Node& norm_;
  const ValueId x_;
  const size_t channels_;
  std::vector<size_t> summed_;  // axes of x but the channels
  std::vector<int64_t> after_;  // the last axes of [C,1,...]
};

}  // namespace

SynchronisedNorm synchronised_norm(Graph& graph, const Node& norm) { return Norm(graph, norm).emit(); }

}  // namespace hone
