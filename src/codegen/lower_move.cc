// Moves: results whose elements are elements of an operand, found axis by axis.
//
// Along each axis of the result the positions that are read fall into stretches, regular patterns of up to two loops.
// Every combination of stretches is a part of the result that one kernel copies, or fills with a value.
#include <algorithm>
#include <numeric>

#include "codegen/kernels/transpose/plan.h"
#include "codegen/lowering.h"
#include "codegen/shapes.h"
#include "ops/read_positions.h"
#include "ops/rules.h"
#include "ops/slice_run.h"

namespace hone {
namespace {

constexpr size_t kMostParts = 16;                 // kernels that one node may become
constexpr size_t kMostSamples = size_t{1} << 18;  // of one axis, in the tables of a resize: 4 MB of code

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

// What an op's rules need to know of a node whose operands from `first` on are constant; none: one is not.
struct KnownArguments {
  std::vector<const Tensor*> operands;
  std::vector<TensorType> results;
  const Attributes& attributes;
  EvalArgs args() const { return {operands, attributes, results}; }
};
std::optional<KnownArguments> known_arguments(const Graph& graph, const Node& node, size_t first) {
  KnownArguments known{std::vector<const Tensor*>(node.operands.size()), {}, node.attributes};
  for (size_t i = first; i < node.operands.size(); ++i) {
    if (node.operands[i] == kNone) continue;
    known.operands[i] = graph.constant(node.operands[i]);
    if (!known.operands[i]) return std::nullopt;
  }
  for (ValueId v : node.results) known.results.push_back(graph.type(v));
  return known;
}

std::vector<Stretches> whole(const std::vector<int64_t>& shape) {
  std::vector<Stretches> axes;
  for (int64_t length : shape) axes.push_back(all_of(length));
  return axes;
}

std::vector<Move> concat_moves(const Graph& graph, const Node& node) {
  const auto rank = static_cast<int64_t>(graph.type(node.results[0]).rank());
  const int64_t axis = node.attributes.get<int64_t>("axis");
  std::vector<Move> moves;
  std::vector<int64_t> start(static_cast<size_t>(rank), 0);
  for (ValueId v : node.operands) {
    const std::vector<int64_t> shape = shape_of(graph, v);
    moves.push_back({v, node.results[0], whole(shape), start});
    const auto a = static_cast<size_t>(axis < 0 ? axis + rank : axis);
    start[a] += shape[a];
  }
  return moves;
}

std::vector<Move> split_moves(const Graph& graph, const Node& node) {
  const auto rank = static_cast<int64_t>(graph.type(node.operands[0]).rank());
  const int64_t axis = node.attributes.get_or<int64_t>("axis", 0);
  const auto a = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  std::vector<Move> moves;
  int64_t first = 0;
  for (ValueId v : node.results) {
    const std::vector<int64_t> shape = shape_of(graph, v);
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

// The same number of taps at each place, those that are missing with a weight of 0. None: the border's value, or
// weights below 0, whose sums lose more than f32 arithmetic promises.
std::optional<ResizePlan::Axis> sampled(const std::vector<Sample>& places) {
  ResizePlan::Axis axis;
  std::vector<Sample> used;
  for (Sample sample : places) {
    std::erase_if(sample, [](const Weighted& each) { return each.weight == 0; });
    if (sample.empty() || std::ranges::any_of(sample, [](const Weighted& each) { return each.weight < 0; }))
      return std::nullopt;
    axis.taps = std::max(axis.taps, static_cast<int64_t>(std::ssize(sample)));
    used.push_back(std::move(sample));
  }
  for (Sample& sample : used) {
    sample.resize(static_cast<size_t>(axis.taps), {sample[0].position, 0});
    for (const Weighted& each : sample) {
      axis.positions.push_back(each.position);
      axis.weights.push_back(static_cast<float>(each.weight));
    }
  }
  return axis;
}

bool is_identity(const ResizedAxis& resized) {
  for (size_t i = 0; i < resized.places.size(); ++i) {
    double here = 0;
    for (const Weighted& each : resized.places[i]) here += each.position == static_cast<int64_t>(i) ? each.weight : 0;
    if (here != 1) return false;
  }
  return true;
}

// Axis i of the result is the axis of x, of length 1 or not, over and over.
std::vector<Stretches> repeated(const std::vector<int64_t>& shape, const std::vector<int64_t>& result) {
  std::vector<Stretches> axes;
  for (size_t i = 0; i < result.size(); ++i) axes.push_back({{.count = shape[i], .repeats = result[i] / shape[i]}});
  return axes;
}

// One step for each part of each result that is wanted.
Refusal copy_parts(const Lowering& lowering, const std::vector<Move>& moves, std::vector<Step>& steps) {
  const Graph& graph = lowering.graph;
  const Group group = steps[0].group;
  const Node& node = graph.node(group.anchor);
  const bool has_value = node.operands.size() > 1 && node.operands[1] != kNone;
  steps.clear();
  for (const Move& move : moves) {
    if (std::ranges::find(group.results, move.to) == group.results.end()) continue;
    std::vector<int64_t> shape = shape_of(graph, move.from);
    shape.insert(shape.begin(), move.axes.size() - shape.size(), 1);
    const std::vector<int64_t> from = dense_strides(shape), to = dense_strides(shape_of(graph, move.to));
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
      std::vector<Lowering::Strided> operands;
      if (!part.value) operands = {{{move.from}, part.from_strides, part.from}};
      else if (has_value) operands = {{{node.operands[1]}, std::vector<int64_t>(part.extents.size(), 0)}};
      if (Refusal r =
              lowering.elementwise(steps.back(), plan, part.extents, operands, {{move.to}, part.to_strides, part.to});
          !r.accepted())
        return r;
      const auto moved = element_count(part.extents) * size_bytes(graph.type(move.to).dtype);
      steps.back().bytes = static_cast<double>(part.value ? moved : 2 * moved);
    }
  }
  return {};
}

}  // namespace

Refusal Lowering::move(std::vector<Step>& steps) const {
  const Group group = steps[0].group;
  const Node& node = graph.node(group.anchor);
  const std::string_view op = node.op->name;
  if (!is_compilable(graph, node)) return {"an operand's element type has no vector load or store"};
  if (op == "transpose") return transpose(steps[0]);
  if (node.operands.size() > kMostParts || group.results.size() > kMostParts)
    return {fmt::format("more than {} regular parts", kMostParts)};
  const ValueId x = node.operands[0], result = node.results[0];
  std::vector<int64_t> in = shape_of(graph, x), out = shape_of(graph, result);
  for (ValueId v : group.results)
    if (element_count(shape_of(graph, v)) == 0) return {"no elements"};
  std::vector<Move> moves;
  const auto add = [&](std::vector<Stretches> axes) {
    moves.push_back({x, result, std::move(axes), std::vector<int64_t>(out.size(), 0)});
  };
  const std::optional<KnownArguments> known = known_arguments(graph, node, op == "pad" ? 2 : 1);
  if (op == "concat") moves = concat_moves(graph, node);
  else if (!known && op != "expand" && op != "tile") return {"arguments that are not constant"};
  else if (op == "split") moves = split_moves(graph, node);
  else if (op == "slice" || op == "strided_slice") add(sliced(op, known->args(), in));
  else if (op == "pad") add(padded(known->args(), in));
  else if (op == "resize") {
    const std::vector<ResizedAxis> resized = resize_samples(known->args(), in);
    // A kernel of its own takes about as long as a few parts.
    const bool is_f32 = compute_scalar(graph.type(x).dtype) == Scalar::f32;
    auto axes = nearest(resized, in, is_f32 ? 3 : kMostParts);
    if (!axes) return resize(steps[0], resized);
    add(std::move(*axes));
  } else if (op == "expand" || op == "tile") {
    in.insert(in.begin(), out.size() - in.size(), 1);
    add(repeated(in, out));
  } else {
    return {fmt::format("no kernel moves the elements of {}", op)};
  }
  return copy_parts(*this, moves, steps);
}

Refusal Lowering::resize(Step& step, std::vector<ResizedAxis> resized) const {
  const Node& node = graph.node(step.group.anchor);
  const std::vector<int64_t> in = shape_of(graph, node.operands[0]);
  std::erase_if(resized,
                [&](const ResizedAxis& each) { return std::ssize(each.places) == in[each.axis] && is_identity(each); });
  std::ranges::sort(resized, {}, &ResizedAxis::axis);
  if (resized.empty() || resized.size() > 2 || resized.back().axis - resized.front().axis + 1 != resized.size())
    return {"resized axes that are not one or two neighbours"};
  ResizePlan plan;
  const auto first = static_cast<ptrdiff_t>(resized.front().axis), last = static_cast<ptrdiff_t>(resized.back().axis);
  plan.x = graph.type(node.operands[0]).dtype;
  plan.result = graph.type(node.results[0]).dtype;
  plan.channels = element_count(std::vector(in.begin() + last + 1, in.end()));
  plan.width = in[static_cast<size_t>(last)];
  if (last != first) plan.height = in[static_cast<size_t>(first)];
  const auto columns = sampled(resized.back().places);
  const auto rows = last != first ? sampled(resized.front().places) : ResizePlan::Axis{1, {0}, {1}};
  if (!rows || !columns) return {"weights below 0, or places outside x"};
  for (const ResizePlan::Axis* axis : {&*rows, &*columns})
    if (axis->positions.size() > kMostSamples) return {"more places than the tables of a kernel hold"};
  plan.rows = *rows, plan.columns = *columns;
  step.dims[0] = element_count(std::vector(in.begin(), in.begin() + first));
  bind(step, node.operands[0]);
  bind(step, node.results[0]);
  step.plan = plan;
  return {};
}

// Planes whose rows and columns change places, where that is all that a transpose does.
bool Lowering::squares(Step& step, const std::vector<int64_t>& out, const std::vector<int64_t>& strides) const {
  const Node& node = graph.node(step.group.anchor);
  const CollapsedLoops loops = collapse(out, {strides});
  const std::vector<int64_t>&extents = loops.extents, &from = loops.strides[0], to = dense_strides(extents);
  const auto run = static_cast<size_t>(std::ranges::find(from, 1) - from.begin());
  const size_t last = extents.size() - 1;
  if (extents.size() > 3 || run >= last) return false;
  TransposePlan plan;
  plan.element_bytes = static_cast<int>(size_bytes(graph.type(node.results[0]).dtype));
  const int64_t square = target.lanes();
  if (extents[last] < square) plan.rows = extents[last];
  if (extents[run] < square) plan.columns = extents[run];
  if (plan.element_bytes > 4 || (plan.rows && plan.columns)) return false;
  const size_t outer = 1 - run;  // of three loops
  const bool planes = extents.size() == 3;
  auto& d = step.dims;
  d[0] = planes ? extents[outer] : 1, d[1] = extents[last], d[2] = extents[run];
  d[3] = planes ? from[outer] : 0, d[4] = planes ? to[outer] : 0, d[5] = from[last], d[6] = to[run];
  bind(step, node.operands[0]);
  bind(step, node.results[0]);
  step.plan = plan;
  return true;
}

Refusal Lowering::transpose(Step& step) const {
  const Node& node = graph.node(step.group.anchor);
  const std::vector<int64_t> in = shape_of(graph, node.operands[0]), out = shape_of(graph, node.results[0]);
  const auto perm = node.attributes.get_or<std::vector<int64_t>>("perm", {});
  const std::vector<int64_t> own = dense_strides(in);
  std::vector<int64_t> strides;
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t axis = perm.empty() ? std::ssize(out) - 1 - static_cast<int64_t>(i) : perm[i];
    strides.push_back(own[static_cast<size_t>(axis < 0 ? axis + std::ssize(in) : axis)]);
  }
  if (squares(step, out, strides)) return {};
  PointwisePlan plan;
  plan.program = flatten(Expr::arg(0, compute_scalar(graph.type(node.operands[0]).dtype)));
  return elementwise(step, plan, out, {{{node.operands[0]}, strides}}, {node.results, dense_strides(out)});
}

}  // namespace hone
