#include "ops/window.h"

#include <algorithm>

#include "ops/rules.h"

namespace hone {

Window read_window(const Attributes& attributes, std::array<int64_t, 2> kernel) {
  Window window;
  window.kernel = kernel;
  for (int64_t extent : kernel) expect_positive(extent, "an extent of the window");
  std::ranges::copy(integers_or(attributes, "strides", {1, 1}, 2, 1), window.strides.begin());
  std::ranges::copy(integers_or(attributes, "dilations", {1, 1}, 2, 1), window.dilations.begin());
  std::ranges::copy(integers_or(attributes, "pads", {0, 0, 0, 0}, 4, 0), window.pads.begin());
  return window;
}

Dim Window::places(const Dim& extent, int i) const {
  const auto axis = static_cast<size_t>(i);
  const int64_t reach = dilations[axis] * (kernel[axis] - 1) + 1;
  const Dim padded = extent + pads[axis] + pads[axis + 2];
  if (padded.is_constant() && padded.constant() < reach)
    fail("the window reaches over {} elements but the padded {} has {}", reach, i == 0 ? "height" : "width",
         padded.constant());
  return floordiv(padded - reach, strides[axis]) + 1;
}

}  // namespace hone
