// A slice moves from the result of an op to its operands where nothing else of the result is read: what the op would
// compute beside it, and in training the gradients of that, is never computed. So a classifier that reads the first
// token has a last layer of one query, whose other products are of one row a text, too.
#include <algorithm>
#include <optional>

#include "base/stop.h"
#include "ir/pointwise.h"
#include "ir/unbacked.h"
#include "ops/calls/attention.h"
#include "ops/calls/linear.h"
#include "ops/calls/slice.h"
#include "ops/calls/transpose.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

struct Parts {
  Shape starts, ends;
  std::vector<int64_t> axes, steps;
};

Parts parts_of(const Node& slice, size_t rank) {
  Parts p{.starts = slice.attributes.get<Shape>("starts"),
          .ends = slice.attributes.get<Shape>("ends"),
          .axes = slice.attributes.get_or<std::vector<int64_t>>("axes", {}),
          .steps = {}};
  if (!slice.attributes.has("axes"))
    for (size_t i = 0; i < p.starts.size(); ++i) p.axes.push_back(static_cast<int64_t>(i));
  for (int64_t& axis : p.axes)
    if (axis < 0) axis += static_cast<int64_t>(rank);
  p.steps = slice.attributes.get_or<std::vector<int64_t>>("steps", std::vector<int64_t>(p.axes.size(), 1));
  return p;
}

// The parts of an operand that the same parts of a result are of, by a map of the result's axes to the operand's; axes
// that map to none are read as a whole.
template <class Axis>
Parts mapped(const Parts& parts, Axis axis_of) {
  Parts result;
  for (size_t i = 0; i < parts.axes.size(); ++i) {
    const std::optional<int64_t> axis = axis_of(parts.axes[i]);
    if (!axis) continue;
    result.starts.push_back(parts.starts[i]);
    result.ends.push_back(parts.ends[i]);
    result.axes.push_back(*axis);
    result.steps.push_back(parts.steps[i]);
  }
  return result;
}

bool has_axis(const Parts& parts, int64_t axis) { return std::ranges::find(parts.axes, axis) != parts.axes.end(); }

class Raiser {
 public:
  explicit Raiser(Graph& graph) : graph_(graph) {}

  void run() {
    const std::vector<NodeId> nodes(graph_.nodes().begin(), graph_.nodes().end());
    for (auto n = nodes.rbegin(); n != nodes.rend(); ++n) {
      check_stop();
      if (graph_.node(*n).live) raise_over(*n);
    }
  }

 private:
  using OfOperands = std::vector<Parts>;  // for each operand; without axes: as it is

  void raise_over(NodeId id) {
    const Node node = graph_.node(id);
    if (node.results.size() != 1 || !node.subgraphs.empty()) return;
    for (ValueId v : node.operands)
      if (v != kNone && !graph_.type(v).ranked) return;
    const ValueId result = node.results[0];
    const std::vector<NodeId> slices = only_slices(result);
    if (slices.empty() || depends_on_data(graph_.type(graph_.result(slices[0])).shape)) return;
    const std::optional<OfOperands> wanted =
        of_operands(node, parts_of(graph_.node(slices[0]), graph_.type(result).rank()));
    if (!wanted) return;
    graph_.set_insertion_point(id);
    std::vector<ValueId> operands = node.operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      const Parts& p = (*wanted)[i];
      if (p.axes.empty()) continue;
      operands[i] =
          ops::slice(graph_, {.x = operands[i], .starts = p.starts, .ends = p.ends, .axes = p.axes, .steps = p.steps});
    }
    const ValueId part = graph_.emit(*node.op, operands, node.attributes, graph_.value(result).name);
    graph_.set_insertion_point(kNone);
    for (NodeId slice : slices) replace_by_value(graph_, slice, part);
    graph_.erase(id);
  }

  // The nodes that read the value, if each is the same slice of it.
  std::vector<NodeId> only_slices(ValueId v) const {
    std::vector<NodeId> slices;
    for (const Graph::Use& use : graph_.uses(v)) {
      const Node& node = graph_.node(use.node);
      if (node.op != &slice_def) return {};
      if (!slices.empty() && !node.attributes.same(graph_.node(slices[0]).attributes)) return {};
      slices.push_back(use.node);
    }
    if (static_cast<size_t>(graph_.use_count(v)) != slices.size()) return {};  // an output
    return slices;
  }

  std::optional<OfOperands> of_operands(const Node& node, const Parts& parts) const {
    if (node.op->pointwise) return of_pointwise(node, parts);
    if (node.op->row) return of_row(node, parts);
    if (node.op == &linear_def) return of_linear(node, parts);
    if (node.op == &attention_def) return of_attention(node, parts);
    if (node.op == &transpose_def) return of_transpose(node, parts);
    return std::nullopt;
  }

  const Shape& shape(ValueId v) const { return graph_.type(v).shape; }

  // Of an operand that broadcasts to the result; none where a size that is no 1 is another formula than the result's.
  std::optional<Parts> broadcast(ValueId operand, const Shape& result, const Parts& parts) const {
    const Shape& own = shape(operand);
    const auto missing = static_cast<int64_t>(result.size() - own.size());
    const auto dim = [&](int64_t axis) { return own[static_cast<size_t>(axis - missing)]; };
    for (int64_t axis : parts.axes)
      if (axis >= missing && dim(axis) != Dim(1) && dim(axis) != result[static_cast<size_t>(axis)]) return std::nullopt;
    return mapped(parts, [&](int64_t axis) -> std::optional<int64_t> {
      if (axis < missing || dim(axis) == Dim(1)) return std::nullopt;
      return axis - missing;
    });
  }

  // Unless elements are counted: an element's index is another in a part.
  std::optional<OfOperands> of_pointwise(const Node& node, const Parts& parts) const {
    std::vector<DType> dtypes;
    OfOperands result;
    for (ValueId v : node.operands) {
      if (v == kNone) return std::nullopt;
      dtypes.push_back(graph_.type(v).dtype);
      const std::optional<Parts> own = broadcast(v, shape(node.results[0]), parts);
      if (!own) return std::nullopt;
      result.push_back(*own);
    }
    const Program program = pointwise_program(*node.op, dtypes, node.attributes);
    if (std::ranges::any_of(program.code, [](const Instruction& i) { return i.op == ExprOp::index; }))
      return std::nullopt;
    return result;
  }

  // Along the last axis, which is read as a whole; vectors along it too.
  std::optional<OfOperands> of_row(const Node& node, const Parts& parts) const {
    if (std::string_view(node.op->name).starts_with("reduce_")) return std::nullopt;  // axes of 1 only look kept
    const Shape& whole = shape(node.results[0]);
    const auto last = static_cast<int64_t>(whole.size()) - 1;
    const int64_t axis = node.attributes.get_or<int64_t>("axis", -1);
    if ((axis != -1 && axis != last) || has_axis(parts, last)) return std::nullopt;
    OfOperands result;
    for (ValueId v : node.operands) {
      const bool is_vector = v == kNone || (result.size() > 0 && shape(v).size() == 1);
      if (!is_vector && shape(v) != whole) return std::nullopt;
      result.push_back(is_vector ? Parts() : parts);
    }
    return result;
  }

  std::optional<OfOperands> of_linear(const Node& node, const Parts& parts) const {
    if (has_axis(parts, static_cast<int64_t>(shape(node.results[0]).size()) - 1)) return std::nullopt;
    OfOperands result(node.operands.size());
    result[0] = parts;
    return result;
  }

  // Of queries, unless what a query sees depends on where it stands: in a part it would be at another place.
  std::optional<OfOperands> of_attention(const Node& node, const Parts& parts) const {
    if (parts.axes != std::vector<int64_t>{1} || node.attributes.get_or<int64_t>("causal", 0) != 0 ||
        node.attributes.has("before") || node.attributes.has("behind"))
      return std::nullopt;
    OfOperands result(node.operands.size());
    result[0] = parts;
    const ValueId mask = node.operands.size() > 3 ? node.operands[3] : kNone;
    if (mask == kNone || shape(mask).size() < 2) return result;
    const size_t queries = shape(mask).size() - 2;
    if (shape(mask)[queries] == Dim(1)) return result;
    if (shape(mask)[queries] != shape(node.operands[0])[1]) return std::nullopt;
    result[3] = mapped(parts, [&](int64_t) { return std::optional(static_cast<int64_t>(queries)); });
    return result;
  }

  std::optional<OfOperands> of_transpose(const Node& node, const Parts& parts) const {
    const auto rank = static_cast<int64_t>(shape(node.results[0]).size());
    const auto perm = node.attributes.get_or<std::vector<int64_t>>("perm", {});
    return OfOperands{mapped(parts, [&](int64_t axis) {
      return std::optional(perm.empty() ? rank - 1 - axis : perm[static_cast<size_t>(axis)]);
    })};
  }

  Graph& graph_;
};

Graph raise_slices(Graph graph, const PassContext&) {
  Raiser(graph).run();
  return graph;
}

}  // namespace

extern constinit const PassDef raise_slices_def{
    .name = "raise_slices",
    .doc =
        "A slice of what pointwise and row ops, linear, attention or a transpose compute becomes a slice of what "
        "they read, where nothing else of the result is.",
    .run = raise_slices};

}  // namespace hone
