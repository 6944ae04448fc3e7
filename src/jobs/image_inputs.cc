#include "jobs/image_inputs.h"

#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "io/image.h"
#include "ir/row_keys.h"

namespace hone {
namespace {

template <class Number>
std::vector<Number> numbers_in(const LoadedModel& model, const std::string& key) {
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
std::vector<int64_t> sides_in(const LoadedModel& model, const char* key, size_t least) {
  constexpr int64_t kMostSide = 1 << 16;
  const std::vector<int64_t> sides = numbers_in<int64_t>(model, key);
  const bool fits = sides.size() >= least && sides.size() <= 2 &&
                    std::ranges::all_of(sides, [](int64_t side) { return side >= 1 && side <= kMostSide; });
  if (!sides.empty() && !fits)
    fail("{}: metadata \"{}\" is \"{}\"; height and width with a comma are expected", model.path, key,
         model.graph.metadata.at(key));
  return sides;
}

void read_resize(const LoadedModel& model, ImageTransform& images) {
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

std::optional<int64_t> constant(const TensorType& type, size_t axis) {
  if (!type.shape[axis].is_constant()) return std::nullopt;
  return type.shape[axis].constant();
}

}  // namespace

ImageTransform image_transform_of(const LoadedModel& model) {
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

void describe_images(LoadedModel& model, const ImageTransform& images) {
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

ImageTransform images_for(const LoadedModel& model, const TensorType& input) {
  const ImageTransform stated = image_transform_of(model);
  const auto height = constant(input, 2), width = constant(input, 3);
  if (!height && !width) return stated;
  const int64_t rows = height.value_or(stated.height), columns = width.value_or(stated.width);
  return rows > 0 && columns > 0 ? stated.with_size(rows, columns) : stated.with_size(0, 0);
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

NamedTensors image_inputs(const LoadedModel& model, const std::vector<std::string>& files) {
  const ValueId input = image_input_of(model.graph);
  if (input == kNone)
    fail("{}: takes no images; a model with one input f32[rows,channels,height,width] is needed", model.path);
  const TensorType& type = model.graph.type(input);
  const int64_t channels = constant(type, 1).value_or(3);
  const ImageTransform transform = images_for(model, type);
  check(transform, channels);
  std::vector<Tensor> images;
  for (const std::string& file : files) {
    images.push_back(sized_image(read_image(file, channels), transform));
    const Tensor &image = images.back(), &first = images.front();
    if (image.shape() != first.shape())
      fail("{}: an image of {} x {} pixels, and {} one of {} x {}; images of one run have one size", file, image.dim(2),
           image.dim(1), files[0], first.dim(2), first.dim(1));
  }
  std::vector<int64_t> shape = images.at(0).shape();
  shape.insert(shape.begin(), std::ssize(images));
  Tensor all(DType::f32, shape);
  const std::span<float> out = all.mutable_as<float>();
  const size_t each = out.size() / images.size();
  for (size_t i = 0; i < images.size(); ++i)
    transform_image(images[i], transform, Philox(0, 0), out.subspan(i * each, each));
  return {{model.graph.value(input).label, all.converted(type.dtype)}};
}

}  // namespace hone
