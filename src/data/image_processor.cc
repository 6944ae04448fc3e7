#include "data/image_processor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/settings.h"
#include "base/text.h"

namespace hone {
namespace {

constexpr Setting kSettings[] = {{"image_processor_type"},
                                 {"feature_extractor_type"},
                                 {"do_resize"},
                                 {"size"},
                                 {"resample"},
                                 {"do_center_crop"},
                                 {"crop_size"},
                                 {"crop_pct"},
                                 {"do_rescale"},
                                 {"rescale_factor"},
                                 {"do_normalize"},
                                 {"image_mean"},
                                 {"image_std"},
                                 {"default_to_square"},
                                 // Images become colours or grey as the model takes them.
                                 {"do_convert_rgb"},
                                 // Of how arrays are handed over, and of labels of segments.
                                 {"processor_class"},
                                 {"_processor_class"},
                                 {"_valid_processor_keys"},
                                 {"auto_map"},
                                 {"data_format", "\"channels_first\""},
                                 {"input_data_format"},
                                 {"return_tensors"},
                                 {"device"},
                                 {"disable_grouping"},
                                 {"do_pad", "false"},
                                 {"do_reduce_labels"}};

constexpr size_t kMostChannels = 4;

// What differs between the processors.
struct Kind {
  std::string_view name;
  bool square;                  // a size that is one number is that of both sides
  bool crops;                   // where do_center_crop is not said
  bool crops_by_share = false;  // ConvNeXt's: below 384 the shorter side becomes size / crop_pct, else both become size
};
constexpr Kind kKinds[] = {{"ViT", true, false},
                           {"DeiT", true, true},
                           {"CLIP", false, true},
                           {"Bit", false, true},
                           {"ConvNext", false, false, true},
                           {"MobileNetV1", false, true},
                           {"MobileNetV2", false, true}};

struct Sides {
  int64_t height = 0, width = 0, shorter = 0;
};

class Reader {
 public:
  Reader(const Json& config, const std::string& source) : json_(config), source_(source), kind_(kind()) {
    check_settings(config, kSettings, source);
  }

  ImageTransform read() const {
    ImageTransform transform;
    transform.resize = ImageTransform::Resize::none;
    if (flag("do_resize", true)) read_resize(transform);
    if (flag("do_center_crop", kind_.crops)) read_crop(transform);
    read_values(transform);
    return transform;
  }

 private:
  const Kind& kind() const {
    std::vector<std::string> names;
    std::string found;
    for (const char* key : {"image_processor_type", "feature_extractor_type"})
      if (json_.is_object() && json_.contains(key) && found.empty()) found = json_get<std::string>(json_, key, source_);
    for (const Kind& known : kKinds) {
      const std::string name(known.name);
      for (const char* end : {"ImageProcessor", "ImageProcessorFast", "ImageProcessorPil", "FeatureExtractor"})
        if (found == name + end) return known;
      names.push_back(name + "ImageProcessor");
    }
    if (found.empty())
      fail("{}: key \"image_processor_type\" is missing; it says what the others mean; accepted: {}", source_,
           fmt::join(names, ", "));
    fail("{}: the processor \"{}\" is not known; accepted: {}{}", source_, found, fmt::join(names, ", "),
         did_you_mean(found, names));
  }

  bool has(const char* key) const { return json_.contains(key) && !json_.at(key).is_null(); }
  bool flag(const char* key, bool fallback) const { return has(key) ? json_get<bool>(json_, key, source_) : fallback; }

  int64_t side(const Json& value, const std::string& key) const {
    constexpr int64_t kMostSide = 1 << 16;
    if (!value.is_number_integer() || value < 1 || value > kMostSide)
      fail("{}: key \"{}\" is {}; accepted: a number of pixels from 1 to {}", source_, key, json_excerpt(value),
           kMostSide);
    return value.get<int64_t>();
  }

  Sides sides(const char* key, bool square) const {
    const Json value = json_get<Json>(json_, key, source_);
    if (!value.is_object()) {
      const int64_t length = side(value, key);
      return square ? Sides{length, length, 0} : Sides{0, 0, length};
    }
    if (value.size() == 1 && value.contains("shortest_edge"))
      return {0, 0, side(value["shortest_edge"], fmt::format("{}.shortest_edge", key))};
    if (value.size() == 2 && value.contains("height") && value.contains("width"))
      return {side(value["height"], fmt::format("{}.height", key)), side(value["width"], fmt::format("{}.width", key)),
              0};
    fail("{}: key \"{}\" is {}; accepted: {{\"height\": …, \"width\": …}}, or {{\"shortest_edge\": …}}", source_, key,
         json_excerpt(value));
  }

  void read_resize(ImageTransform& transform) const {
    transform.resampling = resampling();
    const Sides size = sides("size", flag("default_to_square", kind_.square));
    if (kind_.crops_by_share) return read_share(transform, size);
    transform.resize = size.shorter > 0 ? ImageTransform::Resize::shorter : ImageTransform::Resize::whole;
    transform.shorter_side = size.shorter;
    transform.height = size.height, transform.width = size.width;
  }

  void read_share(ImageTransform& transform, const Sides& size) const {
    constexpr int64_t kWholeFrom = 384;
    if (size.shorter == 0) fail("{}: key \"size\": {} takes {{\"shortest_edge\": …}}", source_, kind_.name);
    transform.height = transform.width = size.shorter;
    if (size.shorter >= kWholeFrom) {
      transform.resize = ImageTransform::Resize::whole;
      return;
    }
    const double share = has("crop_pct") ? json_get<double>(json_, "crop_pct", source_) : 224.0 / 256;
    if (!(share > 1.0 / 64 && share <= 1))
      fail("{}: key \"crop_pct\" is {}; accepted: a share above 1/64, at most 1", source_, share);
    transform.resize = ImageTransform::Resize::shorter;
    transform.shorter_side = static_cast<int64_t>(static_cast<double>(size.shorter) / share);
  }

  // Where both sides are resized first, they are kept.
  void read_crop(ImageTransform& transform) const {
    const Sides crop = sides("crop_size", true);
    if (crop.shorter > 0) fail("{}: key \"crop_size\" has shortest_edge; accepted: height and width", source_);
    if (transform.resize == ImageTransform::Resize::whole)
      transform.first_height = transform.height, transform.first_width = transform.width;
    transform.height = crop.height, transform.width = crop.width;
  }

  Resampling resampling() const {
    const auto number = json_get<int64_t>(json_, "resample", source_);
    for (const Resampling known :
         {Resampling::lanczos, Resampling::bilinear, Resampling::bicubic, Resampling::box, Resampling::hamming})
      if (number == static_cast<int64_t>(known)) return known;
    fail("{}: key \"resample\" is {}; accepted: 1 (lanczos), 2 (bilinear), 3 (bicubic), 4 (box), 5 (hamming)", source_,
         number);
  }

  std::vector<float> numbers(const char* key, bool positive) const {
    const Json value = json_get<Json>(json_, key, source_);
    std::vector<float> all;
    for (const Json& item : value.is_array() ? value : Json::array()) {
      const float number = item.is_number() ? item.get<float>() : NAN;
      if (!std::isfinite(number) || (positive && number <= 0)) break;
      all.push_back(number);
    }
    if (all.empty() || all.size() != value.size() || all.size() > kMostChannels)
      fail("{}: key \"{}\" is {}; accepted: a list of {}, one for each channel", source_, key, json_excerpt(value),
           positive ? "numbers above 0" : "numbers");
    return all;
  }

  void read_values(ImageTransform& transform) const {
    transform.scale = 1;
    if (flag("do_rescale", true))
      transform.scale = has("rescale_factor") ? json_get<double>(json_, "rescale_factor", source_) : 1.0 / 255;
    if (!(transform.scale > 0 && std::isfinite(transform.scale)))
      fail("{}: key \"rescale_factor\" is {}; accepted: a number above 0", source_, transform.scale);
    if (!flag("do_normalize", true)) return;
    transform.mean = numbers("image_mean", false);
    transform.deviation = numbers("image_std", true);
    if (transform.mean.size() != transform.deviation.size())
      fail("{}: image_mean has {} numbers and image_std {}; expected one each for each channel", source_,
           transform.mean.size(), transform.deviation.size());
  }

  const Json& json_;
  const std::string& source_;
  const Kind& kind_;
};

}  // namespace

ImageTransform read_image_processor(const Json& config, const std::string& source) {
  if (!config.is_object()) fail("{}: holds {}; expected an object", source, config.type_name());
  return Reader(config, source).read();
}

Json image_processor_of(const ImageTransform& t) {
  using Resize = ImageTransform::Resize;
  const auto both = [](int64_t height, int64_t width) { return Json{{"height", height}, {"width", width}}; };
  const size_t channels = std::max(t.mean.size(), t.deviation.size());
  Json json{{"image_processor_type", "CLIPImageProcessor"},
            {"do_rescale", true},
            {"rescale_factor", t.scale},
            {"do_normalize", channels > 0},
            {"do_convert_rgb", true}};
  const bool is_whole = t.resize == Resize::whole, cuts = t.height > 0 && (!is_whole || t.first_height > 0);
  const int64_t first_height = t.first_height > 0 ? t.first_height : t.height,
                first_width = t.first_width > 0 ? t.first_width : t.width;
  json["do_resize"] = t.resize == Resize::shorter || (is_whole && first_height > 0);
  if (json["do_resize"] == true) {
    json["size"] = is_whole ? both(first_height, first_width) : Json{{"shortest_edge", t.shorter_side}};
    json["resample"] = static_cast<int>(t.resampling);
  }
  json["do_center_crop"] = cuts;
  if (cuts) json["crop_size"] = both(t.height, t.width);
  if (channels > 0) {
    json["image_mean"] = t.mean.empty() ? std::vector<float>(channels, 0) : t.mean;
    json["image_std"] = t.deviation.empty() ? std::vector<float>(channels, 1) : t.deviation;
  }
  return json;
}

}  // namespace hone
