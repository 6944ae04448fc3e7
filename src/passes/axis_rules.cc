#include "passes/axis_rules.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "ir/minted.h"
#include "ops/registry.h"
#include "ops/rules.h"

namespace hone {
namespace {

using Axes = std::vector<int64_t>;
using Rule = std::optional<Moved> (*)(const Graph&, const Node&, const Permutation&);

const TensorType& first_type(const Graph& graph, const Node& node) { return graph.type(node.operands[0]); }

Axes moved_axes(const Axes& axes, const Permutation& perm) {
  Axes result;
  for (size_t axis : checked_axes(axes, perm.size())) result.push_back(perm[axis]);
  return result;
}

// Every operand broadcasts to the result, whose axes are those of the operands.
std::optional<Moved> pointwise(const Graph& graph, const Node& node, const Permutation& perm) {
  if (graph.type(node.results[0]).rank() != perm.size()) return std::nullopt;
  return Moved{node.op, node.attributes, perm};
}

// The attribute `axis` of concat, 0 where split has none.
std::optional<Moved> along_axis(const Graph&, const Node& node, const Permutation& perm) {
  Moved moved{node.op, node.attributes, perm};
  const size_t axis = checked_axis(node.attributes.get_or<int64_t>("axis", 0), perm.size());
  moved.attributes.set("axis", perm[axis]);
  return moved;
}

// Kernels normalise along the last axis.
std::optional<Moved> along_row(const Graph&, const Node& node, const Permutation& perm) {
  Moved moved{node.op, node.attributes, perm};
  const size_t last = perm.size() - 1, axis = checked_axis(node.attributes.get_or<int64_t>("axis", -1), perm.size());
  if (axis == last && perm[axis] != static_cast<int64_t>(last)) return std::nullopt;
  moved.attributes.set("axis", perm[axis]);
  return moved;
}

// Lists speak of `axes`: by default of the first ones where `starts` says how many, else of all.
std::optional<Moved> on_axes(const Graph&, const Node& node, const Permutation& perm) {
  constexpr size_t kAxes = 3;  // the operand of pad and strided_slice; resize has its sizes there
  const bool takes_axes = std::string_view(node.op->name) != "resize";
  if (takes_axes && node.operands.size() > kAxes && node.operands[kAxes] != kNone) return std::nullopt;
  const bool by_starts = node.attributes.has("starts");
  Axes axes(by_starts ? node.attributes.get<Shape>("starts").size() : perm.size());
  std::iota(axes.begin(), axes.end(), 0);
  Moved moved{node.op, node.attributes, perm};
  moved.attributes.set("axes", moved_axes(node.attributes.get_or<Axes>("axes", axes), perm));
  return moved;
}

bool follow_each_other(Axes axes) {
  std::sort(axes.begin(), axes.end());
  return axes.empty() || axes.back() - axes.front() + 1 == std::ssize(axes);
}

// What is left of the order of axes when some of s are gone.
Permutation without(const Permutation& perm, const Axes& gone) {
  Permutation result;
  for (int64_t axis : perm)
    if (std::find(gone.begin(), gone.end(), axis) == gone.end())
      result.push_back(axis - std::count_if(gone.begin(), gone.end(), [&](int64_t g) { return g < axis; }));
  return result;
}

// Kernels reduce axes that follow each other, with or without others behind them.
std::optional<Moved> reduced(const Graph&, const Node& node, const Permutation& perm) {
  if (node.operands.size() > 1) return std::nullopt;
  Axes all(perm.size());
  std::iota(all.begin(), all.end(), 0);
  const Axes axes = node.attributes.get_or<Axes>("axes", all), after = moved_axes(axes, perm);
  if (follow_each_other(moved_axes(axes, all)) && !follow_each_other(after)) return std::nullopt;
  Moved moved{node.op, node.attributes, perm};
  moved.attributes.set("axes", after);
  if (node.attributes.get_or<int64_t>("keepdims", 1) == 0) moved.result = without(perm, after);
  return moved;
}

// argmax and argmin give positions along one axis.
std::optional<Moved> chosen(const Graph&, const Node& node, const Permutation& perm) {
  Moved moved{node.op, node.attributes, perm};
  const size_t axis = checked_axis(node.attributes.get_or<int64_t>("axis", -1), perm.size());
  moved.attributes.set("axis", perm[axis]);
  if (node.attributes.get_or<int64_t>("keepdims", 0) == 0) moved.result = without(perm, {perm[axis]});
  return moved;
}

// Formats that do not group elements by where they lie.
std::optional<Moved> rounded(const Graph&, const Node& node, const Permutation& perm) {
  const Geometry::Kind kind = node.attributes.get<Format>("format").geometry.kind;
  if (kind != Geometry::Kind::none && kind != Geometry::Kind::tensor) return std::nullopt;
  return Moved{node.op, node.attributes, perm};
}

std::optional<Moved> expanded(const Graph& graph, const Node& node, const Permutation& perm) {
  if (!node.attributes.has("shape") || first_type(graph, node).rank() != perm.size()) return std::nullopt;
  Shape shape = node.attributes.get<Shape>("shape");
  if (shape.size() > perm.size()) return std::nullopt;
  shape.insert(shape.begin(), perm.size() - shape.size(), Dim(1));
  Moved moved{node.op, node.attributes, perm};
  moved.attributes.set("shape", permuted(shape, inverse(perm)));
  return moved;
}

// Axes of x that a view keeps together, and what it makes of them: one axis of one, one of several or several of one.
struct Group {
  std::vector<size_t> from, to;
};

// How many dimensions from `first` on multiply to `whole`, 0 when none do.
size_t factors(const Shape& shape, size_t first, const Dim& whole) {
  Dim product = 1;
  for (size_t i = first; i < shape.size(); ++i) {
    product = product * shape[i];
    if (product == whole) return i - first + 1;
  }
  return 0;
}

std::optional<std::vector<Group>> groups_of(const Shape& x, const Shape& y) {
  std::vector<Group> groups;
  std::vector<size_t> added;  // axes of length 1, which go with what follows them
  const auto is_one = [](const Shape& shape, size_t axis) { return axis < shape.size() && shape[axis] == Dim(1); };
  for (size_t i = 0, j = 0; i < x.size() || j < y.size();) {
    if (is_one(x, i) && !is_one(y, j)) ++i;
    else if (is_one(y, j) && !is_one(x, i)) added.push_back(j++);
    else if (i == x.size() || j == y.size()) return std::nullopt;
    else {
      const size_t merged = factors(x, i, y[j]), cut = merged ? 1 : factors(y, j, x[i]);
      if (cut == 0) return std::nullopt;
      Group group{{}, std::move(added)};
      added.clear();
      for (size_t k = 0; k < std::max<size_t>(merged, 1); ++k) group.from.push_back(i++);
      for (size_t k = 0; k < cut; ++k) group.to.push_back(j++);
      groups.push_back(std::move(group));
    }
  }
  if (!added.empty() && groups.empty()) return std::nullopt;
  if (!added.empty()) groups.back().to.insert(groups.back().to.end(), added.begin(), added.end());
  return groups;
}

// A view works on s as well when the axes that it joins follow each other there.
std::optional<Moved> viewed(const Graph& graph, const Node& node, const Permutation& perm) {
  const Shape &x = first_type(graph, node).shape, &y = graph.type(node.results[0]).shape;
  if (!graph.type(node.results[0]).ranked || depends_on_data(y)) return std::nullopt;
  std::optional<std::vector<Group>> groups = groups_of(x, y);
  if (!groups) return std::nullopt;
  const auto place = [&](size_t axis) { return perm[axis]; };
  for (const Group& group : *groups)
    for (size_t k = 1; k < group.from.size(); ++k)
      if (place(group.from[k]) != place(group.from[k - 1]) + 1) return std::nullopt;
  std::sort(groups->begin(), groups->end(),
            [&](const Group& a, const Group& b) { return place(a.from[0]) < place(b.from[0]); });
  Permutation order;  // axes of y as they lie in the view of s
  for (const Group& group : *groups) order.insert(order.end(), group.to.begin(), group.to.end());
  return Moved{&ops::get("reshape"), {{"shape", permuted(y, order)}}, inverse(order)};
}

constexpr std::pair<std::string_view, Rule> kRules[] = {
    {"concat", along_axis},  {"split", along_axis},      {"softmax", along_row},   {"log_softmax", along_row},
    {"slice", on_axes},      {"strided_slice", on_axes}, {"pad", on_axes},         {"resize", on_axes},
    {"reduce_sum", reduced}, {"reduce_mean", reduced},   {"reduce_prod", reduced}, {"reduce_max", reduced},
    {"reduce_min", reduced}, {"fake_quant", rounded},    {"argmax", chosen},       {"argmin", chosen},
    {"expand", expanded}};

Rule rule_of(const OpDef& op) {
  if (op.pointwise) return pointwise;
  if (op.view) return viewed;
  const auto* found =
      std::find_if(std::begin(kRules), std::end(kRules), [&](const auto& r) { return r.first == op.name; });
  return found == std::end(kRules) ? nullptr : found->second;
}

}  // namespace

bool has_axis_rule(const OpDef& op) { return rule_of(op) != nullptr; }

size_t transposed_operands(const Node& node) {
  return node.op->pointwise || std::string_view(node.op->name) == "concat" ? node.operands.size() : 1;
}

std::optional<Moved> moved_before(const Graph& graph, const Node& node, const Permutation& perm) {
  const Rule rule = rule_of(*node.op);
  return rule ? rule(graph, node, perm) : std::nullopt;
}

}  // namespace hone
