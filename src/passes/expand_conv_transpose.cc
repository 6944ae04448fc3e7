// conv_transpose as convolutions. With stride s, the results at positions q * s + p of one phase p are a convolution of
// x with every s-th tap: s phases along each dimension, computed side by side as channels and then put between each
// other. Phases whose windows lie alike share one convolution; where the window is the stride, that is one product of
// every pixel.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "ir/unbacked.h"
#include "ops/calls.h"
#include "ops/sliding_window.h"
#include "passes/channels_last.h"
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

// None where it depends on sizes that are not known how much of the result is cut off.
std::optional<Axis> axis_of(const SlidingWindow& window, size_t i, int64_t added, const Dim& x, const Dim& size,
                            bool has_output_shape) {
  if (!window.kernel[i].is_constant()) return std::nullopt;
  for (int64_t number : {window.strides[i], window.dilations[i], window.kernel[i].constant()})
    if (number < 1 || number > kMost) return std::nullopt;
  Axis axis{.stride = window.strides[i], .kernel = window.kernel[i].constant(), .size = size, .phases = {}};
  const Dim beyond = size - axis.stride * (x - 1);  // of the result, from the place of the last element of x on
  if (!beyond.is_constant()) return std::nullopt;
  const int64_t steps = (beyond.constant() + axis.stride - 1) / axis.stride, growth = steps - 1;
  if (beyond.constant() < 1 || beyond.constant() > kMost * kMost || std::abs(added) > kMost) return std::nullopt;
  const int64_t cut = std::max<int64_t>(added + window.reach(i).constant() - beyond.constant(), 0);
  int64_t before = window.pads[i];
  if (window.same == SlidingWindow::Same::upper) before = cut / 2;
  else if (window.same == SlidingWindow::Same::lower || has_output_shape) before = cut - cut / 2;
  if (std::abs(before) > kMost || growth > kMost) return std::nullopt;
  axis.places = x + growth;
  axis.is_cut = steps * axis.stride != beyond.constant();
  axis.dilation = window.dilations[i] / std::gcd(window.dilations[i], axis.stride);
  for (int64_t p = 0; p < axis.stride; ++p)
    axis.phases.push_back(phase_at(p + before, axis, window.dilations[i], growth));
  return axis;
}

struct Plan {
  Axis rows, columns;
  int64_t groups = 1, inputs = 0, outputs = 0;  // channels
};

std::optional<Plan> plan_of(const Graph& graph, const Node& node) {
  const Tensor* weight = graph.constant(node.operands[1]);
  const TensorType &x = graph.type(node.operands[0]), &y = graph.type(node.results[0]);
  if (!weight || weight->is_packed() || x.rank() < 3 || x.rank() > 4 || y.rank() != x.rank() ||
      depends_on_data(y.shape))
    return std::nullopt;
  const size_t dims = x.rank() - 2;
  const SlidingWindow window = read_sliding_window(node.attributes, spatial(to_shape(weight->shape())));
  const List added = node.attributes.get_or<List>("output_padding", List(dims, 0));
  if (added.size() != dims || weight->shape().size() != x.rank() || weight->elements() == 0) return std::nullopt;
  Plan plan{.groups = node.attributes.get_or<int64_t>("groups", 1), .inputs = weight->dim(0)};
  if (plan.groups < 1 || plan.inputs % plan.groups != 0) return std::nullopt;
  plan.outputs = weight->dim(1) * plan.groups;
  for (size_t i = 0; i < dims; ++i) {
    const std::optional<Axis> axis =
        axis_of(window, i, added[i], x.shape[i + 2], y.shape[i + 2], node.attributes.has("output_shape"));
    if (!axis) return std::nullopt;
    (i + 1 == dims ? plan.columns : plan.rows) = *axis;
  }
  if (plan.rows.stride * plan.columns.stride > kMost) return std::nullopt;
  return plan;
}

// Phases of both dimensions, row by row, that one convolution computes.
using Part = std::vector<std::pair<const Phase*, const Phase*>>;

std::vector<Part> parts_of(const Plan& plan) {
  std::vector<Part> parts;
  for (const Phase& row : plan.rows.phases)
    for (const Phase& column : plan.columns.phases) {
      // Grouped convolutions order their results by group first, so phases can't be side by side there.
      const bool joins = !parts.empty() && plan.groups == 1 && parts.back()[0].first->reads_alike(row) &&
                         parts.back()[0].second->reads_alike(column);
      if (!joins) parts.emplace_back();
      parts.back().emplace_back(&row, &column);
    }
  return parts;
}

// weights [C, O/groups, kh, kw] as the matrix [phases * O, window * C/groups] of the part's convolution.
Tensor weights_of(const Plan& plan, const Part& part, const Tensor& weight) {
  const std::vector<double> w = weight.to_doubles();
  const int64_t group_inputs = plan.inputs / plan.groups, group_outputs = plan.outputs / plan.groups;
  std::vector<double> rows;
  const auto append = [&](int64_t o, int64_t row, int64_t column) {
    for (int64_t c = 0; c < group_inputs; ++c) {
      const int64_t input = o / group_outputs * group_inputs + c;
      const int64_t plane = input * group_outputs + o % group_outputs;
      const bool is_zero = row == kZeroTap || column == kZeroTap;
      rows.push_back(is_zero ? 0
                             : w[static_cast<size_t>((plane * plan.rows.kernel + row) * plan.columns.kernel + column)]);
    }
  };
  for (const auto& [above, beside] : part)
    for (int64_t o = 0; o < plan.outputs; ++o)
      for (int64_t row : above->taps)
        for (int64_t column : beside->taps) append(o, row, column);
  const auto count = static_cast<int64_t>(part.size()) * plan.outputs;
  return Tensor::from_doubles(weight.dtype(), {count, static_cast<int64_t>(rows.size()) / std::max<int64_t>(count, 1)},
                              rows);
}

ValueId convolution(Graph& graph, const Plan& plan, const Part& part, ValueId x, ValueId weight, ValueId bias) {
  const auto& [above, beside] = part[0];
  std::vector<ValueId> operands{x, graph.add_constant("", weights_of(plan, part, *graph.constant(weight)))};
  if (bias != kNone && part.size() > 1)
    bias = ops::concat(graph, {.inputs = std::vector<ValueId>(part.size(), bias), .axis = 0});
  if (bias != kNone) operands.push_back(bias);
  return emit_convolution(
      graph, operands,
      {{"kernel_shape", List{static_cast<int64_t>(above->taps.size()), static_cast<int64_t>(beside->taps.size())}},
       {"pads", List{above->before, beside->before, above->after, beside->after}},
       {"dilations", List{plan.rows.dilation, plan.columns.dilation}},
       {"groups", plan.groups}});
}

ValueId cut(Graph& graph, const Plan& plan, ValueId y) {
  if (!plan.rows.is_cut && !plan.columns.is_cut) return y;
  return ops::slice(
      graph, {.x = y, .starts = Shape{0, 0}, .ends = Shape{plan.rows.size, plan.columns.size}, .axes = List{1, 2}});
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
  const auto count = static_cast<size_t>(plan.rows.stride * plan.columns.stride);
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

// What the convolutions give goes through the pointwise users first: they work in the epilogue of these.
void expand(Graph& graph, NodeId id, const Plan& plan) {
  const Node node = graph.node(id);
  const ValueId weight = node.operands[1], bias = node.operands.size() > 2 ? node.operands[2] : kNone;
  graph.set_insertion_point(id);
  const ValueId x = to_channels_last(graph, node.operands[0]);
  std::vector<ValueId> phases;
  for (const Part& part : parts_of(plan)) phases.push_back(convolution(graph, plan, part, x, weight, bias));
  ValueId all = phases.size() == 1 ? phases[0] : ops::concat(graph, {.inputs = phases, .axis = 3});
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
  const ValueId result = to_channels_first(
      graph, cut(graph, plan, interleaved(graph, all, plan.rows.stride, plan.columns.stride)), type.rank());
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
  for (NodeId id : graph.nodes(conv_transpose_def))
    if (const std::optional<Plan> plan = plan_of(graph, graph.node(id))) expand(graph, id, *plan);
  graph.erase_unused_constants();
  return graph;
}

}  // namespace

extern constinit const PassDef expand_conv_transpose_def{
    .name = "expand_conv_transpose",
    .doc =
        "conv_transpose over one or two dimensions with constant weights → stride-1 convolutions, one for each phase "
        "of the stride, put between each other; a linear where the window is the stride.",
    .run = expand_conv_transpose};

}  // namespace hone
