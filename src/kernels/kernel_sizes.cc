#include "kernels/kernel_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "base/memory_limit.h"
#include "ops/calls/concat.h"
#include "ops/calls/gather_elements.h"
#include "ops/calls/gather_nd.h"

namespace hone {
namespace {

std::string text_of(const Graph& graph, ValueId v, std::span<const int64_t> shape) {
  TensorType type = graph.type(v);
  type.shape = to_shape(shape);
  return fmt::format("%{} {}", graph.value(v).name, to_string(type));
}

void check_value(const Graph& graph, ValueId v, std::span<const int64_t> shape) {
  int64_t elements = 1;
  for (int64_t size : shape) {
    if (size < 0 || size > kMostElements / elements)
      fail("{} is too large: at most 2^44 elements can be computed with", text_of(graph, v, shape));
    elements *= std::max<int64_t>(size, 1);
  }
}

}  // namespace

std::vector<ValueId> values_in_memory(const Graph& graph) {
  std::vector<ValueId> values;
  for (NodeId n : graph.nodes()) {
    const OpDef& op = *graph.node(n).op;
    if (op.pointwise || op.view || !(op.moves || group_of_one(graph, n).kernels.empty())) continue;
    for (ValueId v : graph.node(n).results)
      if (!graph.type(v).is_packed() && graph.type(v).dtype != DType::string) values.push_back(v);
  }
  return values;
}

void check_constant_sizes(const Graph& graph) {
  const auto check = [&](ValueId v) {
    if (is_constant(graph.type(v).shape)) check_value(graph, v, constant_shape(graph.type(v).shape));
  };
  for (ValueId v : graph.inputs()) check(v);
  for (ValueId v : graph.constants()) check(v);
  for (NodeId n : graph.nodes())
    for (ValueId v : graph.node(n).results) check(v);
}

void check_sizes(const Graph& graph, const RunSizes& sizes, std::span<const ValueId> values,
                 std::span<const ValueId> in_memory) {
  for (ValueId v : values) check_value(graph, v, sizes.shape(v));
  for (ValueId v : in_memory) {
    const int64_t bytes = element_count(sizes.shape(v)) * size_bytes(graph.type(v).dtype);
    require_memory(bytes, text_of(graph, v, sizes.shape(v)));
  }
}

namespace {

// Whether an op has an operand beside others of which it takes as many elements as there are.
bool takes_none(const OpDef* op) { return op == &concat_def || op == &scatter_elements_def || op == &scatter_nd_def; }

template <class IsEmpty>
Support elements_support(const Graph& graph, const Group& group, IsEmpty is_empty) {
  for (NodeId n : group.nodes) {
    const Node& node = graph.node(n);
    for (ValueId v : node.results)
      if (is_empty(v)) return {fmt::format("%{} has no elements", graph.value(v).name)};
    if (takes_none(node.op)) continue;
    for (ValueId v : node.operands)
      if (v != kNone && is_empty(v)) return {fmt::format("%{} has no elements", graph.value(v).name)};
  }
  return {};
}

}  // namespace

Support sizes_support(const Graph& graph, const Group& group, const RunSizes& sizes) {
  if (!sizes.has_zeros()) return {};
  return elements_support(graph, group, [&](ValueId v) { return std::ranges::count(sizes.shape(v), 0) > 0; });
}

Support elements_support(const Graph& graph, const Group& group) {
  return elements_support(graph, group, [&](ValueId v) { return std::ranges::count(graph.type(v).shape, Dim(0)) > 0; });
}

Support window_support(const SizedWindow& placed) {
  constexpr double kMostTaps = 1 << 20, kMostPlaneBytes = 0x1p46;
  const PlaneWindow& p = placed.plane;
  for (int64_t number :
       {p.height, p.width, p.out_height, p.out_width, p.kernel_height, p.kernel_width, p.stride_y, p.stride_x,
        p.dilation_y, p.dilation_x, p.pad_top, p.pad_left, placed.pad_bottom, placed.pad_right})
    if (number > kMostPlaces || number < -kMostPlaces) return {fmt::format("a window with {}", number)};
  const auto product = [](std::initializer_list<int64_t> numbers) {
    double result = 1;
    for (int64_t number : numbers) result *= static_cast<double>(number);
    return result;
  };
  const auto reach = [](int64_t places, int64_t stride, int64_t kernel, int64_t dilation) {
    return (places - 1) * stride + (kernel - 1) * dilation + 1;
  };
  if (product({p.kernel_height, p.kernel_width}) > kMostTaps)
    return {fmt::format("a window of {} x {} taps", p.kernel_height, p.kernel_width)};
  if (product({reach(p.out_height, p.stride_y, p.kernel_height, p.dilation_y),
               reach(p.out_width, p.stride_x, p.kernel_width, p.dilation_x), placed.channels, 8}) > kMostPlaneBytes)
    return {"a plane with its padding that is too large for scratch memory"};
  return {};
}

}  // namespace hone
