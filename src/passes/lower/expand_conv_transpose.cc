// conv_transpose as convolutions. With stride s, the results at positions q * s + p of one phase p are a convolution of
// x with every s-th tap: s phases along each dimension, computed side by side as channels and then put between each
// other. Phases whose windows lie alike share one convolution; where the window is the stride, that is one product of
// every pixel. Over three dimensions they are convolutions that expand_volumes takes further.
#include "passes/lower/expand_conv_transpose.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <variant>

#include "ops/calls/concat.h"
#include "ops/calls/conv.h"
#include "ops/calls/conv_transpose.h"
#include "ops/calls/reshape.h"
#include "ops/calls/slice.h"
#include "ops/calls/transpose.h"
#include "ops/sliding_window.h"
#include "passes/lower/channels_last.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

using List = std::vector<int64_t>;

constexpr int64_t kZeroTap = -1;  // a place in a window of a phase that no tap of the kernel falls on

// Along one dimension: the taps of one phase from the first element of x that they read to the last.
struct Phase {
  List taps;
  int64_t before = 0, after = 0;  // zeros around x
  bool reads_alike(const Phase& other) const {
    return taps.size() == other.taps.size() && before == other.before && after == other.after;
  }
};

struct Axis {
  int64_t stride = 1, kernel = 1, dilation = 1;  // dilation: of the phases
  Dim places = 1, size = 1;                      // of each phase; of the result
  bool is_cut = false;                           // places * stride is more than size
  std::vector<Phase> phases{Phase{{0}, 0, 0}};
};

// The phase that begins with position `p` of all that is computed, of which `places - size of x` is `growth`.
Phase phase_at(int64_t p, const Axis& axis, int64_t dilation, int64_t growth) {
  Phase phase;
  int64_t first = 0, last = 0;  // elements of x, counted from the place
  for (int64_t tap = axis.kernel; tap-- > 0;) {
    const int64_t position = p - tap * dilation;
    if (position % axis.stride != 0) continue;
    last = position / axis.stride;
    if (phase.taps.empty()) first = last;
    phase.taps.push_back(tap);
  }
  if (phase.taps.empty()) phase.taps.push_back(kZeroTap);
  for (; first > 0; first -= axis.dilation) phase.taps.insert(phase.taps.begin(), kZeroTap);
  for (; last + growth < 0; last += axis.dilation) phase.taps.push_back(kZeroTap);
  phase.before = -first, phase.after = last + growth;
  return phase;
}

// Strides, kernels and paddings of real networks are far below; beyond, phases and their zero taps would outgrow what
// they save.
constexpr int64_t kMost = 1024;

// What can be spelled as convolutions, or why it can't.
template <class T>
using OrWhy = std::variant<T, std::string>;

std::string too_large() { return fmt::format("a stride, dilation, extent or padding above {}", kMost); }

OrWhy<Axis> axis_of(const SlidingWindow& window, size_t i, int64_t added, const Dim& x, const Dim& size,
                    bool has_output_shape) {
  for (int64_t number : {window.strides[i], window.dilations[i], window.kernel[i].constant()})
    if (number < 1 || number > kMost) return too_large();
  Axis axis{.stride = window.strides[i], .kernel = window.kernel[i].constant(), .size = size, .phases = {}};
  const Dim beyond = size - axis.stride * (x - 1);  // of the result, from the place of the last element of x on
  if (!beyond.is_constant())
    return fmt::format("how much of dimension {} is cut off follows from open sizes ({} of {})", i + 2,
                       size.to_string(), x.to_string());
  const int64_t steps = (beyond.constant() + axis.stride - 1) / axis.stride, growth = steps - 1;
  if (beyond.constant() < 1) return fmt::format("dimension {} of the result ends before x does", i + 2);
  if (beyond.constant() > kMost * kMost || std::abs(added) > kMost) return too_large();
  const int64_t cut = std::max<int64_t>(added + window.reach(i).constant() - beyond.constant(), 0);
  int64_t before = window.pads[i];
  if (window.same == SlidingWindow::Same::upper) before = cut / 2;
  else if (window.same == SlidingWindow::Same::lower || has_output_shape) before = cut - cut / 2;
  if (std::abs(before) > kMost || growth > kMost) return too_large();
  axis.places = x + growth;
  axis.is_cut = steps * axis.stride != beyond.constant();
  axis.dilation = window.dilations[i] / std::gcd(window.dilations[i], axis.stride);
  for (int64_t p = 0; p < axis.stride; ++p)
    axis.phases.push_back(phase_at(p + before, axis, window.dilations[i], growth));
  return axis;
}

// Of the spatial dimensions, the last ones of depth, rows and columns; those that are missing are one element.
struct Plan {
  std::array<Axis, 3> axes;
  int64_t groups = 1, inputs = 0, outputs = 0;  // channels
  size_t dims = 2;

  const Axis& depth() const { return axes[0]; }
  const Axis& rows() const { return axes[1]; }
  const Axis& columns() const { return axes[2]; }
  bool is_volume() const { return dims == 3; }
  int64_t phases() const { return depth().stride * rows().stride * columns().stride; }
};

OrWhy<Plan> plan_of(const Graph& graph, const Node& node) {
  const Tensor* weight = graph.constant(node.operands[1]);
  const TensorType &x = graph.type(node.operands[0]), &y = graph.type(node.results[0]);
  if (!weight) return "weights that are no constant";
  if (weight->is_packed()) return "packed weights";
  if (!x.ranked || !y.ranked) return "a rank that is not known";
  const size_t dims = x.rank() - 2;
  for (ValueId v : node.operands)
    if (dims == 3 && v != kNone && graph.type(v).dtype != DType::f32)
      return fmt::format("three dimensions of {}", to_string(graph.type(v).dtype));
  const SlidingWindow window = read_sliding_window(node.attributes, spatial(to_shape(weight->shape())));
  const List added = node.attributes.get_or<List>("output_padding", List(dims, 0));
  if (weight->elements() == 0) return "weights without elements";
  Plan plan{.groups = node.attributes.get_or<int64_t>("groups", 1), .inputs = weight->dim(0), .dims = dims};
  if (plan.groups < 1 || plan.inputs % plan.groups != 0) return "channels that do not fall into its groups";
  plan.outputs = weight->dim(1) * plan.groups;
  for (size_t i = 0; i < dims; ++i) {
    OrWhy<Axis> axis =
        axis_of(window, i, added[i], x.shape[i + 2], y.shape[i + 2], node.attributes.has("output_shape"));
    if (const auto* why = std::get_if<std::string>(&axis)) return *why;
    plan.axes[3 - dims + i] = std::get<Axis>(std::move(axis));
  }
  if (plan.depth().stride * plan.rows().stride > kMost || plan.phases() > kMost) return too_large();
  return plan;
}

// Phases of all dimensions, in row-major order, that one convolution computes.
using Place = std::array<const Phase*, 3>;
using Part = std::vector<Place>;

std::vector<Part> parts_of(const Plan& plan) {
  std::vector<Part> parts;
  const auto add = [&](const Place& place) {
    // Grouped convolutions order their results by group first, so phases can't be side by side there.
    const bool joins =
        !parts.empty() && plan.groups == 1 &&
        std::ranges::equal(parts.back()[0], place, [](const Phase* a, const Phase* b) { return a->reads_alike(*b); });
    if (!joins) parts.emplace_back();
    parts.back().push_back(place);
  };
  for (const Phase& plane : plan.depth().phases)
    for (const Phase& row : plan.rows().phases)
      for (const Phase& column : plan.columns().phases) add({&plane, &row, &column});
  return parts;
}

// Along each dimension of the convolutions, which of a line have two.
template <class Of>
List of_each(const Plan& plan, const Of& of) {
  List list;
  for (size_t i = plan.is_volume() ? 0 : 1; i < 3; ++i) list.push_back(of(i));
  return list;
}

// weights [C, O/groups, ...] as those of the part's convolution: of lines and planes the matrix
// [phases * O, window * C/groups], of volumes [phases * O, C/groups, ...].
Tensor weights_of(const Plan& plan, const Part& part, const Tensor& weight) {
  const std::vector<double> w = weight.to_doubles();
  const int64_t group_inputs = plan.inputs / plan.groups, group_outputs = plan.outputs / plan.groups;
  std::vector<double> all;
  const auto append = [&](int64_t o, int64_t c, const std::array<int64_t, 3>& taps) {
    int64_t at = (o / group_outputs * group_inputs + c) * group_outputs + o % group_outputs;
    for (size_t i = 0; i < 3; ++i) at = at * plan.axes[i].kernel + taps[i];
    const bool is_zero = std::ranges::find(taps, kZeroTap) != taps.end();
    all.push_back(is_zero ? 0 : w[static_cast<size_t>(at)]);
  };
  const auto each_tap = [](const Place& place, const auto& f) {
    for (int64_t plane : place[0]->taps)
      for (int64_t row : place[1]->taps)
        for (int64_t column : place[2]->taps) f(std::array{plane, row, column});
  };
  const auto each_channel = [&](const auto& f) {
    for (int64_t c = 0; c < group_inputs; ++c) f(c);
  };
  for (const Place& place : part)
    for (int64_t o = 0; o < plan.outputs; ++o)
      if (plan.is_volume())
        each_channel([&](int64_t c) { each_tap(place, [&](const auto& taps) { append(o, c, taps); }); });
      else each_tap(place, [&](const auto& taps) { each_channel([&](int64_t c) { append(o, c, taps); }); });
  List shape{static_cast<int64_t>(part.size()) * plan.outputs, group_inputs};
  for (size_t i = 0; i < 3; ++i)
    if (plan.is_volume()) shape.push_back(std::ssize(part[0][i]->taps));
    else shape[1] *= std::ssize(part[0][i]->taps);
  return Tensor::from_doubles(weight.dtype(), shape, all);
}

ValueId convolution(Graph& graph, const Plan& plan, const Part& part, ValueId x, ValueId weight, ValueId bias) {
  const Place& place = part[0];
  std::vector<ValueId> operands{x, graph.add_constant("", weights_of(plan, part, *graph.constant(weight)))};
  if (bias != kNone && part.size() > 1)
    bias = ops::concat(graph, {.inputs = std::vector<ValueId>(part.size(), bias), .axis = 0});
  if (bias != kNone) operands.push_back(bias);
  List pads = of_each(plan, [&](size_t i) { return place[i]->before; });
  const List after = of_each(plan, [&](size_t i) { return place[i]->after; });
  pads.insert(pads.end(), after.begin(), after.end());
  Attributes attributes{{"pads", pads},
                        {"dilations", of_each(plan, [&](size_t i) { return plan.axes[i].dilation; })},
                        {"groups", plan.groups}};
  if (plan.is_volume()) return graph.emit(conv_def, operands, attributes);
  attributes.set("kernel_shape", of_each(plan, [&](size_t i) { return std::ssize(place[i]->taps); }));
  return emit_convolution(graph, operands, attributes);
}

// Phases of three strides, side by side: [N,D,H,W,phases*C] as [N,D*depth,H*down,W*across,C].
ValueId interleaved_volumes(Graph& graph, const Plan& plan, ValueId phases) {
  const int64_t depth = plan.depth().stride, down = plan.rows().stride, across = plan.columns().stride;
  if (plan.phases() == 1) return phases;
  const Shape s = graph.type(phases).shape;
  const Dim row = floordiv(s[4], depth * down);
  const auto reshaped = [&](ValueId v, const Shape& to) { return ops::reshape(graph, {.x = v, .shape = to}); };
  if (depth * down > 1) {
    phases = reshaped(phases, {s[0] * s[1], s[2], s[3], depth, down, row});
    phases = ops::transpose(graph, {.x = phases, .perm = List{0, 3, 1, 4, 2, 5}});
  }
  return reshaped(phases, {s[0], s[1] * depth, s[2] * down, s[3] * across, floordiv(row, across)});
}

ValueId cut(Graph& graph, const Plan& plan, ValueId y) {
  if (std::ranges::none_of(plan.axes, &Axis::is_cut)) return y;
  Shape ends;
  List axes;
  for (size_t i = plan.is_volume() ? 0 : 1; i < 3; ++i) {
    axes.push_back(std::ssize(axes) + 1);
    ends.push_back(plan.axes[i].size);
  }
  return ops::slice(graph, {.x = y, .starts = Shape(ends.size(), 0), .ends = ends, .axes = axes});
}

// A constant that is one number, or one for each channel of results of `rank` dimensions.
bool is_per_channel(const Graph& graph, ValueId id, size_t rank, int64_t channels) {
  const Tensor* tensor = graph.constant(id);
  if (!tensor || tensor->is_packed()) return false;
  const size_t size = tensor->shape().size();
  const bool has_channels = size + 1 >= rank && size <= rank && tensor->shape()[size + 1 - rank] == channels;
  return tensor->elements() == 1 || (tensor->elements() == channels && has_channels);
}

// The only user of a value, if it is pointwise and treats all pixels of a channel alike; else kNone.
NodeId user_alike(const Graph& graph, ValueId v, int64_t channels) {
  const std::vector<Graph::Use> uses = graph.uses(v);
  if (uses.size() != 1 || graph.use_count(v) != 1) return kNone;
  const Node& user = graph.node(uses[0].node);
  if (!user.op->pointwise || graph.type(user.results[0]).shape != graph.type(v).shape) return kNone;
  for (ValueId operand : user.operands)
    if (operand != v && !is_per_channel(graph, operand, graph.type(v).rank(), channels)) return kNone;
  return uses[0].node;
}

// The user of `v` on all phases side by side.
ValueId on_phases(Graph& graph, const Plan& plan, NodeId user, ValueId v, ValueId phases) {
  const Node node = graph.node(user);
  const auto count = static_cast<size_t>(plan.phases());
  std::vector<ValueId> operands;
  for (ValueId operand : node.operands) {
    if (operand == v) {
      operands.push_back(phases);
      continue;
    }
    const Tensor constant = *graph.constant(operand);
    const bool is_number = constant.elements() == 1;
    const ValueId one = graph.add_constant("", constant.reshaped(is_number ? List{} : List{plan.outputs}));
    operands.push_back(is_number ? one : ops::concat(graph, {.inputs = std::vector<ValueId>(count, one), .axis = 0}));
  }
  return graph.emit(*node.op, operands, node.attributes);
}

// All phases of a result side by side, channels last.
ValueId all_phases(Graph& graph, const Plan& plan, const std::vector<ValueId>& phases) {
  const int64_t axis = plan.is_volume() ? 1 : 3;
  const ValueId all = phases.size() == 1 ? phases[0] : ops::concat(graph, {.inputs = phases, .axis = axis});
  return plan.is_volume() ? ops::transpose(graph, {.x = all, .perm = List{0, 2, 3, 4, 1}}) : all;
}

// Where they belong, channels first.
ValueId put_between(Graph& graph, const Plan& plan, ValueId all) {
  if (!plan.is_volume())
    return to_channels_first(
        graph, cut(graph, plan, interleaved(graph, all, plan.rows().stride, plan.columns().stride)), plan.dims + 2);
  const ValueId volumes = cut(graph, plan, interleaved_volumes(graph, plan, all));
  return ops::transpose(graph, {.x = volumes, .perm = List{0, 4, 1, 2, 3}});
}

// What the convolutions give goes through the pointwise users first: they work in the epilogue of these.
void expand(Graph& graph, NodeId id, const Plan& plan) {
  const Node node = graph.node(id);
  const ValueId weight = node.operands[1], bias = node.operands.size() > 2 ? node.operands[2] : kNone;
  graph.set_insertion_point(id);
  const ValueId x = plan.is_volume() ? node.operands[0] : to_channels_last(graph, node.operands[0]);
  std::vector<ValueId> phases;
  for (const Part& part : parts_of(plan)) phases.push_back(convolution(graph, plan, part, x, weight, bias));
  ValueId all = all_phases(graph, plan, phases);
  std::vector<NodeId> replaced{id};
  while (true) {
    const ValueId y = graph.result(replaced.back());
    const NodeId user = user_alike(graph, y, plan.outputs);
    if (user == kNone) break;
    all = on_phases(graph, plan, user, y, all);
    replaced.push_back(user);
  }
  const ValueId last = graph.result(replaced.back());
  const TensorType type = graph.type(last);
  const ValueId result = put_between(graph, plan, all);
  graph.refine_type(result, type);
  graph.replace_all_uses(last, result);
  graph.set_insertion_point(kNone);
  for (auto old = replaced.rbegin(); old != replaced.rend(); ++old) graph.erase(*old);
  for (ValueId phase : phases) {
    const ValueId made = graph.operand(graph.producer(phase), 1);
    graph.set_label(made, derived_label(graph, weight, ".phase"));
  }
}

Graph expand_conv_transpose(Graph graph, const PassContext&) {
  for (NodeId id : graph.nodes(conv_transpose_def)) {
    const OrWhy<Plan> plan = plan_of(graph, graph.node(id));
    if (const auto* known = std::get_if<Plan>(&plan)) expand(graph, id, *known);
  }
  graph.erase_unused_constants();
  return graph;
}

}  // namespace

std::string why_not_convolutions(const Graph& graph, const Node& node) {
  const OrWhy<Plan> plan = plan_of(graph, node);
  const auto* why = std::get_if<std::string>(&plan);
  return why ? *why : "sizes that were open when convolutions were made of others";
}

extern constinit const PassDef expand_conv_transpose_def{
    .name = "expand_conv_transpose",
    .doc =
        "conv_transpose with constant weights → stride-1 convolutions, one for each phase of the stride, put between "
        "each other; a linear where the window is the stride.",
    .run = expand_conv_transpose};

}  // namespace hone
