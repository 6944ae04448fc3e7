#include "kernels/plane_window.h"

#include <algorithm>

#include "base/checked.h"

namespace hone {

std::string PlaneWindow::to_text() const {
  return fmt::format("plane {}x{} -> {}x{} kernel {}x{} stride {}x{} dilation {}x{} pad {},{}", height, width,
                     out_height, out_width, kernel_height, kernel_width, stride_y, stride_x, dilation_y, dilation_x,
                     pad_top, pad_left);
}

namespace {

constexpr int64_t PlaneWindow::*kSizes[] = {
    &PlaneWindow::height,  &PlaneWindow::width,    &PlaneWindow::out_height,    &PlaneWindow::out_width,
    &PlaneWindow::pad_top, &PlaneWindow::pad_left, &PlaneWindow::kernel_height, &PlaneWindow::kernel_width};
static_assert(std::size(kSizes) == std::tuple_size_v<WindowSizes>);
constexpr size_t kSizesOfPlanes = 6;  // the first of them

}  // namespace

PlaneWindow on_any_plane(const PlaneWindow& window, WindowSizes& sizes) {
  PlaneWindow any = window;
  for (size_t i = 0; i < std::size(kSizes); ++i) {
    sizes[i] = window.*kSizes[i];
    if (i < kSizesOfPlanes) any.*kSizes[i] = 0;
  }
  return any;
}

PlaneWindow window_on_any_plane(const SlidingWindow& window) {
  const size_t x = window.dims() - 1;
  PlaneWindow plane{.height = 0, .width = 0, .out_height = 0, .out_width = 0};
  plane.kernel_width = window.kernel[x].constant();
  plane.stride_x = window.strides[x], plane.dilation_x = window.dilations[x];
  if (x == 0) return plane;
  plane.kernel_height = window.kernel[0].constant();
  plane.stride_y = window.strides[0], plane.dilation_y = window.dilations[0];
  return plane;
}

PlaneWindow on_plane_of(const PlaneWindow& window, const WindowSizes& sizes) {
  PlaneWindow placed = window;
  for (size_t i = 0; i < std::size(kSizes); ++i) placed.*kSizes[i] = sizes[i];
  return placed;
}

namespace {

SlidingWindow window_of(const Graph& graph, const Node& node) {
  Shape kernel;
  if (node.attributes.has("kernel_shape")) {
    kernel = to_shape(node.attributes.get<std::vector<int64_t>>("kernel_shape"));
  } else {  // w [O,C/groups,...]
    const Shape& w = graph.type(node.operands[1]).shape;
    kernel.assign(w.begin() + 2, w.end());
  }
  return read_sliding_window(node.attributes, kernel);
}

}  // namespace

bool has_padding(const Graph& graph, NodeId n) {
  const SlidingWindow window = window_of(graph, graph.node(n));
  return window.same != SlidingWindow::Same::no ||
         std::ranges::any_of(window.pads, [](int64_t pad) { return pad != 0; });
}

bool has_open_plane(const Shape& x, const Shape& out) {
  const auto is_open = [](const Shape& shape) {
    return std::any_of(shape.begin() + 1, shape.end() - 1, [](const Dim& dim) { return !dim.is_constant(); });
  };
  return is_open(x) || is_open(out);
}

std::optional<SizedWindow> sized_window(const Graph& graph, NodeId n, std::span<const int64_t> x,
                                        std::span<const int64_t> out) {
  const Node& node = graph.node(n);
  if (!channels_last(node.attributes) || x.size() < 3 || x.size() > 4) return std::nullopt;
  const SlidingWindow window = window_of(graph, node);
  const size_t dims = window.dims();
  const std::vector<int64_t> extents(x.begin() + 1, x.end() - 1), places(out.begin() + 1, out.end() - 1);
  const std::array<int64_t, 3> start = SlidingWindowOnPlane(window, extents, places).start(0);
  struct Axis {
    int64_t extent = 1, places = 1, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;
  };
  std::array<Axis, 2> axes;
  for (size_t i = 0; i < dims; ++i) {
    Axis& axis = axes[2 - dims + i];
    axis = {extents[i],           places[i],           window.kernel[i].constant(),
            window.strides[i],    window.dilations[i], -start[3 - dims + i],
            window.pads[i + dims]};
    // With one place, or one tap, the distance to the next one means nothing, however large a file has it.
    if (axis.places == 1 && axis.stride > kMostPlaces) axis.stride = 1;
    if (axis.kernel == 1) axis.dilation = 1;
    const int64_t places_reach = checked_mul(checked_sub(axis.places, 1), axis.stride),
                  taps_reach = checked_add(checked_mul(axis.dilation, checked_sub(axis.kernel, 1)), 1);
    const int64_t reached = checked_sub(checked_add(checked_sub(places_reach, axis.before), taps_reach), axis.extent);
    if (window.same != SlidingWindow::Same::no) axis.after = std::max<int64_t>(0, reached);
  }
  const auto& [h, w] = axes;
  return SizedWindow{.images = x[0],
                     .channels = x.back(),
                     .plane = {.height = h.extent,
                               .width = w.extent,
                               .out_height = h.places,
                               .out_width = w.places,
                               .kernel_height = h.kernel,
                               .kernel_width = w.kernel,
                               .stride_y = h.stride,
                               .stride_x = w.stride,
                               .dilation_y = h.dilation,
                               .dilation_x = w.dilation,
                               .pad_top = h.before,
                               .pad_left = w.before},
                     .pad_bottom = h.after,
                     .pad_right = w.after};
}

std::vector<int64_t> with_ones_for_open(const Shape& shape) {
  std::vector<int64_t> sizes;
  for (const Dim& size : shape) sizes.push_back(size.is_constant() ? size.constant() : 1);
  return sizes;
}

}  // namespace hone
