#include "passes/weight_matrix.h"

#include <algorithm>

#include "formats/zero_points.h"

namespace hone {
namespace {

template <class Element>
void move_channels(const std::byte* from, std::byte* to, int64_t outputs, int64_t channels, int64_t taps) {
  const auto* src = reinterpret_cast<const Element*>(from);
  auto* dst = reinterpret_cast<Element*>(to);
  for (int64_t o = 0; o < outputs; ++o, src += channels * taps)
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t c = 0; c < channels; ++c) *dst++ = src[c * taps + t];
}

// A plain [O,I,...] as a matrix.
Tensor with_channels_last(const Tensor& weights) {
  const std::vector<int64_t> shape = weight_matrix_shape(weights.shape());
  const int64_t channels = weights.dim(1), element = size_bytes(weights.dtype());
  Buffer buffer(weights.data().size());
  CHECK(element == 1 || element == 2 || element == 4 || element == 8);
  const auto move = element == 1   ? move_channels<uint8_t>
                    : element == 2 ? move_channels<uint16_t>
                    : element == 4 ? move_channels<uint32_t>
                                   : move_channels<uint64_t>;
  move(weights.data().bytes().data(), buffer.mutable_bytes().data(), shape[0], channels,
       shape[1] / std::max<int64_t>(channels, 1));
  return Tensor(weights.dtype(), shape, std::move(buffer));
}

// One scale for all, or one for each row: only codes change places, within their line.
std::optional<Tensor> packed_matrix(const Tensor& weights, const std::vector<int64_t>& shape) {
  using Kind = Geometry::Kind;
  Format format = *weights.format();
  const Geometry& geometry = format.geometry;
  const bool by_row = geometry.kind == Kind::channel &&
                      (geometry.axis == 0 || geometry.axis == -static_cast<int>(weights.shape().size()));
  if (geometry.kind != Kind::none && geometry.kind != Kind::tensor && !by_row) return std::nullopt;
  if (by_row) format.geometry.axis = 0;
  const std::vector<uint32_t> codes = codes_of(format, weights.shape(), weights.planes());
  const Tensor moved = with_channels_last(Tensor::of<uint32_t>(weights.shape(), codes));
  return with_codes(weights, format, shape, moved.as<uint32_t>());
}

}  // namespace

std::vector<int64_t> weight_matrix_shape(const std::vector<int64_t>& weights) {
  int64_t columns = 1;
  for (size_t i = 1; i < weights.size(); ++i) columns *= weights[i];
  return {weights[0], columns};
}

Tensor with_codes(const Tensor& packed, const Format& format, std::vector<int64_t> shape,
                  std::span<const uint32_t> codes) {
  const Format& own = *packed.format();
  const Planes planes = planes_of(format, shape, codes, scale_codes_of(own, packed.shape(), packed.planes()),
                                  zero_points_of(own, packed.planes()));
  return Tensor::packed(format, std::move(shape), Buffer::copy_of(planes.codes), packed.scales(), packed.zero_points(),
                        packed.global());
}

std::optional<Tensor> weight_matrix(const Tensor& weights) {
  const std::vector<int64_t>& from = weights.shape();
  const std::vector<int64_t> shape = weight_matrix_shape(from);
  if (weights.is_packed()) return packed_matrix(weights, shape);
  const bool in_order = from[1] == 1 || from[1] == shape[1];
  return in_order ? weights.reshaped(shape) : with_channels_last(weights);
}

}  // namespace hone
