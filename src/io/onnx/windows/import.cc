// Operators of a sliding window: convolutions and pools.
#include "io/onnx/window_attributes.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/col2im.h"
#include "ops/calls/conv.h"
#include "ops/calls/conv_transpose.h"
#include "ops/calls/max_unpool.h"
#include "ops/calls/pool.h"
#include "ops/calls/reduce.h"

namespace hone {
namespace {

Attributes pool_of(const OnnxNode& n) {
  Attributes attributes = window_attributes(n);
  attributes.set("kernel_shape", n.integers("kernel_shape"));
  return attributes;
}

// Convolutions sum in f32 or f64; ONNX gives the element type of x.
std::vector<ValueId> product(const OnnxNode& n, const OpDef& op, std::vector<ValueId> operands, Attributes attributes) {
  while (operands.back() == kNone) operands.pop_back();
  const DType dtype = n.type(operands[0]).dtype;
  return {n.cast(n.emit({&op, std::move(operands), std::move(attributes)}), dtype)};
}

std::vector<ValueId> import_conv(OnnxNode& n) {
  return product(n, conv_def, {n.in(0), n.in(1), n.in_or_none(2)}, conv_attributes(n));
}

std::vector<ValueId> import_conv_transpose(OnnxNode& n) {
  Attributes attributes = conv_attributes(n);
  if (n.has_attribute("output_padding")) attributes.set("output_padding", n.integers("output_padding"));
  if (n.has_attribute("output_shape")) {
    attributes.set("output_shape", n.sizes("output_shape"));
    attributes.erase("pads");
  }
  return product(n, conv_transpose_def, {n.in(0), n.in(1), n.in_or_none(2)}, attributes);
}

std::vector<ValueId> import_deform_conv(OnnxNode& n) {
  Attributes attributes = conv_attributes(n);
  attributes.set("offset_groups", n.integer("offset_group", 1));
  return product(n, deform_conv_def, {n.in(0), n.in(1), n.in(2), n.in_or_none(3), n.in_or_none(4)}, attributes);
}

std::vector<ValueId> import_max_pool(OnnxNode& n) {
  const Attributes attributes = pool_of(n);
  std::vector<ValueId> results{n.emit({&max_pool_def, {n.in(0)}, attributes})};
  if (!n.wants(1)) return results;
  Attributes indices = attributes;
  indices.set("column_major", n.zero_or_one("storage_order", false));
  results.push_back(n.emit({&max_pool_indices_def, {n.in(0)}, indices}));
  return results;
}

std::vector<ValueId> import_average_pool(OnnxNode& n) {
  Attributes attributes = pool_of(n);
  attributes.set("count_include_pad", n.is_not_zero("count_include_pad", false));
  return {n.emit({&avg_pool_def, {n.in(0)}, attributes})};
}

std::vector<ValueId> import_lp_pool(OnnxNode& n) {
  Attributes attributes = pool_of(n);
  attributes.set("p", n.integer("p", 2));
  return {n.emit({&lp_pool_def, {n.in(0)}, attributes})};
}

std::vector<ValueId> import_max_unpool(OnnxNode& n) {
  Attributes attributes = pool_of(n);
  std::vector<ValueId> operands{n.in(0), n.in(1)};
  if (n.has(2)) {
    if (const std::optional<Shape> shape = n.dims(n.in(2))) attributes.set("output_shape", *shape);
    else operands.push_back(n.in(2));
  }
  return {n.emit({&max_unpool_def, operands, attributes})};
}

Attributes over_spatial_axes(const OnnxNode& n) {
  std::vector<int64_t> axes;
  if (n.rank(n.in(0)) < 2) fail("x is {}; accepted: [N,C,...]", to_string(n.type(n.in(0))));
  for (size_t i = 2; i < n.rank(n.in(0)); ++i) axes.push_back(static_cast<int64_t>(i));
  return {{"axes", axes}};
}

std::vector<ValueId> import_global_average_pool(OnnxNode& n) {
  return {n.emit({&reduce_mean_def, {n.in(0)}, over_spatial_axes(n)})};
}

std::vector<ValueId> import_global_max_pool(OnnxNode& n) {
  return {n.emit({&reduce_max_def, {n.in(0)}, over_spatial_axes(n)})};
}

std::vector<ValueId> import_global_lp_pool(OnnxNode& n) {
  const auto p = static_cast<double>(n.integer("p", 2));
  const DType dtype = n.type(n.in(0)).dtype;
  const ValueId powers = ops::pow(n, {ops::abs(n, {n.in(0)}), n.scalar(p, dtype)});
  return {ops::pow(n, {n.emit({&reduce_sum_def, {powers}, over_spatial_axes(n)}), n.scalar(1 / p, dtype)})};
}

std::vector<ValueId> import_col2im(OnnxNode& n) {
  Attributes attributes = window_attributes(n);
  std::vector<ValueId> operands{n.in(0), kNone, kNone};
  for (int i : {1, 2}) {
    if (const std::optional<Shape> shape = n.dims(n.in(i)))
      attributes.set(i == 1 ? "image_shape" : "block_shape", *shape);
    else operands[static_cast<size_t>(i)] = n.in(i);
  }
  while (operands.back() == kNone) operands.pop_back();
  return {n.emit({&col2im_def, operands, attributes})};
}

constexpr OnnxOperator kOperators[] = {
    {"AveragePool", 1, import_average_pool},
    {"Col2Im", 18, import_col2im},
    {"Conv", 1, import_conv},
    {"ConvTranspose", 1, import_conv_transpose},
    {"DeformConv", 19, import_deform_conv},
    {"GlobalAveragePool", 1, import_global_average_pool},
    {"GlobalLpPool", 2, import_global_lp_pool},
    {"GlobalMaxPool", 1, import_global_max_pool},
    {"LpPool", 2, import_lp_pool},
    {"MaxPool", 1, import_max_pool},
    {"MaxUnpool", 9, import_max_unpool},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_windows_def{.name = "windows", .operators = kOperators};

}  // namespace hone
