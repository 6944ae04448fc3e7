// The sliding window that convolutions and pools share, over the 1 to 3 spatial dimensions of [N,C,...].
#pragma once

#include <array>
#include <span>
#include <vector>

#include "ir/op_def.h"

namespace hone {

struct SlidingWindow {
  enum class Same : uint8_t { no, upper, lower };

  Shape kernel;  // extents, one per spatial dimension; the lists below likewise
  std::vector<int64_t> strides, dilations;
  std::vector<int64_t> pads;  // before each dimension, then after each
  Same same = Same::no;  // pads follow from the sizes: ceil(size / stride) places, an odd zero after (upper) or before
  bool ceil = false;     // a last window may reach past the padding if it starts before it

  size_t dims() const { return kernel.size(); }
  Dim reach(size_t i) const { return dilations[i] * (kernel[i] - 1) + 1; }  // elements from the first tap to the last
  // Places of the window along each spatial dimension of x [N,C,...]. Error when a constant size is too small.
  Shape places(const Shape& x) const;
};

// Reads strides, dilations, pads, auto_pad and ceil_mode; absent ones are 1, 1, 0, none and 0.
SlidingWindow read_sliding_window(const Attributes& attributes, Shape kernel);

// How their attributes are described; an op lists those that it takes.
constexpr AttributeSpec kStridesAttribute{"strides", AttributeKind::integers, false,
                                          "one per spatial dimension; default 1"};
constexpr AttributeSpec kDilationsAttribute{"dilations", AttributeKind::integers, false,
                                            "one per spatial dimension; default 1"};
constexpr AttributeSpec kPadsAttribute{"pads", AttributeKind::integers, false,
                                       "before each spatial dimension, then after each; default 0"};
constexpr AttributeSpec kAutoPadAttribute{"auto_pad", AttributeKind::string, false,
                                          "same_upper, same_lower: pads for ceil(size / stride) places, an odd one "
                                          "after or before; default none: as in pads"};
constexpr AttributeSpec kCeilModeAttribute{
    "ceil_mode", AttributeKind::integer, false,
    "1: the last window may reach past the padding if it starts before it; default 0"};

constexpr AttributeSpec kChannelsLastAttribute{
    "channels_last", AttributeKind::integer, false,
    "1: the channels of x and of the result are their last axis, [N,...,C]; default 0: [N,C,...]"};

bool channels_last(const Attributes& attributes);
// A shape with the channels second, wherever the attribute says they lie; and back.
Shape channels_first(const Attributes& attributes, const Shape& shape);
Shape as_channels_lie(const Attributes& attributes, const Shape& channels_first);
// A tensor, plain, with the channels second, wherever the attribute says they lie; and back.
Tensor with_channels_first(const Attributes& attributes, const Tensor& x);
Tensor with_channels_as_they_lie(const Attributes& attributes, const Tensor& channels_first);
// eval() of the same node with the channels of x and of the only result second.
std::vector<Tensor> eval_channels_first(const EvalArgs& a, std::vector<Tensor> (*eval)(const EvalArgs&));

// One element under the window: its position in the window and in the image plane, both row-major.
struct Tap {
  int64_t kernel, element;
};

// A window on planes of constant sizes, for reference evaluations.
class SlidingWindowOnPlane {
 public:
  // `extents` are the plane's spatial sizes, `places` how often the window stands along each of them. `before` replaces
  // the padding before each dimension where it is given.
  SlidingWindowOnPlane(const SlidingWindow& window, std::span<const int64_t> extents, std::span<const int64_t> places,
                       std::span<const int64_t> before = {});

  int64_t places() const { return axes_[0].places * axes_[1].places * axes_[2].places; }
  int64_t elements() const { return axes_[0].extent * axes_[1].extent * axes_[2].extent; }  // of the plane
  int64_t kernel() const { return axes_[0].kernel * axes_[1].kernel * axes_[2].kernel; }
  std::vector<Tap> taps(int64_t place) const;         // those inside the plane
  int64_t padded_taps(int64_t place) const;           // how many lie inside the plane with its padding
  std::array<int64_t, 3> start(int64_t place) const;  // position of the first tap

 private:
  struct Axis {  // spatial dimensions come last: a plane of 2 has a first axis of 1
    int64_t extent = 1, places = 1, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;
  };
  std::array<Axis, 3> axes_;
};

// The spatial part of [N,C,...].
inline std::vector<int64_t> spatial(const std::vector<int64_t>& sizes) { return {sizes.begin() + 2, sizes.end()}; }
inline Shape spatial(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

}  // namespace hone
