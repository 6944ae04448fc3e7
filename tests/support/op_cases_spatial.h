// Samples of ops over spatial dimensions: convolutions, pools, resizing, sampling, boxes.
#pragma once

#include "tests/support/op_cases_products.h"

namespace hone {

inline OpCases conv_cases(Philox& rng) {
  const Tensor image = random_floats(rng, {2, 4, 7, 9});
  const auto codes = [&](Sizes64 shape) { return random_integers(rng, std::move(shape), DType::i8, -128, 127); };
  return {
      {{codes({2, 8, 7, 9}), codes({6, 8, 3, 3}), random_integers(rng, {6}, DType::i32, -99, 99)},
       {{"pads", Integers{1, 1, 1, 1}}}},
      {{codes({1, 8, 7, 9}), codes({34, 4, 3, 2})}, {{"groups", int64_t{2}}, {"strides", Integers{2, 1}}}},
      {{random_integers(rng, {1, 4, 5, 6}, DType::u8, 0, 255), codes({3, 4, 3, 3})},
       {{"dilations", Integers{1, 2}}, {"pads", Integers{1, 2, 1, 2}}}},
      {{codes({2, 3, 5, 5}), codes({5, 3, 2, 2})}, {}},
      {{codes({2, 8, 5, 6}), codes({6, 4, 3, 2}), random_integers(rng, {6}, DType::i32, -99, 99),
        random_integers(rng, {}, DType::i8, -128, 127)},
       {{"pads", Integers{2, 1, 0, 3}}, {"groups", int64_t{2}}}},
      {{random_integers(rng, {1, 5, 6, 4}, DType::u8, 0, 255), codes({3, 36}), std::nullopt,
        random_integers(rng, {}, DType::u8, 1, 255)},
       {{"channels_last", int64_t{1}}, {"kernel_shape", Integers{3, 3}}, {"auto_pad", "same_upper"}}},
      {{codes({2, 5, 7, 9}), codes({5, 1, 3, 3}), random_integers(rng, {5}, DType::i32, -99, 99),
        random_integers(rng, {}, DType::i8, -128, 127)},
       {{"groups", int64_t{5}}, {"pads", Integers{1, 2, 0, 1}}, {"strides", Integers{2, 1}}}},
      {{random_integers(rng, {1, 6, 9, 20}, DType::u8, 0, 255), codes({20, 9}), std::nullopt,
        random_integers(rng, {}, DType::u8, 1, 255)},
       {{"channels_last", int64_t{1}},
        {"kernel_shape", Integers{3, 3}},
        {"groups", int64_t{20}},
        {"dilations", Integers{1, 2}},
        {"auto_pad", "same_upper"}}},
      {{codes({2, 3, 11}), codes({3, 1, 4})}, {{"groups", int64_t{3}}, {"pads", Integers{1, 2}}}},
      {{random_floats(rng, {1, 4, 5, 5}, DType::f64), random_floats(rng, {3, 4, 3, 3}, DType::f64),
        random_floats(rng, {3}, DType::f64)},
       {}},
      {{codes({2, 4, 5, 5}), codes({5, 4, 1, 1})}, {}},
      {{image, random_floats(rng, {6, 4, 3, 3}), random_floats(rng, {6})}, {{"pads", Integers{1, 1, 1, 1}}}},
      {{image, random_floats(rng, {6, 4, 1, 1})}, {{"strides", Integers{2, 2}}}},
      {{image, random_floats(rng, {6, 4, 3, 2})}, {{"strides", Integers{2, 3}}, {"auto_pad", "same_lower"}}},
      {{image, random_floats(rng, {6, 2, 3, 2}), random_floats(rng, {6})},
       {{"groups", int64_t{2}}, {"pads", Integers{0, 1, 2, 0}}}},
      {{image, random_floats(rng, {4, 1, 3, 3})}, {{"groups", int64_t{4}}, {"dilations", Integers{2, 3}}}},
      {{random_floats(rng, {1, 32, 5, 5}, DType::bf16), random_packed(rng, {3, 32, 3, 3}, "int8.channel")}, {}},
      {{random_floats(rng, {2, 3, 11}), random_floats(rng, {5, 3, 3})}, {{"pads", Integers{1, 2}}}},
      {{random_floats(rng, {1, 2, 4, 5, 6}, DType::f64), random_floats(rng, {3, 2, 2, 3, 2})}, {}},
      {{image, random_floats(rng, {6, 12}), random_floats(rng, {6})},
       {{"kernel_shape", Integers{3, 2}}, {"groups", int64_t{2}}, {"pads", Integers{0, 1, 2, 0}}}},
      {{random_floats(rng, {2, 7, 9, 4}), random_floats(rng, {6, 36})},
       {{"channels_last", int64_t{1}}, {"kernel_shape", Integers{3, 3}}, {"strides", Integers{2, 1}}}},
      {{random_floats(rng, {2, 7, 9, 4}), random_packed(rng, {3, 24}, "mxint8"), random_floats(rng, {3})},
       {{"channels_last", int64_t{1}}, {"kernel_shape", Integers{3, 2}}, {"auto_pad", "same_upper"}}},
      {{random_floats(rng, {2, 7, 9, 4}), random_floats(rng, {4, 1, 3, 3})},
       {{"channels_last", int64_t{1}}, {"groups", int64_t{4}}}},
      {{random_floats(rng, {2, 2, 4, 3, 5}), random_floats(rng, {3, 2, 2, 3, 2}), random_floats(rng, {3})},
       {{"strides", Integers{2, 1, 2}}, {"pads", Integers{1, 1, 0, 2, 1, 1}}, {"dilations", Integers{2, 1, 1}}}},
      {{random_floats(rng, {1, 4, 3, 3, 4}), random_floats(rng, {4, 2, 2, 1, 3})}, {{"groups", int64_t{2}}}},
      {{random_floats(rng, {2, 5, 6, 6}), random_floats(rng, {4, 6, 3, 2}), random_floats(rng, {4})},
       {{"channels_last", int64_t{1}}, {"planes", int64_t{3}}, {"pads", Integers{1, 0, 1, 1}}}},
      {{random_floats(rng, {1, 8, 9, 12}), random_floats(rng, {17, 8, 3, 3})},
       {{"planes", int64_t{2}}, {"pads", Integers{1, 1, 1, 1}}}},
      // Of large dilation, where most taps lie outside the plane.
      {{random_floats(rng, {2, 5, 14, 17}), random_floats(rng, {18, 5, 3, 3}), random_floats(rng, {18})},
       {{"pads", Integers{6, 12, 6, 12}}, {"dilations", Integers{6, 12}}}},
      {{random_floats(rng, {1, 4, 4, 6}), random_floats(rng, {6, 2, 3, 4})},
       {{"pads", Integers{9, 13, 9, 14}}, {"dilations", Integers{9, 9}}, {"groups", int64_t{2}}}},
      {{random_floats(rng, {1, 3, 9, 23}), random_floats(rng, {5, 3, 1, 3})},
       {{"pads", Integers{0, 8, 0, 3}}, {"dilations", Integers{1, 8}}, {"strides", Integers{2, 3}}}},
      {{random_floats(rng, {2, 4, 31}), random_floats(rng, {7, 4, 5})},
       {{"pads", Integers{33, 0}}, {"dilations", Integers{11}}}},
      {{random_floats(rng, {1, 3, 8, 8}), random_floats(rng, {2, 3, 3, 3})},
       {{"pads", Integers{24, 24, 24, 24}}, {"dilations", Integers{24, 24}}}},
      {{random_floats(rng, {1, 6, 13, 20}, DType::bf16), random_floats(rng, {20, 6, 3, 3}, DType::bf16)},
       {{"pads", Integers{12, 12, 12, 12}}, {"dilations", Integers{12, 12}}}},
      {{random_floats(rng, {1, 12, 20, 32}), random_packed(rng, {17, 288}, "mxint8")},
       {{"channels_last", int64_t{1}},
        {"kernel_shape", Integers{3, 3}},
        {"pads", Integers{10, 16, 10, 16}},
        {"dilations", Integers{10, 16}}}},
  };
}

inline OpCases deform_conv_cases(Philox& rng) {
  const Tensor image = random_floats(rng, {2, 4, 5, 6});
  return {{{image, random_floats(rng, {3, 4, 2, 2}), random_floats(rng, {2, 8, 4, 5})}, {}},
          {{image, random_floats(rng, {4, 2, 2, 2}), random_floats(rng, {2, 16, 3, 4}), random_floats(rng, {4}),
            random_floats(rng, {2, 8, 3, 4})},
           {{"groups", int64_t{2}},
            {"offset_groups", int64_t{2}},
            {"strides", Integers{2, 2}},
            {"pads", Integers{1, 1, 1, 2}},
            {"dilations", Integers{1, 2}}}}};
}

inline OpCases conv_transpose_cases(Philox& rng) {
  const Tensor image = random_floats(rng, {2, 4, 3, 5});
  const Integers two{2, 2};
  return {{{image, random_floats(rng, {4, 3, 3, 3}), random_floats(rng, {3})},
           {{"strides", two}, {"pads", Integers{1, 0, 1, 2}}, {"output_padding", Integers{1, 0}}}},
          {{image, random_floats(rng, {4, 2, 2, 3})}, {{"groups", int64_t{2}}, {"dilations", Integers{2, 1}}}},
          {{image, random_floats(rng, {4, 1, 3, 3})}, {{"strides", two}, {"auto_pad", "same_upper"}}},
          {{image, random_floats(rng, {4, 1, 3, 3})}, {{"strides", two}, {"output_shape", Shape{6, 11}}}},
          {{random_floats(rng, {1, 2, 4}, DType::bf16), random_floats(rng, {2, 3, 3})}, {}},
          {{random_floats(rng, {1, 2, 2, 3, 2}), random_floats(rng, {2, 1, 2, 2, 2})}, {}},
          {{random_floats(rng, {2, 3, 2, 1, 3}), random_floats(rng, {3, 4, 2, 2, 2}), random_floats(rng, {4})},
           {{"strides", Integers{2, 2, 2}}}},
          {{random_floats(rng, {1, 4, 3, 2, 4}), random_floats(rng, {4, 3, 3, 2, 4}), random_floats(rng, {3})},
           {{"strides", Integers{2, 1, 3}},
            {"pads", Integers{1, 0, 2, 0, 1, 1}},
            {"output_padding", Integers{1, 0, 2}},
            {"dilations", Integers{1, 2, 1}}}},
          {{random_floats(rng, {2, 4, 2, 3, 2}), random_floats(rng, {4, 2, 3, 3, 1})},
           {{"strides", Integers{1, 2, 1}}, {"groups", int64_t{2}}, {"auto_pad", "same_lower"}}}};
}

inline OpCases pool_cases(std::string_view name, Philox& rng) {
  OpCases cases;
  for (DType dtype : {DType::f32, DType::bf16}) {
    const Tensor image = random_floats(rng, {2, 3, 7, 9}, dtype);
    cases.push_back({{image}, {{"kernel_shape", Integers{2, 2}}, {"strides", Integers{2, 2}}}});
    cases.push_back(
        {{image}, {{"kernel_shape", Integers{3, 2}}, {"pads", Integers{1, 1, 1, 0}}, {"dilations", Integers{1, 2}}}});
    cases.push_back(
        {{image}, {{"kernel_shape", Integers{3, 2}}, {"strides", Integers{2, 2}}, {"ceil_mode", int64_t{1}}}});
    cases.push_back(
        {{image}, {{"kernel_shape", Integers{3, 2}}, {"strides", Integers{2, 3}}, {"auto_pad", "same_upper"}}});
  }
  cases.push_back({{random_floats(rng, {2, 3, 8})}, {{"kernel_shape", Integers{3}}}});
  if (name == "max_pool" || name == "avg_pool")
    cases.push_back(
        {{random_floats(rng, {2, 7, 9, 3})},
         {{"channels_last", int64_t{1}}, {"kernel_shape", Integers{3, 2}}, {"pads", Integers{1, 0, 1, 1}}}});
  cases.push_back({{random_floats(rng, {1, 2, 4, 5, 3}, DType::f16)}, {{"kernel_shape", Integers{2, 3, 2}}}});
  cases.push_back({{random_floats(rng, {2, 2, 4, 5, 3})},
                   {{"kernel_shape", Integers{3, 2, 2}},
                    {"strides", Integers{2, 1, 2}},
                    {"pads", Integers{1, 0, 1, 2, 1, 0}},
                    {"ceil_mode", int64_t{1}}}});
  const auto padded = [&](const char* attribute, int64_t value) {
    return OpCase{{random_floats(rng, {2, 3, 7, 9})},
                  {{"kernel_shape", Integers{3, 3}}, {"pads", Integers{1, 1, 1, 1}}, {attribute, value}}};
  };
  cases.push_back({{random_floats(rng, {2, 3, 7, 9})},
                   {{"kernel_shape", Integers{6, 8}}, {"pads", Integers{3, 4, 2, 5}}, {"ceil_mode", int64_t{1}}}});
  if (name.starts_with("max_pool"))
    cases.push_back({{Tensor::of<float>({1, 1, 3, 4}, {0, -0.0f, NAN, 1, 2, -INFINITY, 3, 0, 5, 4, INFINITY, -0.0f})},
                     {{"kernel_shape", Integers{5, 5}}, {"pads", Integers{2, 2, 2, 2}}}});
  if (name == "avg_pool") cases.push_back(padded("count_include_pad", 1));
  if (name == "lp_pool") cases.push_back(padded("p", 3));
  if (name == "max_pool_indices") cases.push_back(padded("column_major", 1));
  if (name.starts_with("max_pool"))
    for (DType dtype : {DType::u8, DType::i8})
      cases.push_back({{random_integers(rng, {1, 2, 5, 6}, dtype, 0, 100)}, {{"kernel_shape", Integers{2, 3}}}});
  return cases;
}

inline OpCases max_unpool_cases(Philox& rng) {
  const Tensor x = random_floats(rng, {1, 2, 2, 2}),
               at = Tensor::of<int64_t>({1, 2, 2, 2}, {0, 2, 9, 15, 16, 19, 27, 28});
  const Attributes window{{"kernel_shape", Integers{2, 2}}, {"strides", Integers{2, 2}}};
  Attributes larger = window, padded = window;
  larger.set("output_shape", Shape{1, 2, 5, 4});
  padded.set("pads", Integers{0, 0, 0, 0});
  return {{{x, at}, padded}, {{x, at}, larger}, {{x, at, Tensor::of<int64_t>({4}, {1, 3, 4, 5})}, window}};
}

inline OpCases resize_cases(Philox& rng) {
  OpCases cases;
  const Tensor image = random_floats(rng, {1, 2, 4, 5});
  const auto scales = [](const std::vector<float>& values) {
    return Tensor::of<float>({static_cast<int64_t>(values.size())}, values);
  };
  const Tensor mixed = scales({1, 1, 0.6f, 1.7f}), sizes = Tensor::of<int64_t>({4}, {1, 2, 7, 3});
  for (const char* mode : {"nearest", "linear", "cubic"})
    for (const char* coordinates : {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                    "asymmetric", "tf_half_pixel_for_nn"}) {
      const Attributes how{{"mode", mode}, {"coordinates", coordinates}};
      cases.push_back({{image, {}, mixed}, how});
      cases.push_back({{image, {}, {}, sizes}, how});
    }
  for (const char* rounding : {"round_prefer_ceil", "floor", "ceil", "ceil_if_smaller"})
    cases.push_back({{image, {}, mixed}, {{"nearest_mode", rounding}}});
  for (const char* mode : {"linear", "cubic"}) {
    cases.push_back({{image, {}, mixed}, {{"mode", mode}, {"exclude_outside", int64_t{1}}, {"cubic_coeff_a", -0.5}}});
    cases.push_back({{image, {}, mixed}, {{"mode", mode}, {"antialias", int64_t{1}}}});
    cases.push_back({{image, scales({0.1f, -0.2f, 0.8f, 1.3f})},
                     {{"mode", mode},
                      {"coordinates", "tf_crop_and_resize"},
                      {"extrapolation_value", 9.0},
                      {"axes", Integers{2, -1}},
                      {"sizes", Shape{3, 4}}}});
  }
  for (const char* policy : {"not_larger", "not_smaller"})
    cases.push_back(
        {{image}, {{"keep_aspect_ratio_policy", policy}, {"axes", Integers{2, 3}}, {"sizes", Shape{7, 8}}}});
  for (DType dtype : {DType::i64, DType::u8, DType::bf16})
    cases.push_back({{random_integers(rng, {3, 4}, dtype, 0, 100), {}, scales({2, 0.5f})}, {}});
  for (DType dtype : {DType::f32, DType::bf16})
    for (const char* mode : {"nearest", "linear", "cubic"}) {
      const Tensor volume = random_floats(rng, {2, 3, 3, 4, 5}, dtype);
      for (const std::vector<float>& three : {std::vector<float>{1, 1, 0.7f, 2.4f, 1.3f}, {1, 1, 2, 2, 2}})
        cases.push_back({{volume, {}, scales(three)}, {{"mode", mode}}});
      cases.push_back({{volume, {}, scales({1, 0.7f, 1, 1.6f, 1})}, {{"mode", mode}, {"coordinates", "asymmetric"}}});
      cases.push_back({{volume, {}, {}, Tensor::of<int64_t>({4}, {4, 1, 5, 7})},
                       {{"mode", mode}, {"axes", Integers{0, 2, 3, 4}}, {"coordinates", "align_corners"}}});
    }
  return cases;
}

inline OpCases grid_sample_cases(Philox& rng) {
  OpCases cases;
  for (const char* mode : {"linear", "nearest", "cubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (int64_t align : {0, 1}) {
        const Attributes how{{"mode", mode}, {"padding_mode", padding}, {"align_corners", align}};
        cases.push_back({{random_floats(rng, {2, 3, 4, 5}), random_floats(rng, {2, 3, 2, 2})}, how});
        cases.push_back({{random_floats(rng, {1, 2, 2, 3, 4}, DType::bf16), random_floats(rng, {1, 2, 2, 3, 3})}, how});
      }
  return cases;
}

inline OpCases affine_grid_cases(Philox& rng) {
  return {{{random_floats(rng, {2, 2, 3})}, {{"size", Shape{2, 3, 4, 5}}}},
          {{random_floats(rng, {2, 2, 3}), Tensor::of<int64_t>({4}, {2, 1, 1, 3})}, {{"align_corners", int64_t{1}}}},
          {{random_floats(rng, {1, 3, 4}, DType::f64)}, {{"size", Shape{1, 3, 2, 4, 5}}}}};
}

inline OpCases roi_align_cases(Philox& rng) {
  const Tensor x = random_floats(rng, {2, 3, 6, 7}), images = Tensor::of<int64_t>({2}, {1, 0}),
               rois = Tensor::of<float>({2, 4}, {0, 1, 9, 7, -3, 2, 5, 5});
  return {
      {{x, rois, images}, {}},
      {{x, rois, images},
       {{"output_height", int64_t{3}}, {"output_width", int64_t{2}}, {"spatial_scale", 0.5}, {"mode", "max"}}},
      {{x, rois, images}, {{"output_height", int64_t{2}}, {"sampling_ratio", int64_t{2}}, {"half_pixel", int64_t{1}}}},
      {{random_floats(rng, {2, 19, 5, 4}), rois, Tensor::of<int32_t>({2}, {0, 1})},
       {{"output_height", int64_t{2}},
        {"output_width", int64_t{3}},
        {"sampling_ratio", int64_t{3}},
        {"spatial_scale", 0.6}}},
      {{random_floats(rng, {2, 5, 4, 9}), rois, images},
       {{"sampling_ratio", int64_t{2}}, {"channels_last", int64_t{1}}}}};
}

inline OpCases max_roi_pool_cases(Philox& rng) {
  const Tensor rois = Tensor::of<float>({2, 5}, {0, 0, 1, 9, 7, 1, -3, 2, 5, 5});
  return {{{random_floats(rng, {2, 3, 6, 7}), rois}, {{"pooled_shape", Integers{2, 3}}}},
          {{random_floats(rng, {2, 1, 4, 4}, DType::f16), rois},
           {{"pooled_shape", Integers{1, 1}}, {"spatial_scale", 0.5}}}};
}

inline OpCases col2im_cases(Philox& rng) {
  return {{{random_floats(rng, {2, 12, 6})}, {{"image_shape", Shape{4, 3}}, {"block_shape", Shape{2, 2}}}},
          {{random_integers(rng, {1, 3, 4}, DType::i32, -9, 9)},
           {{"image_shape", Shape{6}},
            {"block_shape", Shape{3}},
            {"strides", Integers{2}},
            {"pads", Integers{1, 3}},
            {"dilations", Integers{1}}}},
          {{random_floats(rng, {1, 4, 6}), Tensor::of<int64_t>({2}, {4, 3}), Tensor::of<int64_t>({2}, {2, 2})}, {}}};
}

inline OpCases center_crop_pad_cases(Philox& rng) {
  OpCases cases;
  for (DType dtype : {DType::f32, DType::bf16, DType::i64, DType::boolean}) {
    const Tensor x = random_integers(rng, {4, 5}, dtype, 0, 1);
    cases.push_back({{x}, {{"shape", Shape{7, 2}}}});
    cases.push_back({{x}, {{"shape", Shape{8}}, {"axes", Integers{-1}}}});
    cases.push_back({{x, Tensor::of<int64_t>({2}, {3, 5})}, {}});
  }
  return cases;
}

inline OpCases non_max_suppression_cases(Philox& rng) {
  const Tensor boxes = random_floats(rng, {2, 5, 4}, DType::f32, 0, 2), scores = random_floats(rng, {2, 3, 5});
  const Tensor most = Tensor::of<int64_t>({1}, {3}), overlap = Tensor::of<float>({1}, {0.3f});
  return {{{boxes, scores, most}, {}},
          {{boxes, scores, most, overlap, Tensor::scalar<float>(0.5f)}, {{"center_point_box", int64_t{1}}}}};
}

// Empty for an op that is none of these.
inline OpCases spatial_cases(std::string_view name, Philox& rng) {
  if (name == "conv") return conv_cases(rng);
  if (name == "deform_conv") return deform_conv_cases(rng);
  if (name == "conv_transpose") return conv_transpose_cases(rng);
  if (name == "avg_pool" || name == "lp_pool" || name.starts_with("max_pool")) return pool_cases(name, rng);
  if (name == "max_unpool") return max_unpool_cases(rng);
  if (name == "resize") return resize_cases(rng);
  if (name == "grid_sample") return grid_sample_cases(rng);
  if (name == "affine_grid") return affine_grid_cases(rng);
  if (name == "roi_align") return roi_align_cases(rng);
  if (name == "max_roi_pool") return max_roi_pool_cases(rng);
  if (name == "col2im") return col2im_cases(rng);
  if (name == "center_crop_pad") return center_crop_pad_cases(rng);
  if (name == "non_max_suppression") return non_max_suppression_cases(rng);
  return {};
}

}  // namespace hone
