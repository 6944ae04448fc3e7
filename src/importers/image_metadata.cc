#include "importers/image_metadata.h"

#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "ir/row_keys.h"

namespace hone {
namespace {

template <class Number>
std::vector<Number> numbers_in(const Model& model, const std::string& key) {
  std::vector<Number> numbers;
  const auto found = model.graph.metadata.find(key);
  if (found == model.graph.metadata.end()) return numbers;
  for (const std::string& text : split(found->second, ',')) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), numbers.emplace_back());
    bool is_number = error == std::errc() && end == text.data() + text.size();
    if constexpr (std::is_floating_point_v<Number>) is_number = is_number && std::isfinite(numbers.back());
    if (!is_number)
      fail("{}: metadata \"{}\" is \"{}\"; numbers with commas are expected", model.path, key, found->second);
  }
  return numbers;
}

// One or two lengths of sides; none where the metadata say nothing.
std::vector<int64_t> sides_in(const Model& model, const char* key, size_t least) {
  constexpr int64_t kMostSide = 1 << 16;
  const std::vector<int64_t> sides = numbers_in<int64_t>(model, key);
  const bool fits = sides.size() >= least && sides.size() <= 2 &&
                    std::ranges::all_of(sides, [](int64_t side) { return side >= 1 && side <= kMostSide; });
  if (!sides.empty() && !fits)
    fail("{}: metadata \"{}\" is \"{}\"; height and width with a comma are expected", model.path, key,
         model.graph.metadata.at(key));
  return sides;
}

void read_resize(const Model& model, ImageTransform& images) {
  const auto found = model.graph.metadata.find(kImageResize);
  if (found == model.graph.metadata.end()) return;
  if (found->second == "none") {
    images.resize = ImageTransform::Resize::none;
    return;
  }
  const std::vector<int64_t> sides = sides_in(model, kImageResize, 1);
  if (sides.size() == 2) {
    images.first_height = sides[0], images.first_width = sides[1];
  } else {
    images.resize = ImageTransform::Resize::shorter;
    images.shorter_side = sides.at(0);
  }
}

std::string resize_text(const ImageTransform& images) {
  switch (images.resize) {
    case ImageTransform::Resize::none:
      return "none";
    case ImageTransform::Resize::shorter:
      return std::to_string(images.shorter_side);
    case ImageTransform::Resize::whole:
      break;
  }
  return images.first_height > 0 ? fmt::format("{},{}", images.first_height, images.first_width) : "";
}

}  // namespace

ImageTransform image_transform_of(const Model& model) {
  const auto& metadata = model.graph.metadata;
  ImageTransform images;
  images.mean = numbers_in<float>(model, kImageMean);
  images.deviation = numbers_in<float>(model, kImageDeviation);
  if (const std::vector<double> scale = numbers_in<double>(model, kImageScale); !scale.empty()) {
    if (scale.size() > 1)
      fail("{}: metadata \"{}\" is \"{}\"; one number is expected", model.path, kImageScale, metadata.at(kImageScale));
    images.scale = scale[0];
  }
  if (const auto name = metadata.find(kImageResampling); name != metadata.end()) {
    const std::optional<Resampling> known = resampling_called(name->second);
    if (!known)
      fail("{}: metadata \"{}\" is \"{}\"; accepted: {}", model.path, kImageResampling, name->second,
           resampling_names());
    images.resampling = *known;
  }
  if (const std::vector<int64_t> size = sides_in(model, kImageSize, 2); size.size() == 2)
    images.height = size[0], images.width = size[1];
  read_resize(model, images);
  return images;
}

void describe_images(Model& model, const ImageTransform& images) {
  auto& metadata = model.graph.metadata;
  const auto put = [&](const char* key, const std::string& text) {
    if (text.empty()) metadata.erase(key);
    else metadata[key] = text;
  };
  const ImageTransform usual;
  put(kImageMean, fmt::format("{}", fmt::join(images.mean, ",")));
  put(kImageDeviation, fmt::format("{}", fmt::join(images.deviation, ",")));
  put(kImageSize, images.height > 0 ? fmt::format("{},{}", images.height, images.width) : "");
  put(kImageResize, resize_text(images));
  put(kImageResampling, images.resampling == usual.resampling ? "" : std::string(name_of(images.resampling)));
  put(kImageScale, images.scale == usual.scale ? "" : fmt::format("{}", images.scale));
}

ValueId image_input_of(const Graph& graph) {
  ValueId found = kNone;
  for (const ValueId input : graph.arguments()) {
    if (graph.type(input).rank() != 4 || !is_float(graph.type(input).dtype)) continue;
    if (found != kNone) return kNone;
    found = input;
  }
  return found;
}

}  // namespace hone
