// Regions of images: means of samples are compiled, and what lies outside of the images is refused.
#include <gmock/gmock.h>

#include "tests/conformance/conform_text.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

TEST(RoiAlign, MeansOfSamplesAreCompiled) {
  for (int channels : {1, 8, 21})
    for (const char* attributes : {"half_pixel=1", "spatial_scale=0.25"})
      expect_text_conforms(fmt::format(R"(graph g {{
      %x : f32[2,{},9,7] = input "x"
      %rois : f32[3,4] = const "rois" {{0, 1, 9, 7, -30, 2, 5, 50, 3, 3, 3, 3}}
      %images : i64[3] = const "images" {{1, 0, 1}}
      %y = roi_align %x, %rois, %images {{output_height=3, output_width=2, sampling_ratio=2, {}}}
      return %y as "y"
    }})",
                                       channels, attributes),
                           {}, {}, "roi_align roi_align");
}

TEST(RoiAlign, RegionsThatLieInNoImageAreRefused) {
  const Graph graph = parse_graph(R"(graph g {
      %x : f32[2,3,4,4] = input "x"
      %rois : f32[R,4] = input "rois"
      %images : i64[R] = input "images"
      %y = roi_align %x, %rois, %images {sampling_ratio=1}
      return %y as "y"
    })",
                                  op_context());
  Session session(graph, {});
  const auto error = [&](float corner, int64_t image) {
    return error_of([&] {
      session.run({{"x", Tensor(DType::f32, {2, 3, 4, 4})},
                   {"rois", Tensor::of<float>({1, 4}, {0, 0, 2, corner})},
                   {"images", Tensor::of<int64_t>({1}, {image})}});
    });
  };
  EXPECT_EQ(error(2, 1), "");
  EXPECT_THAT(error(2, 2), testing::HasSubstr("lies in image 2 but x has 2"));
  EXPECT_THAT(error(2, -1), testing::HasSubstr("lies in image -1 but x has 2"));
  EXPECT_THAT(error(NAN, 0), testing::HasSubstr("a region has the coordinate nan"));
}

}  // namespace
}  // namespace hone::test
