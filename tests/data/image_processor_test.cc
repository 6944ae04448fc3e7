// Images as Pillow resizes them, and as the processors of transformers hand them to a model: goldens of
// bench/peers/preprocessors.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/image_processor.h"
#include "io/safetensors.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace hone {
namespace {

using test::error_of;
using testing::HasSubstr;

const SafetensorsFile& goldens() {
  static const SafetensorsFile file(std::string(test::kTestData) + "/preprocessors/images.safetensors");
  return file;
}

std::vector<float> values_of(const Tensor& image, const ImageTransform& transform) {
  const Tensor sized = sized_image(image, transform);
  std::vector<float> values(static_cast<size_t>(sized.elements()));
  transform_image(sized, transform, Philox(0, 0), values);
  return values;
}

TEST(Resample, GivesTheBytesThatPillowGives) {
  const Tensor image = goldens().tensor("image");
  int found = 0;
  for (const SafetensorsEntry& entry : goldens().entries()) {
    if (!entry.name.starts_with("resized.")) continue;
    const std::string filter = entry.name.substr(8, entry.name.find('.', 8) - 8);
    const Tensor resized = resize_image(image, entry.shape[1], entry.shape[2], *resampling_called(filter));
    EXPECT_TRUE(resized.same_bits(goldens().tensor(entry.name))) << entry.name;
    ++found;
  }
  EXPECT_EQ(found, 5 * 4);
}

TEST(Resample, RefusesSizesThatNoImageHas) {
  const Tensor image(DType::u8, {1, 2, 2});
  EXPECT_THAT(error_of([&] { resize_image(image, 0, 3); }), HasSubstr("3 x 0"));
  EXPECT_THAT(error_of([&] { resize_image(image, 1 << 20, 1 << 20); }), HasSubstr("at most"));
}

// Pillow's backend: the same bytes, then three roundings of f32 of values that a deviation makes large. torchvision's,
// which is the default: a level of difference in each of two passes.
TEST(ImageProcessor, GivesWhatTransformersGives) {
  const Tensor image = goldens().tensor("image");
  for (const auto& [name, text] : goldens().metadata()) {
    if (!goldens().find("torchvision." + name)) continue;
    const ImageTransform transform = read_image_processor(Json::parse(text), name);
    const std::vector<float> got = values_of(image, transform);
    double least_deviation = 1, largest_mean = 0;
    for (const float d : transform.deviation) least_deviation = std::min(least_deviation, static_cast<double>(d));
    for (const float m : transform.mean) largest_mean = std::max(largest_mean, static_cast<double>(m));
    const double range = (255 * transform.scale + largest_mean) / least_deviation;
    const double rounding = 4 * 0x1p-24 * range, level = transform.scale / least_deviation;
    for (const std::string backend : {"pillow", "torchvision"}) {
      if (!goldens().find(backend + "." + name)) continue;
      const Tensor golden = goldens().tensor(backend + "." + name);
      const std::vector<float> want = golden.to_floats();
      ASSERT_EQ(got.size(), want.size()) << name;
      const double bound = backend == "pillow" ? rounding : rounding + 2 * level;
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_NEAR(got[i], want[i], bound) << backend << " " << name << "[" << i << "]";
    }
  }
}

TEST(ImageProcessor, IsWrittenAsOneThatSaysTheSame) {
  for (const auto& [name, text] : goldens().metadata()) {
    if (!goldens().find("torchvision." + name)) continue;
    const ImageTransform transform = read_image_processor(Json::parse(text), name);
    const Tensor image = goldens().tensor("image");
    EXPECT_EQ(values_of(image, read_image_processor(image_processor_of(transform), name)), values_of(image, transform))
        << name;
  }
}

TEST(ImageProcessor, OlderFilesSayOneNumberForASize) {
  Json old = Json::parse(R"({"feature_extractor_type": "ViTFeatureExtractor", "size": 8, "resample": 2,
    "do_resize": true, "do_normalize": true, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]})");
  EXPECT_EQ(read_image_processor(old, "p").height, 8);
  old["feature_extractor_type"] = "CLIPFeatureExtractor";
  old["crop_size"] = 6;
  const ImageTransform clip = read_image_processor(old, "p");
  EXPECT_EQ(clip.shorter_side, 8);
  EXPECT_EQ(clip.width, 6);
}

TEST(ImageProcessor, RefusesByNameWhatItDoesNotKnow) {
  const Json good = image_processor_of({.height = 4, .width = 4, .mean = {0.5f}, .deviation = {0.5f}});
  const auto refusal = [&](const char* key, const Json& value) {
    Json config = good;
    config[key] = value;
    return error_of([&] { read_image_processor(config, "p.json"); });
  };
  EXPECT_EQ(error_of([&] { read_image_processor(good, "p.json"); }), "");
  EXPECT_THAT(refusal("rescale_offset", true), HasSubstr("p.json: key \"rescale_offset\" is true"));
  EXPECT_THAT(refusal("image_processor_type", "ClipImageProcessor"), HasSubstr("or CLIPImageProcessor?"));
  EXPECT_THAT(refusal("image_processor_type", nullptr), HasSubstr("image_processor_type"));
  EXPECT_THAT(refusal("do_pad", true), HasSubstr("do_pad"));
  EXPECT_THAT(refusal("resample", 0), HasSubstr("accepted: 1 (lanczos)"));
  EXPECT_THAT(refusal("size", {{"longest_edge", 9}}), HasSubstr("longest_edge"));
  EXPECT_THAT(refusal("size", {{"height", -1}, {"width", 4}}), HasSubstr("\"size.height\" is -1"));
  EXPECT_THAT(refusal("image_std", {0.0}), HasSubstr("numbers above 0"));
  EXPECT_THAT(refusal("image_mean", {0.1, 0.2}), HasSubstr("image_mean has 2 numbers and image_std 1"));
  EXPECT_THAT(refusal("rescale_factor", 0), HasSubstr("rescale_factor"));
  EXPECT_THAT(error_of([] { read_image_processor(Json::array(), "p.json"); }), HasSubstr("expected an object"));
}

}  // namespace
}  // namespace hone
