// Moves: results whose elements are elements of an operand, found axis by axis.
//
// Along each axis of the result the positions that are read fall into stretches, regular patterns of up to two loops.
// Every combination of stretches is a part of the result that one kernel copies, or fills with a value.
#include "codegen/kernels/pointwise/moves.h"

#include <algorithm>
#include <numeric>

#include "codegen/shapes.h"
#include "ops/read_positions.h"
#include "ops/rules.h"
#include "ops/slice_run.h"

namespace hone {
namespace {

constexpr size_t kMostParts = 16;  // kernels that one node may become

// Positions i * count + j of a stretch, i below `repeats`, read element from + i * jump + j * step of the axis.
struct Stretch {
  int64_t from = 0, count = 0, step = 1, repeats = 1, jump = 0;
  bool value = false;  // the border's
  int64_t length() const { return count * repeats; }
};
using Stretches = std::vector<Stretch>;

Stretches all_of(int64_t length, int64_t from = 0, int64_t step = 1) { return {{from, length, step}}; }

// The pattern that `reads` starts with, which has the border's value everywhere or nowhere.
Stretch first_stretch(std::span<const int64_t> reads) {
  Stretch s{.from = reads[0], .step = 0, .value = reads[0] < 0};
  const auto end = std::ranges::find_if(reads, [&](int64_t read) { return (read < 0) != s.value; });
  const int64_t size = end - reads.begin();
  const auto read = [&](int64_t i) { return reads[static_cast<size_t>(i)]; };
  if (size > 1) s.step = read(1) - s.from;
  while (s.count < size && read(s.count) == s.from + s.count * s.step) ++s.count;
  if (s.count == size) return s;
  s.jump = read(s.count) - s.from;
  const auto repeats = [&](int64_t i) {
    for (int64_t j = 0; j < s.count; ++j)
      if (read(i * s.count + j) != s.from + i * s.jump + j * s.step) return false;
    return true;
  };
  while ((s.repeats + 1) * s.count <= size && repeats(s.repeats)) ++s.repeats;
  return s;
}

Stretches stretches(std::span<const int64_t> reads) {
  Stretches result;
  while (!reads.empty()) {
    result.push_back(first_stretch(reads));
    reads = reads.subspan(static_cast<size_t>(result.back().length()));
  }
  return result;
}

// What one operand gives to one result: stretches for each axis, from `start` on.
struct Move {
  ValueId from, to;
  std::vector<Stretches> axes;
  std::vector<int64_t> start;
};

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

std::vector<Stretches> whole(const std::vector<int64_t>& shape) {
  std::vector<Stretches> axes;
  for (int64_t length : shape) axes.push_back(all_of(length));
  return axes;
}

std::vector<Move> concat_moves(const Lowering& lowering, const Node& node) {
  const Graph& graph = lowering.graph;
  const auto rank = static_cast<int64_t>(graph.type(node.results[0]).rank());
  const int64_t axis = node.attributes.get<int64_t>("axis");
  std::vector<Move> moves;
  std::vector<int64_t> start(static_cast<size_t>(rank), 0);
  for (ValueId v : node.operands) {
    const std::vector<int64_t> shape = lowering.fixed_shape(v);
    moves.push_back({v, node.results[0], whole(shape), start});
    const auto a = static_cast<size_t>(axis < 0 ? axis + rank : axis);
    start[a] += shape[a];
  }
  return moves;
}

std::vector<Move> split_moves(const Lowering& lowering, const Node& node) {
  const Graph& graph = lowering.graph;
  const auto rank = static_cast<int64_t>(graph.type(node.operands[0]).rank());
  const int64_t axis = node.attributes.get_or<int64_t>("axis", 0);
  const auto a = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  std::vector<Move> moves;
  int64_t first = 0;
  for (ValueId v : node.results) {
    const std::vector<int64_t> shape = lowering.fixed_shape(v);
    moves.push_back({node.operands[0], v, whole(shape), std::vector<int64_t>(shape.size(), 0)});
    moves.back().axes[a][0].from = first;
    first += shape[a];
  }
  return moves;
}

std::vector<Stretches> sliced(std::string_view op, const EvalArgs& args, const std::vector<int64_t>& shape) {
  const std::vector<int64_t> starts = integers_argument(args, 1, "starts"), ends = integers_argument(args, 2, "ends");
  std::vector<int64_t> axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (args.attributes.has("axes") || args.has(3)) axes = axes_argument(args, 3);
  if (op == "slice") steps = args.attributes.get_or<std::vector<int64_t>>("steps", steps);
  else if (args.attributes.has("steps") || args.has(4)) steps = integers_argument(args, 4, "steps");
  const std::vector<size_t> checked = checked_axes(axes, shape.size());
  std::vector<Stretches> result = whole(shape);
  for (size_t i = 0; i < checked.size(); ++i) {
    const SliceRun run = slice_run(starts[i], ends[i], steps[i], shape[checked[i]]).value();
    result[checked[i]] = {{run.start.constant(), run.count.constant(), run.step}};
  }
  return result;
}

std::vector<Stretches> padded(const EvalArgs& args, const std::vector<int64_t>& shape) {
  std::vector<Stretches> result;
  for (const std::vector<int64_t>& reads : padded_positions(args, shape)) result.push_back(stretches(reads));
  return result;
}

// Places that are elements of x, in at most so many parts; none: several elements make a place, or the border does.
std::optional<std::vector<Stretches>> nearest(const std::vector<ResizedAxis>& resized,
                                              const std::vector<int64_t>& shape, size_t most) {
  std::vector<Stretches> result = whole(shape);
  size_t parts = 1;
  for (const ResizedAxis& each : resized) {
    std::vector<int64_t> reads;
    for (const Sample& sample : each.places) {
      for (const Weighted& element : sample)
        if (element.weight == 1) reads.push_back(element.position);
    }
    if (reads.size() != each.places.size()) return std::nullopt;
    result[each.axis] = stretches(reads);
    parts *= result[each.axis].size();
  }
  return parts <= most ? std::optional(result) : std::nullopt;
}

// Axis i of the result is the axis of x, of length 1 or not, over and over.
std::vector<Stretches> repeated(const std::vector<int64_t>& shape, const std::vector<int64_t>& result) {
  std::vector<Stretches> axes;
  for (size_t i = 0; i < result.size(); ++i) axes.push_back({{.count = shape[i], .repeats = result[i] / shape[i]}});
  return axes;
}

// One step for each part of each result that is wanted.
Refusal copy_parts(const Lowering& lowering, const std::vector<Move>& moves, Prepared& prepared) {
  const Graph& graph = lowering.graph;
  std::vector<StepDraft>& steps = prepared.steps;
  const Group group = steps[0].group;
  const Node& node = graph.node(group.anchor);
  const bool has_value = node.operands.size() > 1 && node.operands[1] != kNone;
  steps.clear();
  for (const Move& move : moves) {
    if (std::ranges::find(group.results, move.to) == group.results.end()) continue;
    std::vector<int64_t> shape = lowering.fixed_shape(move.from);
    shape.insert(shape.begin(), move.axes.size() - shape.size(), 1);
    const std::vector<int64_t> from = constant_shape(dense_strides(to_shape(shape))),
                               to = constant_shape(dense_strides(to_shape(lowering.fixed_shape(move.to))));
    size_t stretches_of_axes = 0;
    for (const Stretches& axis : move.axes) stretches_of_axes += axis.size();
    if (stretches_of_axes > 2 * kMostParts + move.axes.size())
      return {fmt::format("more than {} regular parts", kMostParts)};
    std::vector<Part> parts;
    Part first;
    for (size_t i = 0; i < to.size(); ++i) first.to += move.start[i] * to[i];
    add_parts(move, from, to, first, parts);
    for (const Part& part : parts) {
      if (element_count(part.extents) == 0) continue;
      if (steps.size() == kMostParts) return {fmt::format("more than {} regular parts", kMostParts)};
      steps.emplace_back().group = group;
      const Scalar scalar = compute_scalar(graph.type(move.to).dtype);
      PointwisePlan plan;
      plan.program = flatten(part.value && !has_value ? cast(scalar, Expr(0)) : Expr::arg(0, scalar));
      std::vector<Strided> operands;
      if (!part.value) operands = {{{move.from}, to_shape(part.from_strides), part.from}};
      else if (has_value) operands = {{{node.operands[1]}, Shape(part.extents.size(), 0)}};
      if (Refusal r = lower_strided(lowering, prepared, plan, to_shape(part.extents), operands,
                                    {{move.to}, to_shape(part.to_strides), part.to});
          !r.accepted())
        return r;
      const auto moved = element_count(part.extents) * size_bytes(graph.type(move.to).dtype);
      steps.back().moved_bytes = static_cast<double>(part.value ? moved : 2 * moved);
    }
  }
  return {};
}

Refusal lower_transpose_by_elements(const Lowering& lowering, Prepared& prepared) {
  const Node& node = lowering.graph.node(prepared.step().group.anchor);
  const Shape out = lowering.shape(node.results[0]);
  PointwisePlan plan;
  plan.program = flatten(Expr::arg(0, compute_scalar(lowering.graph.type(node.operands[0]).dtype)));
  return lower_strided(lowering, prepared, plan, out, {{{node.operands[0]}, transposed_strides(lowering, node)}},
                       {node.results, dense_strides(out)});
}

}  // namespace

std::optional<KnownArguments> known_arguments(const Lowering& lowering, NodeId n, size_t first) {
  const Node& node = lowering.graph.node(n);
  KnownArguments known{std::vector<const Tensor*>(node.operands.size()), {}, lowering.attributes(n)};
  for (size_t i = first; i < node.operands.size(); ++i) {
    if (node.operands[i] == kNone) continue;
    known.operands[i] = lowering.constant(node.operands[i]);
    if (!known.operands[i]) return std::nullopt;
  }
  for (ValueId v : node.results) {
    known.results.push_back(lowering.graph.type(v));
    known.results.back().shape = lowering.shape(v);
  }
  return known;
}

Shape transposed_strides(const Lowering& lowering, const Node& node) {
  const Shape in = lowering.shape(node.operands[0]), own = dense_strides(in);
  const auto perm = node.attributes.get_or<std::vector<int64_t>>("perm", {});
  Shape strides;
  for (int64_t i = 0; i < std::ssize(in); ++i) {
    const int64_t axis = perm.empty() ? std::ssize(in) - 1 - i : perm[static_cast<size_t>(i)];
    strides.push_back(own[static_cast<size_t>(axis < 0 ? axis + std::ssize(in) : axis)]);
  }
  return strides;
}

Refusal lower_moves(const Lowering& lowering, Prepared& prepared) {
  const Group group = prepared.step().group;
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(group.anchor);
  const std::string_view op = node.op->name;
  if (!is_compilable(graph, node)) return {"an operand's element type has no vector load or store"};
  if (op == "transpose") return lower_transpose_by_elements(lowering, prepared);
  if (node.operands.size() > kMostParts || group.results.size() > kMostParts)
    return {fmt::format("more than {} regular parts", kMostParts)};
  if (Refusal r = lowering.open_sizes(group); !r.accepted()) return r;
  const ValueId x = node.operands[0], result = node.results[0];
  std::vector<int64_t> in = lowering.fixed_shape(x), out = lowering.fixed_shape(result);
  for (ValueId v : group.results)
    if (element_count(lowering.fixed_shape(v)) == 0) return {"no elements"};
  std::vector<Move> moves;
  const auto add = [&](std::vector<Stretches> axes) {
    moves.push_back({x, result, std::move(axes), std::vector<int64_t>(out.size(), 0)});
  };
  const std::optional<KnownArguments> known = known_arguments(lowering, group.anchor, op == "pad" ? 2 : 1);
  if (op == "concat") moves = concat_moves(lowering, node);
  else if (!known && op != "expand" && op != "tile") return {"arguments that are not constant"};
  else if (op == "split") moves = split_moves(lowering, node);
  else if (op == "slice" || op == "strided_slice") add(sliced(op, known->args(), in));
  else if (op == "pad") add(padded(known->args(), in));
  else if (op == "resize") {
    const std::vector<ResizedAxis> resized = resize_samples(known->args(), in);
    // A kernel of its own takes about as long as a few parts.
    const bool is_f32 = compute_scalar(graph.type(x).dtype) == Scalar::f32;
    auto axes = nearest(resized, in, is_f32 ? 3 : kMostParts);
    if (!axes) return {"places between elements, or many parts"};
    add(std::move(*axes));
  } else if (op == "expand" || op == "tile") {
    in.insert(in.begin(), out.size() - in.size(), 1);
    add(repeated(in, out));
  } else {
    return {fmt::format("no kernel moves the elements of {}", op)};
  }
  return copy_parts(lowering, moves, prepared);
}

}  // namespace hone
