#include "ops/sliding_window.h"

#include <algorithm>

#include "base/checked.h"
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr size_t kMostDims = 3;

SlidingWindow::Same read_auto_pad(const Attributes& attributes) {
  const std::string text = attributes.get_or<std::string>("auto_pad", "none");
  if (text == "none") return SlidingWindow::Same::no;
  if (attributes.has("pads")) fail("both pads and auto_pad \"{}\" are given; accepted: one of them", text);
  if (text == "same_upper") return SlidingWindow::Same::upper;
  if (text == "same_lower") return SlidingWindow::Same::lower;
  fail("auto_pad is \"{}\"; accepted: none, same_upper, same_lower", text);
}

Dim ceildiv(const Dim& a, int64_t b) { return floordiv(a + (b - 1), b); }

// The steps k of a window's axis, 0 <= k < kernel, at which first + k * dilation lies in 0 .. extent - 1.
struct Steps {
  int64_t begin, end;
};
Steps steps_inside(int64_t first, int64_t kernel, int64_t dilation, int64_t extent) {
  const int64_t begin = first >= 0 ? 0 : (-first - 1) / dilation + 1;
  const int64_t end = first >= extent ? 0 : (extent - 1 - first) / dilation + 1;
  return {begin, std::min(kernel, end)};
}

// Zeros before and after a dimension of `extent` so that the window takes `places` places.
std::pair<int64_t, int64_t> same_pads(SlidingWindow::Same same, int64_t extent, int64_t places, int64_t stride,
                                      int64_t reach) {
  const int64_t covered = checked_add(checked_mul(std::max<int64_t>(places - 1, 0), stride), reach);
  const int64_t total = std::max<int64_t>(covered - extent, 0), half = total / 2;
  return same == SlidingWindow::Same::upper ? std::pair(half, total - half) : std::pair(total - half, half);
}

Tensor with_axis_moved(const Tensor& tensor, size_t from, size_t to) {
  std::vector<int64_t> sizes = tensor.shape(), strides = strides_of(sizes);
  for (std::vector<int64_t>* list : {&sizes, &strides}) {
    const int64_t moved = (*list)[from];
    list->erase(list->begin() + static_cast<ptrdiff_t>(from));
    list->insert(list->begin() + static_cast<ptrdiff_t>(to), moved);
  }
  return copy_strided(plain(tensor), sizes, strides);
}

}  // namespace

SlidingWindow read_sliding_window(const Attributes& attributes, Shape kernel) {
  const size_t dims = kernel.size();
  if (dims < 1 || dims > kMostDims) fail("{} spatial dimensions; accepted: 1 to {}", dims, kMostDims);
  for (const Dim& extent : kernel)
    if (extent.is_constant()) expect_positive(extent.constant(), "an extent of the window");
  const std::vector<int64_t> ones(dims, 1), zeros(2 * dims, 0);
  return {.kernel = std::move(kernel),
          .strides = integers_or(attributes, "strides", ones, dims, 1),
          .dilations = integers_or(attributes, "dilations", ones, dims, 1),
          .pads = integers_or(attributes, "pads", zeros, 2 * dims, 0),
          .same = read_auto_pad(attributes),
          .ceil = attributes.get_or<int64_t>("ceil_mode", 0) != 0};
}

Shape SlidingWindow::places(const Shape& x) const {
  Shape result;
  for (size_t i = 0; i < dims(); ++i) {
    const Dim &extent = x[i + 2], padded = extent + pads[i] + pads[i + dims()];
    if (same != Same::no) {
      result.push_back(ceildiv(extent, strides[i]));
      continue;
    }
    const Dim room = padded - reach(i);
    if (room.is_constant() && room.constant() < 0)
      fail("the window reaches over {} elements but spatial dimension {} has {} with its padding", reach(i).to_string(),
           i, padded.to_string());
    // With ceil: as many as reach fully into the padding, rounded up, and as many as start in x or before it.
    const Dim past = Dim(strides[i]) + pads[i + dims()] - reach(i);
    if (!ceil) result.push_back(floordiv(room, strides[i]) + 1);
    else if (past.is_constant())
      result.push_back(ceildiv(extent + pads[i] + std::min<int64_t>(past.constant(), 0), strides[i]));
    else result.push_back(Dim::unknown());
  }
  return result;
}

bool channels_last(const Attributes& attributes) { return attributes.get_or<int64_t>("channels_last", 0) != 0; }

Shape channels_first(const Attributes& attributes, const Shape& shape) {
  Shape result = shape;
  if (channels_last(attributes)) std::rotate(result.begin() + 1, result.end() - 1, result.end());
  return result;
}

Shape as_channels_lie(const Attributes& attributes, const Shape& channels_first) {
  Shape result = channels_first;
  if (channels_last(attributes)) std::rotate(result.begin() + 1, result.begin() + 2, result.end());
  return result;
}

Tensor with_channels_first(const Attributes& attributes, const Tensor& x) {
  return channels_last(attributes) ? with_axis_moved(x, x.shape().size() - 1, 1) : plain(x);
}

Tensor with_channels_as_they_lie(const Attributes& attributes, const Tensor& channels_first) {
  return channels_last(attributes) ? with_axis_moved(channels_first, 1, channels_first.shape().size() - 1)
                                   : channels_first;
}

std::vector<Tensor> eval_channels_first(const EvalArgs& a, std::vector<Tensor> (*eval)(const EvalArgs&)) {
  if (!channels_last(a.attributes)) return eval(a);
  const Tensor x = with_channels_first(a.attributes, a[0]);
  std::vector<const Tensor*> operands(a.operands.begin(), a.operands.end());
  operands[0] = &x;
  TensorType result = a.results[0];
  result.shape = channels_first(a.attributes, result.shape);
  Attributes attributes = a.attributes;
  attributes.erase("channels_last");
  return {with_channels_as_they_lie(a.attributes, eval({operands, attributes, {&result, 1}}).front())};
}

SlidingWindowOnPlane::SlidingWindowOnPlane(const SlidingWindow& window, std::span<const int64_t> extents,
                                           std::span<const int64_t> places, std::span<const int64_t> before) {
  const size_t dims = window.dims();
  for (size_t i = 0; i < dims; ++i) {
    std::pair pads(window.pads[i], window.pads[i + dims]);
    if (window.same != SlidingWindow::Same::no)
      pads = same_pads(window.same, extents[i], places[i], window.strides[i], window.reach(i).constant());
    axes_[kMostDims - dims + i] = {extents[i],        places[i],           window.kernel[i].constant(),
                                   window.strides[i], window.dilations[i], before.empty() ? pads.first : before[i],
                                   pads.second};
  }
  checked_product(std::array{axes_[0].kernel, axes_[1].kernel, axes_[2].kernel});  // positions in the window
}

std::array<int64_t, 3> SlidingWindowOnPlane::start(int64_t place) const {
  std::array<int64_t, 3> result{};
  for (size_t i = kMostDims; i-- > 0; place /= axes_[i].places)
    result[i] = place % axes_[i].places * axes_[i].stride - axes_[i].before;
  return result;
}

std::vector<Tap> SlidingWindowOnPlane::taps(int64_t place) const {
  check_stop();
  const std::array<int64_t, 3> first = start(place);
  const auto& [d, h, w] = axes_;
  std::array<Steps, 3> steps;  // a window may reach far beyond the plane
  for (size_t i = 0; i < kMostDims; ++i)
    steps[i] = steps_inside(first[i], axes_[i].kernel, axes_[i].dilation, axes_[i].extent);
  std::vector<Tap> taps;
  for (int64_t i = steps[0].begin; i < steps[0].end; ++i)
    for (int64_t j = steps[1].begin; j < steps[1].end; ++j)
      for (int64_t k = steps[2].begin; k < steps[2].end; ++k) {
        const int64_t z = first[0] + i * d.dilation, y = first[1] + j * h.dilation, x = first[2] + k * w.dilation;
        taps.push_back({(i * h.kernel + j) * w.kernel + k, (z * h.extent + y) * w.extent + x});
      }
  return taps;
}

int64_t SlidingWindowOnPlane::padded_taps(int64_t place) const {
  const std::array<int64_t, 3> first = start(place);
  int64_t count = 1;
  for (size_t i = 0; i < kMostDims; ++i) {
    const int64_t room = axes_[i].extent + axes_[i].after - first[i];
    count *= room < 1 ? 0 : std::min(axes_[i].kernel, (room - 1) / axes_[i].dilation + 1);
  }
  return count;
}

}  // namespace hone
