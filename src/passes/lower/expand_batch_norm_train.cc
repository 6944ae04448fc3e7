// batch_norm in training and its gradient as reductions over all axes but the channels and what is computed for each
// element from them. The mean is taken first and squares are those of distances from it: E(x²) - E(x)² loses all digits
// where a mean is large beside its deviation.
#include <algorithm>

#include "ops/calls/arithmetic.h"
#include "ops/calls/batch_norm_train.h"
#include "ops/calls/cast.h"
#include "ops/calls/gather.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/shape_of.h"
#include "ops/calls/transcendental.h"
#include "ops/sliding_window.h"
#include "passes/pass.h"

namespace hone {
namespace {

using Axes = std::vector<int64_t>;

class BatchNorm {
 public:
  BatchNorm(Graph& graph, const Node& node, ValueId x)
      : g_(graph), shape_(graph.type(x).shape), last_(channels_last(node.attributes) || shape_.size() == 2) {
    const auto rank = static_cast<int64_t>(shape_.size()), channels = last_ ? rank - 1 : int64_t{1};
    for (int64_t axis = 0; axis < rank; ++axis)
      if (axis != channels) axes_.push_back(axis);
  }

  ValueId number(double value) { return g_.add_scalar(static_cast<float>(value)); }
  // n, the elements of a channel: a number, or what follows from the sizes of `x`.
  ValueId elements(ValueId x) {
    Dim count = 1;
    for (int64_t axis : axes_) count = count * shape_[static_cast<size_t>(axis)];
    if (count.is_constant()) return number(static_cast<double>(count.constant()));
    const ValueId axes = g_.add_constant("", Tensor::of<int64_t>({std::ssize(axes_)}, axes_));
    const ValueId sizes = ops::gather(g_, {.table = ops::shape_of(g_, {x}), .indices = axes, .axis = 0});
    return ops::cast(g_,
                     {.x = ops::reduce_prod(g_, {.x = sizes, .axes = Axes{0}, .keepdims = 0}), .dtype = DType::f32});
  }
  ValueId share(ValueId x) { return ops::div(g_, {number(1), elements(x)}); }
  ValueId sum(ValueId x) { return ops::reduce_sum(g_, {.x = x, .axes = axes_, .keepdims = 0}); }
  // One number for each channel beside elements.
  ValueId along(ValueId v) {
    Axes behind;  // the channels
    for (int64_t axis = 1; !last_ && axis < std::ssize(axes_); ++axis) behind.push_back(axis);
    return behind.empty() ? v : ops::unsqueeze(g_, {.x = v, .axes = behind});
  }
  ValueId add(ValueId a, ValueId b) { return ops::add(g_, {a, b}); }
  ValueId sub(ValueId a, ValueId b) { return ops::sub(g_, {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return ops::mul(g_, {a, b}); }

  std::vector<ValueId> train(const Node& node) {
    const ValueId x = node.operands[0];
    const auto epsilon = node.attributes.get_or<double>("epsilon", 1e-5),
               momentum = node.attributes.get_or<double>("momentum", 0.1);
    const ValueId of_each = share(x), mean = mul(sum(x), of_each), distance = sub(x, along(mean));
    const ValueId squares = sum(mul(distance, distance));
    const ValueId inverse = ops::rsqrt(g_, {add(mul(squares, of_each), number(epsilon))});
    const ValueId y = add(mul(distance, along(mul(inverse, node.operands[1]))), along(node.operands[2]));
    const auto running = [&](ValueId before, ValueId now, ValueId of_now) {
      return add(before, mul(sub(now, before), of_now));
    };
    // A single element, or none, has no variance of the sample: the running one takes nothing of it.
    const ValueId others = ops::max(g_, {sub(elements(x), number(1)), number(0)}), least = number(1);
    const ValueId variance = ops::div(g_, {squares, ops::max(g_, {others, least})}),
                  of_variance = mul(number(momentum), ops::min(g_, {others, least}));
    return {y, mean, inverse, running(node.operands[3], mean, number(momentum)),
            running(node.operands[4], variance, of_variance)};
  }

  std::vector<ValueId> gradient(const Node& node) {
    const ValueId d = node.operands[0], inverse = node.operands[4], of_each = share(d);
    const ValueId normal = mul(sub(node.operands[1], along(node.operands[3])), along(inverse));
    const ValueId d_bias = sum(d), d_scale = sum(mul(d, normal));
    const ValueId from_mean = along(mul(d_bias, of_each)), from_deviation = mul(normal, along(mul(d_scale, of_each)));
    const ValueId d_x = mul(sub(sub(d, from_mean), from_deviation), along(mul(node.operands[2], inverse)));
    return {d_x, d_scale, d_bias};
  }

 private:
  Graph& g_;
  const Shape shape_;
  const bool last_;
  Axes axes_;
};

bool is_all_f32(const Graph& graph, const Node& node) {
  return std::ranges::all_of(node.operands, [&](ValueId v) {
    return v != kNone && graph.type(v).dtype == DType::f32 && graph.type(v).ranked && !graph.type(v).is_packed();
  });
}

Graph expand_batch_norm_train(Graph graph, const PassContext&) {
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId id : nodes) {
    const Node node = graph.node(id);
    const bool trains = node.op == &batch_norm_train_def;
    if ((!trains && node.op != &batch_norm_gradient_def) || !is_all_f32(graph, node)) continue;
    graph.set_insertion_point(id);
    BatchNorm norm(graph, node, node.operands[trains ? 0 : 1]);
    const std::vector<ValueId> results = trains ? norm.train(node) : norm.gradient(node);
    graph.set_insertion_point(kNone);
    for (size_t i = 0; i < results.size(); ++i) graph.replace_all_uses(node.results[i], results[i]);
    graph.erase(id);
  }
  return graph;
}

}  // namespace

extern constinit const PassDef expand_batch_norm_train_def{
    .name = "expand_batch_norm_train",
    .doc =
        "batch_norm_train and its gradient, of f32 and known numbers of elements → sums over each channel and "
        "pointwise "
        "ops.",
    .run = expand_batch_norm_train};

}  // namespace hone
