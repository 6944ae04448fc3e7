// Resampling of images, and regions of them.
#include "io/onnx/export_node.h"

namespace hone::onnx {
namespace {

Names resize(const ExportNode& n) {
  if (n.attributes().get_or<std::string>("nearest_mode", "") == "ceil_if_smaller")
    not_in_onnx("nearest_mode ceil_if_smaller is of opset 10; the nearest that fits: floor or ceil");
  const bool antialias = n.integer("antialias", 0) != 0, axes = n.attributes().has("axes"),
             keeps_ratio = n.attributes().get_or<std::string>("keep_aspect_ratio_policy", "stretch") != "stretch";
  if (antialias || axes || keeps_ratio) n.needs(18, "Resize with antialias, axes or keep_aspect_ratio_policy");
  Attributes attributes = n.take({"mode",
                                  {"coordinates", "coordinate_transformation_mode"},
                                  "nearest_mode",
                                  "cubic_coeff_a",
                                  "exclude_outside",
                                  "extrapolation_value",
                                  "antialias",
                                  "keep_aspect_ratio_policy",
                                  "axes"});
  if (n.opset() < 18)
    for (const char* newer : {"antialias", "keep_aspect_ratio_policy"}) attributes.erase(newer);
  return {n.emit("Resize", {n.in(0), n.in(1), n.in(2), n.sizes_argument("sizes", 3)}, attributes)};
}

Names grid_sample(const ExportNode& n) {
  if (n.rank(0) != 4) n.needs(20, "GridSample of other than two spatial dimensions");
  Attributes attributes = n.take({"padding_mode", "align_corners"});
  const std::string mode = n.attributes().get_or<std::string>("mode", "linear");
  const bool renamed = n.opset() < 20 && mode != "nearest";  // opset 16 names them of two dimensions
  attributes.set("mode", renamed ? "bi" + mode : mode);
  const DType dtype = n.type(0).dtype == DType::f64 ? DType::f64 : DType::f32;
  const std::string y = n.emit("GridSample", {n.in_as(0, dtype), n.in_as(1, dtype)}, attributes);
  return {n.cast(y, dtype, n.result_type().dtype)};
}

Names affine_grid(const ExportNode& n) {
  n.needs(20, "AffineGrid");
  return {n.emit("AffineGrid", {n.in(0), n.sizes_argument("size", 1)}, n.take({"align_corners"}))};
}

Names center_crop_pad(const ExportNode& n) {
  n.needs(18, "CenterCropPad");
  return {n.emit("CenterCropPad", {n.in(0), n.sizes_argument("shape", 1)}, n.take({"axes"}))};
}

Names roi_align(const ExportNode& n) {
  Attributes attributes = n.take({"output_height", "output_width", "sampling_ratio", "spatial_scale", "mode"});
  attributes.set("coordinate_transformation_mode",
                 n.integer("half_pixel", 0) != 0 ? "half_pixel" : "output_half_pixel");
  const bool channels_last = n.integer("channels_last", 0) != 0;
  const std::string x = channels_last ? n.transpose(n.in(0), {0, 3, 1, 2}) : n.in(0),
                    y = n.emit("RoiAlign", {x, n.in(1), n.in_as(2, DType::i64)}, attributes);
  return {channels_last ? n.transpose(y, {0, 2, 3, 1}) : y};
}

Names max_roi_pool(const ExportNode& n) {
  const DType dtype = n.type(0).dtype == DType::f64 ? DType::f64 : DType::f32;
  const std::string y =
      n.emit("MaxRoiPool", {n.in_as(0, dtype), n.in_as(1, dtype)}, n.take({"pooled_shape", "spatial_scale"}));
  return {n.cast(y, dtype, n.result_type().dtype)};
}

Names non_max_suppression(const ExportNode& n) {
  return {n.emit("NonMaxSuppression", n.all_in(), n.take({"center_point_box"}))};
}

constexpr ExportRule kRules[] = {
    {"affine_grid", affine_grid},   {"center_crop_pad", center_crop_pad},         {"grid_sample", grid_sample},
    {"max_roi_pool", max_roi_pool}, {"non_max_suppression", non_max_suppression}, {"resize", resize},
    {"roi_align", roi_align}};

}  // namespace

std::span<const ExportRule> image_rules() { return kRules; }

}  // namespace hone::onnx
