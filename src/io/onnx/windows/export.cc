// Convolution and pooling.
#include <algorithm>
#include <numeric>

#include "io/onnx/export_direct.h"

namespace hone::onnx {
namespace {

using Integers = std::vector<int64_t>;

Attributes window_of(const ExportNode& n) {
  Attributes attributes = n.take({"strides", "dilations", "pads", "ceil_mode"});
  const std::string pads = n.attributes().get_or<std::string>("auto_pad", "none");
  if (pads != "none") attributes.set("auto_pad", pads == "same_upper" ? "SAME_UPPER" : "SAME_LOWER");
  return attributes;
}

bool is_dilated(const ExportNode& n) {
  const auto dilations = n.attributes().get_or<Integers>("dilations", {});
  return std::any_of(dilations.begin(), dilations.end(), [](int64_t d) { return d != 1; });
}

bool has_channels_last(const ExportNode& n) { return n.integer("channels_last", 0) != 0; }

// Axes of [N,...,C] as [N,C,...], and back.
Integers channels_moved(size_t rank, bool to_second) {
  Integers perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  if (to_second) std::rotate(perm.begin() + 1, perm.end() - 1, perm.end());
  else std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
  return perm;
}

std::string channels_first(const ExportNode& n, DType dtype) {
  const std::string x = n.in_as(0, dtype);
  return has_channels_last(n) ? n.transpose(x, channels_moved(n.rank(0), true)) : x;
}

std::string channels_back(const ExportNode& n, const std::string& y) {
  return has_channels_last(n) ? n.transpose(y, channels_moved(n.rank(0), false)) : y;
}

std::string product(const ExportNode& n, const char* op_type, Names inputs, Attributes attributes) {
  attributes.set("group", n.integer("groups", 1));
  const DType dtype = n.result_type().dtype;
  for (size_t i = inputs.size(); i < n.node().operands.size(); ++i) inputs.push_back(n.in_as(i, dtype));
  return n.emit(op_type, inputs, attributes);
}

// [O,C*planes,...] with the channels of a plane together, of that with the planes of a channel together.
std::string planes_apart(const ExportNode& n, DType dtype, int64_t planes) {
  const Shape& w = n.type(1).shape;
  Shape by_channel{w[0], floordiv(w[1], planes), planes}, by_plane{w[0], planes, floordiv(w[1], planes)};
  Integers perm{0, 2, 1};
  for (size_t i = 2; i < w.size(); ++i) {
    by_channel.push_back(w[i]), by_plane.push_back(w[i]);
    perm.push_back(static_cast<int64_t>(i) + 1);
  }
  const std::string split = n.reshape(n.in_as(1, dtype), w, by_channel);
  return n.reshape(n.transpose(split, perm), by_plane, w);
}

// A matrix [O, window * C/groups] as [O,C/groups,...].
std::string conv_weights(const ExportNode& n, DType dtype) {
  const Shape& w = n.type(1).shape;
  if (const int64_t planes = n.integer("planes", 1); planes > 1) return planes_apart(n, dtype, planes);
  if (w.size() != 2) return n.in_as(1, dtype);
  Shape spread = to_shape(n.attributes().get<Integers>("kernel_shape"));
  const Dim channels = floordiv(w[1], element_count(spread));
  spread.insert(spread.begin(), w[0]);
  spread.push_back(channels);
  return n.rearranged(1, dtype, spread, channels_moved(spread.size(), true));
}

Names conv(const ExportNode& n) {
  const DType dtype = n.result_type().dtype;
  if (!is_float(dtype)) not_in_onnx("a convolution of codes gives {}", to_string(dtype));
  return {channels_back(n, product(n, "Conv", {channels_first(n, dtype), conv_weights(n, dtype)}, window_of(n)))};
}

Names conv_transpose(const ExportNode& n) {
  Attributes attributes = window_of(n);
  if (n.attributes().has("output_padding"))
    attributes.set("output_padding", n.attributes().get<Integers>("output_padding"));
  if (n.attributes().has("output_shape")) {
    const Shape& shape = n.attributes().get<Shape>("output_shape");
    if (!is_constant(shape)) not_in_onnx("output_shape is {}; ConvTranspose takes constants only", to_string(shape));
    attributes.set("output_shape", constant_shape(shape));
  }
  return {product(n, "ConvTranspose", {}, attributes)};
}

Names deform_conv(const ExportNode& n) {
  n.needs(19, "DeformConv");
  Attributes attributes = window_of(n);
  attributes.set("offset_group", n.integer("offset_groups", 1));
  return {product(n, "DeformConv", {}, attributes)};
}

// Narrow floats are widened first.
DType pool_dtype(const ExportNode& n) { return n.type(0).dtype == DType::f64 ? DType::f64 : DType::f32; }

std::string pooled(const ExportNode& n, const char* op_type, const Attributes& attributes) {
  const DType dtype = pool_dtype(n);
  return n.cast(channels_back(n, n.emit(op_type, {channels_first(n, dtype)}, attributes)), dtype,
                n.result_type().dtype);
}

Attributes pool_of(const ExportNode& n) {
  Attributes attributes = window_of(n);
  attributes.set("kernel_shape", n.attributes().get<Integers>("kernel_shape"));
  return attributes;
}

Names max_pool(const ExportNode& n) { return {pooled(n, "MaxPool", pool_of(n))}; }

Names max_pool_indices(const ExportNode& n) {
  Attributes attributes = pool_of(n);
  attributes.set("storage_order", n.integer("column_major", 0));
  return {n.emit_all("MaxPool", {n.in_as(0, pool_dtype(n))}, attributes, 2)[1]};
}

Names avg_pool(const ExportNode& n) {
  if (is_dilated(n)) n.needs(19, "AveragePool with dilations");
  Attributes attributes = pool_of(n);
  if (n.opset() < 19) attributes.erase("dilations");
  attributes.set("count_include_pad", n.integer("count_include_pad", 0));
  return {pooled(n, "AveragePool", attributes)};
}

Names lp_pool(const ExportNode& n) {
  if (is_dilated(n) || n.integer("ceil_mode", 0) != 0) n.needs(18, "LpPool with dilations or ceil_mode");
  Attributes attributes = pool_of(n);
  if (n.opset() < 18) attributes.erase("dilations"), attributes.erase("ceil_mode");
  attributes.set("p", n.integer("p", 2));
  return {pooled(n, "LpPool", attributes)};
}

Names max_unpool(const ExportNode& n) {
  const DType dtype = pool_dtype(n);
  const std::string y = n.emit("MaxUnpool", {n.in_as(0, dtype), n.in(1), n.sizes_argument("output_shape", 2)},
                               n.take({"kernel_shape", "strides", "pads"}));
  return {n.cast(y, dtype, n.result_type().dtype)};
}

Names col2im(const ExportNode& n) {
  n.needs(18, "Col2Im");
  return {n.emit("Col2Im", {n.in(0), n.sizes_argument("image_shape", 1), n.sizes_argument("block_shape", 2)},
                 n.take({"strides", "dilations", "pads"}))};
}

constexpr ExportRule kRules[] = {
    {"avg_pool", avg_pool},       {"col2im", col2im},   {"conv", conv},         {"conv_transpose", conv_transpose},
    {"deform_conv", deform_conv}, {"lp_pool", lp_pool}, {"max_pool", max_pool}, {"max_pool_indices", max_pool_indices},
    {"max_unpool", max_unpool}};

}  // namespace

std::span<const ExportRule> window_rules() { return kRules; }

}  // namespace hone::onnx
