#include "train/nested_weights.h"

#include <algorithm>

#include "base/error.h"
#include "ops/calls/conv.h"

namespace hone {
namespace {

bool is_window(const Graph& graph, ValueId constant) {
  return std::ranges::any_of(graph.uses(constant), [&](const Graph::Use& use) {
    return use.node != kNone && graph.node(use.node).op == &conv_def && graph.node(use.node).operands[1] == constant;
  });
}

// Calls `visit(place in the whole, place in the part, length)` for each stretch that lies together in both.
template <class Visit>
void each_stretch(const std::vector<int64_t>& whole, const NestedPart& part, Visit visit) {
  size_t axes = part.shape.size();
  int64_t length = 1;
  while (axes > 0 && part.shape[axes - 1] == whole[axes - 1]) length *= part.shape[--axes];
  int64_t inner = length;  // what one step along axis `axes - 1` moves by
  if (axes > 0) length *= part.shape[axes - 1];
  const int64_t elements = element_count(part.shape);
  std::vector<int64_t> at(axes, 0);
  for (int64_t own = 0; own < elements; own += length) {
    int64_t place = 0;
    for (size_t axis = 0; axis < axes; ++axis) place = place * whole[axis] + part.origin[axis] + at[axis];
    visit(static_cast<size_t>(place * inner), static_cast<size_t>(own), static_cast<size_t>(length));
    for (size_t axis = axes - (axes > 0); axis-- > 0 && ++at[axis] == part.shape[axis];) at[axis] = 0;
  }
}

void require_same_inputs(const Graph& part, const Graph& whole) {
  const auto texts = [](const Graph& graph) {
    std::string text;
    for (ValueId id : graph.arguments())
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", graph.value(id).label, to_string(graph.type(id)));
    return text;
  };
  const std::string own = texts(part), wanted = texts(whole);
  if (own != wanted) fail("it takes {}, and the largest network {}", own, wanted);
}

bool is_weight(const Graph& graph, ValueId id) {
  return !graph.value(id).label.empty() && is_float(graph.constant(id)->dtype());
}

}  // namespace

std::optional<NestedPart> nested_part(const Graph& graph, ValueId constant, const std::vector<int64_t>& whole) {
  NestedPart part{.origin = std::vector<int64_t>(whole.size(), 0), .shape = graph.constant(constant)->shape()};
  if (part.shape.size() != whole.size()) return std::nullopt;
  const bool window = is_window(graph, constant);
  for (size_t axis = 0; axis < whole.size(); ++axis) {
    if (part.shape[axis] > whole[axis]) return std::nullopt;
    if (window && axis >= 2) part.origin[axis] = (whole[axis] - part.shape[axis]) / 2;
  }
  return part;
}

Tensor cut(const Tensor& whole, const NestedPart& part, DType dtype) {
  const std::vector<float> source = whole.to_floats();
  std::vector<float> values(static_cast<size_t>(element_count(part.shape)));
  each_stretch(whole.shape(), part, [&](size_t place, size_t own, size_t length) {
    std::copy_n(source.data() + place, length, values.data() + own);
  });
  return Tensor::from_floats(dtype, part.shape, values);
}

void add_to(Tensor& whole, const NestedPart& part, const Tensor& values) {
  const std::span<float> sums = whole.mutable_as<float>();
  const std::span<const float> added = values.as<float>();
  each_stretch(whole.shape(), part, [&](size_t place, size_t own, size_t length) {
    for (size_t i = 0; i < length; ++i) sums[place + i] += added[own + i];
  });
}

int64_t inherit_weights(Graph& graph, const Graph& parent) {
  int64_t taken = 0;
  for (ValueId id : graph.constants()) {
    if (!is_weight(graph, id)) continue;
    const ValueId theirs = parent.find_constant(graph.value(id).label);
    if (theirs == kNone) continue;
    const Tensor source = *parent.constant(theirs);
    const std::optional<NestedPart> part = nested_part(graph, id, source.shape());
    if (!part || (!source.is_packed() && !is_float(source.dtype()))) continue;
    graph.set_constant(id, cut(source, *part, graph.constant(id)->dtype()));
    ++taken;
  }
  if (taken == 0) fail("the parent has no weight of a name and shape that the model could begin with");
  return taken;
}

void require_nested(const Graph& graph, const Graph& whole) {
  require_same_inputs(graph, whole);
  for (ValueId id : graph.constants()) {
    if (!is_weight(graph, id)) continue;
    const std::string& label = graph.value(id).label;
    const ValueId theirs = whole.find_constant(label);
    if (theirs == kNone) fail("{} is no weight of the largest network", label);
    if (!nested_part(graph, id, whole.constant(theirs)->shape()))
      fail("{} is {}, which is no part of the largest network's, {}", label, to_string(graph.type(id)),
           to_string(whole.type(theirs)));
  }
}

}  // namespace hone
