// Operators that resize, sample, crop or rearrange images, and those of regions in them.
#include "base/checked.h"
#include "io/onnx/onnx_family.h"
#include "ops/calls/center_crop_pad.h"
#include "ops/calls/grid_sample.h"
#include "ops/calls/non_max_suppression.h"
#include "ops/calls/resize.h"
#include "ops/calls/roi_pool.h"

namespace hone {
namespace {

// An optional input: older exporters give a tensor without elements where none is meant.
ValueId filled(const OnnxNode& n, int input) {
  if (!n.has(input)) return kNone;
  const TensorType& type = n.type(n.in(input));
  return type.ranked && type.shape == Shape{0} ? kNone : n.in(input);
}

std::vector<ValueId> import_resize(OnnxNode& n) {
  const std::string coordinates = n.text("coordinate_transformation_mode", "half_pixel");
  Attributes attributes{{"mode", n.text("mode", "nearest")},
                        {"coordinates", coordinates},
                        {"nearest_mode", n.text("nearest_mode", "round_prefer_floor")},
                        {"cubic_coeff_a", n.number("cubic_coeff_a", -0.75)},
                        {"exclude_outside", n.is_not_zero("exclude_outside", false)},
                        {"extrapolation_value", n.number("extrapolation_value", 0)},
                        {"antialias", n.is_not_zero("antialias", false)},
                        {"keep_aspect_ratio_policy", n.text("keep_aspect_ratio_policy", "stretch")}};
  if (n.has_attribute("axes")) attributes.set("axes", n.integers("axes"));
  const ValueId roi = coordinates == "tf_crop_and_resize" ? filled(n, 1) : kNone, scales = filled(n, 2);
  std::vector<ValueId> operands{n.in(0), roi, scales, kNone};
  if (scales == kNone) {
    if (const std::optional<Shape> sizes = n.dims(n.in(3))) attributes.set("sizes", *sizes);
    else operands[3] = n.in(3);
  }
  while (operands.back() == kNone) operands.pop_back();
  return {n.emit({&resize_def, operands, attributes})};
}

// Resize-10 and Upsample: place i lies at i / scale. Nearest goes down where an axis grows and up where it shrinks.
std::vector<ValueId> resize_by(const OnnxNode& n, ValueId scales) {
  const std::string mode = n.text("mode", "nearest");
  return {ops::resize(n, {.x = n.in(0),
                          .scales = scales,
                          .mode = mode == "bilinear" ? "linear" : mode,
                          .coordinates = "asymmetric",
                          .nearest_mode = "ceil_if_smaller"})};
}

std::vector<ValueId> import_resize_by_scales(OnnxNode& n) { return resize_by(n, n.in(1)); }

std::vector<ValueId> import_upsample_7(OnnxNode& n) {
  const std::vector<double> scales = n.numbers("scales");
  return resize_by(n, n.constant(Tensor::from_doubles(DType::f32, {static_cast<int64_t>(scales.size())}, scales)));
}

std::vector<ValueId> import_grid_sample(OnnxNode& n) {
  const std::string mode = n.text("mode", "linear");
  return {n.emit({&grid_sample_def,
                  {n.in(0), n.in(1)},
                  {{"mode", mode == "bilinear"  ? "linear"
                            : mode == "bicubic" ? "cubic"
                                                : mode},  // opset 16 names them of two dimensions
                   {"padding_mode", n.text("padding_mode", "zeros")},
                   {"align_corners", n.is_not_zero("align_corners", false)}}})};
}

// x and, where its values are known, the shape at input 1 as the attribute `name`; else as the second operand.
std::vector<ValueId> with_shape(const OnnxNode& n, const OpDef& op, const char* name, Attributes attributes) {
  std::vector<ValueId> operands{n.in(0)};
  if (const std::optional<Shape> shape = n.dims(n.in(1))) attributes.set(name, *shape);
  else operands.push_back(n.in(1));
  return {n.emit({&op, operands, attributes})};
}

std::vector<ValueId> import_affine_grid(OnnxNode& n) {
  return with_shape(n, affine_grid_def, "size", {{"align_corners", n.is_not_zero("align_corners", false)}});
}

std::vector<ValueId> import_center_crop_pad(OnnxNode& n) {
  Attributes attributes;
  if (n.has_attribute("axes")) attributes.set("axes", n.integers("axes"));
  return with_shape(n, center_crop_pad_def, "shape", attributes);
}

std::vector<ValueId> roi_align(const OnnxNode& n, bool half_pixel) {
  return {ops::roi_align(n, {.x = n.in(0),
                             .rois = n.in(1),
                             .batch_indices = n.in(2),
                             .output_height = n.integer("output_height", 1),
                             .output_width = n.integer("output_width", 1),
                             .sampling_ratio = n.integer("sampling_ratio", 0),
                             .mode = n.text("mode", "avg"),
                             .half_pixel = half_pixel,
                             .spatial_scale = n.number("spatial_scale", 1)})};
}

std::vector<ValueId> import_roi_align_10(OnnxNode& n) { return roi_align(n, false); }

std::vector<ValueId> import_roi_align(OnnxNode& n) {
  const std::string mode = n.text("coordinate_transformation_mode", "half_pixel");
  if (mode != "half_pixel" && mode != "output_half_pixel")
    fail("coordinate_transformation_mode is \"{}\"; accepted: half_pixel, output_half_pixel", mode);
  return roi_align(n, mode == "half_pixel");
}

std::vector<ValueId> import_max_roi_pool(OnnxNode& n) {
  return {ops::max_roi_pool(n, {.x = n.in(0),
                                .rois = n.in(1),
                                .pooled_shape = n.integers("pooled_shape"),
                                .spatial_scale = n.number("spatial_scale", 1)})};
}

std::vector<ValueId> import_non_max_suppression(OnnxNode& n) {
  std::vector<ValueId> operands{n.in(0), n.in(1), filled(n, 2), filled(n, 3), filled(n, 4)};
  while (operands.back() == kNone) operands.pop_back();
  return {
      n.emit({&non_max_suppression_def, operands, {{"center_point_box", n.zero_or_one("center_point_box", false)}}})};
}

constexpr int64_t kLargestBlock = 1 << 15;  // whose square fits an int

// Sizes [N,C,H,W] of x, and the attribute blocksize.
struct Blocks {
  Shape x;
  int64_t size;
};
Blocks blocks_of(const OnnxNode& n) {
  return {n.shape(n.in(0), 4), checked_range(n.integer("blocksize"), 1, kLargestBlock, "blocksize")};
}

// The two dimensions of a block lie before those of depth, or after them.
bool blocks_first(const OnnxNode& n) {
  const std::string mode = n.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") fail("mode is \"{}\"; accepted: DCR, CRD", mode);
  return mode == "DCR";
}

std::vector<ValueId> import_depth_to_space(OnnxNode& n) {
  const auto [x, b] = blocks_of(n);
  const Dim depth = floordiv(x[1], b * b);
  const bool first = blocks_first(n);
  const ValueId parts =
      n.reshape(n.in(0), first ? Shape{x[0], b, b, depth, x[2], x[3]} : Shape{x[0], depth, b, b, x[2], x[3]});
  const ValueId moved =
      n.transpose(parts, first ? std::vector<int64_t>{0, 3, 4, 1, 5, 2} : std::vector<int64_t>{0, 1, 4, 2, 5, 3});
  return {n.reshape(moved, {x[0], depth, x[2] * b, x[3] * b})};
}

std::vector<ValueId> import_space_to_depth(OnnxNode& n) {
  const auto [x, b] = blocks_of(n);
  const Dim height = floordiv(x[2], b), width = floordiv(x[3], b);
  const ValueId parts = n.reshape(n.in(0), {x[0], x[1], height, b, width, b});
  const ValueId moved = n.transpose(
      parts, blocks_first(n) ? std::vector<int64_t>{0, 3, 5, 1, 2, 4} : std::vector<int64_t>{0, 1, 3, 5, 2, 4});
  return {n.reshape(moved, {x[0], x[1] * b * b, height, width})};
}

constexpr OnnxOperator kOperators[] = {
    {"AffineGrid", 20, import_affine_grid},     {"CenterCropPad", 18, import_center_crop_pad},
    {"DepthToSpace", 1, import_depth_to_space}, {"GridSample", 16, import_grid_sample},
    {"MaxRoiPool", 1, import_max_roi_pool},     {"NonMaxSuppression", 10, import_non_max_suppression},
    {"Resize", 10, import_resize_by_scales},    {"Resize", 11, import_resize},
    {"RoiAlign", 10, import_roi_align_10},      {"RoiAlign", 16, import_roi_align},
    {"SpaceToDepth", 1, import_space_to_depth}, {"Upsample", 7, import_upsample_7},
    {"Upsample", 9, import_resize_by_scales},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_images_def{.name = "images", .operators = kOperators};

}  // namespace hone
