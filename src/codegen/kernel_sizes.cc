#include "codegen/kernel_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "base/memory_limit.h"
#include "codegen/lowering.h"

namespace hone {
namespace {

void check_value(const Graph& graph, ValueId v) {
  int64_t elements = 1;
  for (int64_t size : shape_of(graph, v)) {
    if (size < 0 || size > kMostElements / elements)
      fail("%{} {} is too large: at most 2^44 elements can be computed with", graph.value(v).name,
           to_string(graph.type(v)));
    elements *= std::max<int64_t>(size, 1);
  }
}

bool lies_in_memory(const Node& node) {
  return !node.op->pointwise && (node.op->codegen == Codegen::move || node.op->codegen == Codegen::none);
}

void check_memory(const Graph& graph, ValueId v) {
  const TensorType& type = graph.type(v);
  if (type.is_packed() || type.dtype == DType::string) return;
  const int64_t bytes = element_count(shape_of(graph, v)) * size_bytes(type.dtype);
  require_memory(bytes, fmt::format("%{} {}", graph.value(v).name, to_string(type)));
}

}  // namespace

void check_sizes(const Graph& graph) {
  for (ValueId v : graph.inputs()) check_value(graph, v);
  for (ValueId v : graph.constants()) check_value(graph, v);
  for (NodeId n : graph.nodes())
    for (ValueId v : graph.node(n).results) {
      check_value(graph, v);
      if (lies_in_memory(graph.node(n))) check_memory(graph, v);
    }
}

Refusal sizes_refusal(const Graph& graph, const Group& group) {
  const auto is_empty = [&](ValueId v) {
    return v != kNone && std::ranges::find(graph.type(v).shape, Dim(0)) != graph.type(v).shape.end();
  };
  for (NodeId n : group.nodes) {
    const Node& node = graph.node(n);
    for (ValueId v : node.results)
      if (is_empty(v)) return {fmt::format("%{} has no elements", graph.value(v).name)};
    if (std::string_view(node.op->name) == "concat") continue;
    for (ValueId v : node.operands)
      if (is_empty(v)) return {fmt::format("%{} has no elements", graph.value(v).name)};
  }
  return {};
}

Refusal window_refusal(const PlacedWindow& placed) {
  constexpr double kMostTaps = 1 << 20, kMostPlaneBytes = 0x1p46;
  constexpr int64_t kMostPlaces = int64_t{1} << 28;
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
