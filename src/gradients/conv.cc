// Convolutions: each of conv, its gradients and conv_transpose is linear in either operand, and the gradient by one is
// another of them on the other two.
#include <algorithm>

#include "base/error.h"
#include "gradients/accumulate.h"
#include "gradients/gradient.h"
#include "ops/calls/conv.h"
#include "ops/calls/conv_gradient.h"
#include "ops/calls/conv_transpose.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/slice.h"
#include "ops/calls/transpose.h"
#include "ops/conv_weights.h"
#include "ops/sliding_window.h"

namespace hone {
namespace {

using List = std::vector<int64_t>;

Shape spatial_sizes(const Attributes& attributes, const Shape& images) {
  return spatial(channels_first(attributes, images));
}

// What conv is told about its window, that all of them are told.
Attributes window_attributes(const Attributes& attributes) {
  Attributes window;
  for (const char* name : {"strides", "pads", "dilations", "auto_pad", "groups", "channels_last"})
    if (const auto found = attributes.items().find(name); found != attributes.items().end())
      window.set(name, found->second);
  return window;
}

ValueId input_gradient(Graph& g, Attributes window, ValueId d, ValueId w, const Shape& sizes) {
  window.set("sizes", sizes);
  return g.emit(conv_input_gradient_def, {d, w}, std::move(window));
}

// Of weights of that shape, or a matrix of them, which the window's extents are then `kernel_shape` of.
ValueId weight_gradient(Graph& g, Attributes window, ValueId d, ValueId x, const Shape& w, const Attributes& node) {
  if (w.size() == 2) window.set("matrix", int64_t{1});
  const Shape kernel = spatial(conv_weight_shape(node, w));
  if (!std::ranges::all_of(kernel, &Dim::is_constant))
    fail("the window of {} has sizes that are not known before a run", to_string(kernel));
  window.set("kernel_shape", constant_shape(kernel));
  return g.emit(conv_weight_gradient_def, {d, x}, std::move(window));
}

ValueId bias_gradient(Graph& g, const Attributes& attributes, ValueId d) {
  const auto rank = static_cast<int64_t>(g.type(d).rank());
  const int64_t channels = channels_last(attributes) ? rank - 1 : 1;
  List axes;
  for (int64_t i = 0; i < rank; ++i)
    if (i != channels) axes.push_back(i);
  return ops::reduce_sum(g, {.x = d, .axes = axes, .keepdims = 0});
}

// The attributes of conv for weights that are, or are not, a matrix.
Attributes conv_attributes(const GradientArgs& a) {
  Attributes attributes = window_attributes(a.op().attributes);
  if (a.op().attributes.has("kernel_shape"))
    attributes.set("kernel_shape", a.op().attributes.get<List>("kernel_shape"));
  return attributes;
}

// Of weights whose channels have their planes together: as of what conv is then in nodes, with the channels of a plane
// together.
std::vector<ValueId> gradients_over_planes(const GradientArgs& a, int64_t planes) {
  Graph& g = a.graph;
  std::vector<ValueId> operands;
  for (size_t i = 0; i < a.op().operands.size(); ++i)
    operands.push_back(a.op().operands[i] == kNone ? kNone : wide_operand(a, i));
  const Shape w = a.type(1).shape;
  Shape by_channel{w[0], floordiv(w[1], planes), planes};
  by_channel.insert(by_channel.end(), w.begin() + 2, w.end());
  List perm{0, 2, 1};
  for (size_t i = 2; i < w.size(); ++i) perm.push_back(static_cast<int64_t>(i) + 1);
  const ValueId split = ops::reshape(g, {.x = operands[1], .shape = by_channel});
  std::vector<ValueId> of_plain = operands;
  of_plain[1] = ops::reshape(g, {.x = ops::transpose(g, {.x = split, .perm = perm}), .shape = w});
  const ValueId plain = g.emit(conv_def, of_plain, conv_attributes(a));
  return gradients_through(a, {&plain, 1}, operands);
}

std::vector<ValueId> conv_gradient(const GradientArgs& a) {
  if (const auto planes = a.op().attributes.get_or<int64_t>("planes", 1); planes > 1)
    return gradients_over_planes(a, planes);
  Graph& g = a.graph;
  const Attributes& attributes = a.op().attributes;
  const ValueId d = a.d_results[0];
  std::vector<ValueId> gradients(a.op().operands.size(), kNone);
  if (a.wants(0))
    gradients[0] = input_gradient(g, conv_attributes(a), d, a.operand(1), spatial_sizes(attributes, a.type(0).shape));
  if (a.wants(1))
    gradients[1] = weight_gradient(g, window_attributes(attributes), d, a.operand(0), a.type(1).shape, attributes);
  if (a.wants(2)) gradients[2] = bias_gradient(g, attributes, d);
  return gradients;
}

// Of conv_input_gradient(d, w), with u the gradient of its result.
std::vector<ValueId> by_input_gradient(const GradientArgs& a) {
  const ValueId u = a.d_results[0];
  std::vector<ValueId> gradients(2, kNone);
  if (a.wants(0)) gradients[0] = a.graph.emit(conv_def, {u, a.operand(1)}, conv_attributes(a));
  if (a.wants(1))
    gradients[1] = weight_gradient(a.graph, window_attributes(a.op().attributes), a.operand(0), u, a.type(1).shape,
                                   a.op().attributes);
  return gradients;
}

// Of conv_weight_gradient(d, x).
std::vector<ValueId> by_weight_gradient(const GradientArgs& a) {
  const ValueId u = a.d_results[0];
  const Attributes& attributes = a.op().attributes;
  Attributes window = window_attributes(attributes);
  if (attributes.get_or<int64_t>("matrix", 0) != 0) window.set("kernel_shape", attributes.get<List>("kernel_shape"));
  std::vector<ValueId> gradients(2, kNone);
  if (a.wants(0)) gradients[0] = a.graph.emit(conv_def, {a.operand(1), u}, window);
  if (a.wants(1))
    gradients[1] = input_gradient(a.graph, window, a.operand(0), u, spatial_sizes(attributes, a.type(1).shape));
  return gradients;
}

// --- conv_transpose --------------------------------------------------------------------------------------------------

// d of a conv_transpose, and pads under which a conv over it has a place for each element of x. That is what was cut
// off; where output_padding added more after the end than was cut there, d loses what no product reached.
struct Reached {
  ValueId d;
  List pads;
};

Reached reached_part(const GradientArgs& a) {
  const Shape &x = a.type(0).shape, &w = a.type(1).shape, &y = a.graph.type(a.result()).shape;
  const SlidingWindow window = read_sliding_window(a.op().attributes, spatial(w));
  const size_t dims = window.dims();
  const bool centred = window.same != SlidingWindow::Same::no || a.op().attributes.has("output_shape");
  const List added = a.op().attributes.get_or<List>("output_padding", List(dims, 0));
  Reached part{a.d_results[0], List(2 * dims, 0)};
  Shape starts, ends;
  List axes;
  for (size_t i = 0; i < dims; ++i) {
    const Dim beyond = window.strides[i] * (x[i + 2] - 1) + window.reach(i) - y[i + 2];  // cut off in all
    if (!beyond.is_constant())
      fail("how much of spatial dimension {} is cut off, {}, is not known before a run", i, beyond.to_string());
    int64_t before = window.pads[i];
    if (centred) {
      const int64_t cut = std::max<int64_t>(beyond.constant() + added[i], 0);
      before = window.same == SlidingWindow::Same::upper ? cut / 2 : cut - cut / 2;
    }
    const int64_t after = beyond.constant() - before;
    part.pads[i] = before, part.pads[i + dims] = std::max<int64_t>(after, 0);
    if (after >= 0) continue;
    starts.push_back(0);
    ends.push_back(y[i + 2] + after);
    axes.push_back(static_cast<int64_t>(i) + 2);
  }
  if (!axes.empty()) part.d = ops::slice(a.graph, {.x = part.d, .starts = starts, .ends = ends, .axes = axes});
  return part;
}

std::vector<ValueId> conv_transpose_gradient(const GradientArgs& a) {
  Graph& g = a.graph;
  std::vector<ValueId> gradients(a.op().operands.size(), kNone);
  if (a.wants(0) || a.wants(1)) {
    const Reached part = reached_part(a);
    Attributes window = window_attributes(a.op().attributes);
    window.erase("auto_pad");
    window.set("pads", part.pads);
    if (a.wants(0)) gradients[0] = g.emit(conv_def, {part.d, a.operand(1)}, window);
    if (a.wants(1)) gradients[1] = weight_gradient(g, window, a.operand(0), part.d, a.type(1).shape, {});
  }
  if (a.wants(2)) gradients[2] = bias_gradient(g, {}, a.d_results[0]);
  return gradients;
}

}  // namespace

extern constinit const GradientDef conv_rule_def{.op = &conv_def, .rule = conv_gradient};
extern constinit const GradientDef conv_input_gradient_rule_def{.op = &conv_input_gradient_def,
                                                                .rule = by_input_gradient};
extern constinit const GradientDef conv_weight_gradient_rule_def{.op = &conv_weight_gradient_def,
                                                                 .rule = by_weight_gradient};
extern constinit const GradientDef conv_transpose_rule_def{.op = &conv_transpose_def, .rule = conv_transpose_gradient};

}  // namespace hone
