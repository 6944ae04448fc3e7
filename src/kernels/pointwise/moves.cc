#include "kernels/pointwise/moves.h"

#include <algorithm>
#include <numeric>

#include "kernels/shapes.h"
#include "ops/calls/resize.h"
#include "ops/calls/slice.h"
#include "ops/moves.h"

namespace hone {
namespace {

constexpr size_t kMostParts = 16;     // that what is moved from one place to one place may fall into
constexpr size_t kMostValues = 1024;  // that one node may join or split

// A box of the result and where it comes from.
struct Part {
  std::vector<int64_t> extents, from_strides, to_strides;
  int64_t from = 0, to = 0;
  bool value = false;
  void loop(int64_t extent, int64_t from_stride, int64_t to_stride) {
    extents.push_back(extent), from_strides.push_back(from_stride), to_strides.push_back(to_stride);
  }
};

// Parts of the axes from `axis` on, behind those before. A part of the border's value spans all further axes.
void add_parts(const Move& move, std::span<const int64_t> from_strides, std::span<const int64_t> to_strides,
               const Part& outer, std::vector<Part>& parts) {
  if (parts.size() > kMostParts) return;  // refused anyway
  const size_t axis = move.axes.size() - to_strides.size();
  if (to_strides.empty() || outer.value) {
    parts.push_back(outer);
    for (size_t i = 0; i < to_strides.size(); ++i) {
      int64_t length = 0;
      for (const Stretch& s : move.axes[axis + i]) length += s.length();
      parts.back().loop(length, 0, to_strides[i]);
    }
    return;
  }
  int64_t at = 0;
  for (const Stretch& s : move.axes[axis]) {
    Part part = outer;
    part.value = s.value;
    part.from += s.value ? 0 : s.from * from_strides[0];
    part.to += at * to_strides[0];
    part.loop(s.repeats, s.jump * from_strides[0], s.count * to_strides[0]);
    part.loop(s.count, s.step * from_strides[0], to_strides[0]);
    add_parts(move, from_strides.subspan(1), to_strides.subspan(1), part, parts);
    at += s.length();
  }
}

size_t parts_of(const Move& move) {
  size_t parts = 1;
  for (const Stretches& axis : move.axes) parts = std::min(parts * axis.size(), kMostParts + 1);
  return parts;
}

// Where the elements of a value lie.
struct Source {
  ValueId value;
  std::vector<int64_t> strides;
  int64_t offset = 0;
};

// Of a slice, in what it is one of: so no copy of it is needed.
Source source_of(const Lowering& lowering, ValueId v) {
  const auto lies = [&](ValueId whole) {
    return Source{whole, constant_shape(dense_strides(to_shape(lowering.fixed_shape(whole))))};
  };
  const NodeId n = lowering.graph.producer(v);
  if (n == kNone || lowering.graph.node(n).op != &slice_def) return lies(v);
  if (!is_constant(lowering.shape(lowering.graph.operand(n, 0)))) return lies(v);  // though its slice has one size
  Source source = lies(lowering.graph.operand(n, 0));
  const KnownArguments known = known_arguments(lowering, n);
  std::vector<std::vector<int64_t>> shapes(known.operands.size());
  shapes[0] = lowering.fixed_shape(source.value);
  const std::optional<std::vector<Move>> moves = slice_def.move_map({known.args(), shapes, known.all});
  if (!known.all || !moves || moves->size() != 1 || lowering.lies_apart(source.value)) return lies(v);
  for (size_t i = 0; i < source.strides.size(); ++i) {
    const Stretches& axis = moves->front().axes[i];
    if (axis.size() != 1 || axis[0].value || axis[0].repeats != 1) return lies(v);
    source.offset += axis[0].from * source.strides[i];
    source.strides[i] *= axis[0].step;
  }
  return source;
}

// One step for each part of each result that is wanted.
Support copy_parts(const Lowering& lowering, const std::vector<Move>& moves, Prepared& prepared) {
  const Graph& graph = lowering.graph;
  std::vector<StepDraft>& steps = prepared.steps;
  const Group group = steps[0].group;
  const Node& node = graph.node(group.anchor);
  const bool has_value = node.operands.size() > 1 && node.operands[1] != kNone;
  const size_t most = kMostParts + std::max(node.operands.size(), node.results.size());
  steps.clear();
  for (const Move& move : moves) {
    const ValueId to_value = node.results[move.result];
    if (std::ranges::find(group.results, to_value) == group.results.end()) continue;
    const Source source = source_of(lowering, node.operands[move.operand]);
    std::vector<int64_t> from = source.strides;
    from.insert(from.begin(), move.axes.size() - from.size(), 0);
    const std::vector<int64_t> to = constant_shape(dense_strides(to_shape(lowering.fixed_shape(to_value))));
    size_t stretches_of_axes = 0;
    for (const Stretches& axis : move.axes) stretches_of_axes += axis.size();
    if (stretches_of_axes > 2 * kMostParts + move.axes.size())
      return {fmt::format("more than {} regular parts", kMostParts)};
    std::vector<Part> parts;
    Part first;
    for (size_t i = 0; i < to.size(); ++i) first.to += move.start[i] * to[i];
    add_parts(move, from, to, first, parts);
    if (parts.size() > kMostParts) return {fmt::format("more than {} regular parts", kMostParts)};
    for (const Part& part : parts) {
      if (element_count(part.extents) == 0) continue;
      if (steps.size() == most) return {fmt::format("more than {} regular parts", most)};
      steps.emplace_back().group = group;
      const Scalar scalar = compute_scalar(graph.type(to_value).dtype);
      PointwisePlan plan;
      plan.program = flatten(part.value && !has_value ? cast(scalar, Expr(0)) : Expr::arg(0, scalar));
      std::vector<Strided> operands;
      if (!part.value) operands = {{{source.value}, to_shape(part.from_strides), source.offset + part.from}};
      else if (has_value) operands = {{{node.operands[1]}, Shape(part.extents.size(), 0)}};
      if (Support r = lower_strided(lowering, prepared, plan, to_shape(part.extents), operands,
                                    {{to_value}, to_shape(part.to_strides), part.to});
          !r.supported())
        return r;
      const auto moved = element_count(part.extents) * size_bytes(graph.type(to_value).dtype);
      steps.back().moved_bytes = static_cast<double>(part.value ? moved : 2 * moved);
    }
  }
  return {};
}

Support lower_transpose_by_elements(const Lowering& lowering, Prepared& prepared) {
  const Node& node = lowering.graph.node(prepared.step().group.anchor);
  const Shape out = lowering.shape(node.results[0]);
  PointwisePlan plan;
  plan.program = flatten(Expr::arg(0, compute_scalar(lowering.graph.type(node.operands[0]).dtype)));
  return lower_elements(lowering, prepared, plan, out, {{{node.operands[0]}, transposed_strides(lowering, node)}},
                        node.results);
}

}  // namespace

KnownArguments known_arguments(const Lowering& lowering, NodeId n) {
  const Node& node = lowering.graph.node(n);
  KnownArguments known{std::vector<const Tensor*>(node.operands.size()), {}, lowering.attributes(n)};
  for (size_t i = 0; i < node.operands.size(); ++i) {
    if (node.operands[i] == kNone || !node.op->operands.of(i).argument) continue;
    known.operands[i] = lowering.constant(node.operands[i]);
    known.all &= known.operands[i] != nullptr;
  }
  for (ValueId v : node.results) {
    known.results.push_back(lowering.graph.type(v));
    known.results.back().shape = lowering.shape(v);
  }
  return known;
}

Shape transposed_strides(const Lowering& lowering, const Node& node) {
  const Shape in = lowering.shape(node.operands[0]), own = lowering.strides(node.operands[0]);
  const auto perm = node.attributes.get_or<std::vector<int64_t>>("perm", {});
  Shape strides;
  for (int64_t i = 0; i < std::ssize(in); ++i) {
    const int64_t axis = perm.empty() ? std::ssize(in) - 1 - i : perm[static_cast<size_t>(i)];
    strides.push_back(own[static_cast<size_t>(axis < 0 ? axis + std::ssize(in) : axis)]);
  }
  return strides;
}

Support lower_moves(const Lowering& lowering, Prepared& prepared) {
  const Group group = prepared.step().group;
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(group.anchor);
  if (!is_compilable(graph, node)) return {"an operand's element type has no vector load or store"};
  if (!node.op->move_map) return lower_transpose_by_elements(lowering, prepared);
  if (node.operands.size() > kMostValues || group.results.size() > kMostValues)
    return {fmt::format("more than {} operands or results", kMostValues)};
  if (Support r = lowering.open_sizes(group); !r.supported()) return r;
  for (ValueId v : group.results)
    if (element_count(lowering.fixed_shape(v)) == 0) return {"no elements"};
  const KnownArguments known = known_arguments(lowering, group.anchor);
  std::vector<std::vector<int64_t>> shapes;
  for (ValueId v : node.operands) shapes.push_back(v == kNone ? std::vector<int64_t>() : lowering.fixed_shape(v));
  const std::optional<std::vector<Move>> moves = node.op->move_map({known.args(), shapes, known.all});
  if (!moves && !known.all) return {"arguments that are not constant"};
  // A kernel of its own takes about as long as a few parts.
  const bool has_kernel = node.op == &resize_def && compute_scalar(graph.type(node.operands[0]).dtype) == Scalar::f32;
  if (!moves || (has_kernel && parts_of(moves->front()) > 3)) return {"places between elements, or many parts"};
  return copy_parts(lowering, *moves, prepared);
}

}  // namespace hone
