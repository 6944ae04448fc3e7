// Windows that move over planes, and the window of a conv or pool with channels last, once all sizes are known.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "device/fields.h"
#include "ir/graph.h"
#include "kernels/kernel.h"
#include "ops/sliding_window.h"

namespace hone {

// A window that moves over planes of x [images, height, width, channels]; a 1-D window has heights of 1. Elements
// outside the plane are zeros, or left out.
struct PlaneWindow {
  int64_t height = 1, width = 1, out_height = 1, out_width = 1;
  int64_t kernel_height = 1, kernel_width = 1, stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1;
  int64_t pad_top = 0, pad_left = 0;
  int64_t taps() const { return kernel_height * kernel_width; }
  std::string to_text() const;  // for people
  static constexpr auto fields() {
    return std::tuple(field("height", &PlaneWindow::height), field("width", &PlaneWindow::width),
                      field("out_height", &PlaneWindow::out_height), field("out_width", &PlaneWindow::out_width),
                      field("kernel_height", &PlaneWindow::kernel_height),
                      field("kernel_width", &PlaneWindow::kernel_width), field("stride_y", &PlaneWindow::stride_y),
                      field("stride_x", &PlaneWindow::stride_x), field("dilation_y", &PlaneWindow::dilation_y),
                      field("dilation_x", &PlaneWindow::dilation_x), field("pad_top", &PlaneWindow::pad_top),
                      field("pad_left", &PlaneWindow::pad_left));
  }
};

// What kernels for any plane find among their arguments: height, width, out_height, out_width, pad_top, pad_left,
// kernel_height, kernel_width.
using WindowSizes = std::array<int64_t, 8>;

// The window without the sizes of its plane, which go into `sizes`; those of the window go there too, and stay.
PlaneWindow on_any_plane(const PlaneWindow& window, WindowSizes& sizes);
// The part of a window over one or two dimensions that is the same on any plane; of a line, one row high.
PlaneWindow window_on_any_plane(const SlidingWindow& window);
// The window of a plan for any plane, with these sizes.
PlaneWindow on_plane_of(const PlaneWindow& window, const WindowSizes& sizes);

inline constexpr int64_t kMostPlaces = int64_t{1} << 28;  // sizes and distances that kernels are made for

struct SizedWindow {
  int64_t images = 1, channels = 1;  // of x
  PlaneWindow plane;
  int64_t pad_bottom = 0, pad_right = 0;  // as far as windows reach into it
};

// Of node `n`, whose x is [N,W,C] or [N,H,W,C] and has these sizes, as has the result; none: x has more dimensions, or
// its channels come before them.
std::optional<SizedWindow> sized_window(const Graph& graph, NodeId n, std::span<const int64_t> x,
                                        std::span<const int64_t> out);

// A shape with 1 for each open size, where these decide nothing.
std::vector<int64_t> with_ones_for_open(const Shape& shape);
bool has_padding(const Graph& graph, NodeId n);  // whatever the sizes are
// Whether the sizes of x and the result are open but for the number of images and channels.
bool has_open_plane(const Shape& x, const Shape& out);

}  // namespace hone
