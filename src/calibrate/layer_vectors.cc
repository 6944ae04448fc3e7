#include "calibrate/layer_vectors.h"

#include <algorithm>

#include "ops/calls/conv.h"
#include "ops/calls/matmul.h"
#include "ops/sliding_window.h"

namespace hone {
namespace {

// Rows of the last axis.
LayerVectors rows(const Tensor& x) {
  const int64_t width = x.dim(-1);
  return {x.elements() / std::max<int64_t>(width, 1), width, 1, [x, width](int64_t index, float* out, int64_t) {
            std::copy_n(x.as<float>().data() + index * width, width, out);
          }};
}

// Columns of the matrices [...,K,N].
LayerVectors columns(const Tensor& x) {
  const int64_t width = x.dim(-2), n = x.dim(-1);
  return {x.elements() / std::max<int64_t>(width, 1), width, 1, [x, width, n](int64_t index, float* out, int64_t) {
            const float* column = x.as<float>().data() + index / n * width * n + index % n;
            for (int64_t k = 0; k < width; ++k) out[k] = column[k * n];
          }};
}

// Where the channels of one pixel lie.
struct Pixels {
  int64_t channels, channel_stride, pixel_stride;
};

Pixels pixels_of(const Attributes& attributes, const std::vector<int64_t>& channels_first, int64_t elements) {
  const int64_t channels = channels_first[1];
  return channels_last(attributes) ? Pixels{channels, 1, channels} : Pixels{channels, elements, 1};
}

LayerVectors windows(const Attributes& attributes, const std::vector<int64_t>& weight, const Tensor& x) {
  const Shape kernel =
      weight.size() == 2 ? to_shape(attributes.get<std::vector<int64_t>>("kernel_shape")) : spatial(to_shape(weight));
  const Shape shape = channels_first(attributes, to_shape(x.shape()));
  const std::vector<int64_t> sizes = constant_shape(shape);
  const SlidingWindow window = read_sliding_window(attributes, kernel);
  const SlidingWindowOnPlane plane(window, spatial(sizes), constant_shape(window.places(shape)));
  const Pixels pixels = pixels_of(attributes, sizes, plane.elements());
  const int64_t groups = attributes.get_or<int64_t>("groups", 1), channels = pixels.channels / groups;
  const int64_t width = plane.kernel() * channels;
  const auto copy = [=](int64_t index, float* out, int64_t group_stride) {
    const float* image = x.as<float>().data() + index / plane.places() * plane.elements() * pixels.channels;
    for (int64_t g = 0; g < groups; ++g) std::fill_n(out + g * group_stride, width, 0.0f);
    for (const Tap& tap : plane.taps(index % plane.places()))
      for (int64_t g = 0; g < groups; ++g) {
        const float* from = image + tap.element * pixels.pixel_stride + g * channels * pixels.channel_stride;
        float* to = out + g * group_stride + tap.kernel * channels;
        for (int64_t c = 0; c < channels; ++c) to[c] = from[c * pixels.channel_stride];
      }
  };
  return {sizes[0] * plane.places(), width, groups, copy};
}

}  // namespace

bool multiplies_vectors(const Graph& graph, const Layer& layer) {
  if (layer.weight == kNone || layer.inputs.size() != 1) return false;
  const Node& node = graph.node(layer.node);
  const TensorType& weight = graph.type(layer.weight);
  const bool is_matrix = node.op->operands.of(1).weight && (node.op != &matmul_def || weight.rank() == 2);
  return is_matrix && (weight.is_packed() || is_float(weight.dtype));
}

LayerVectors layer_vectors(const Graph& graph, const Layer& layer, const Tensor& input) {
  const Node& node = graph.node(layer.node);
  if (node.op == &conv_def) return windows(node.attributes, graph.constant(layer.weight)->shape(), input);
  const int64_t axis = node.op->axis_of_sums(node.attributes, layer.inputs[0]);
  return axis == -2 ? columns(input) : rows(input);
}

}  // namespace hone
