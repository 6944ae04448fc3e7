#include "jobs/image_inputs.h"

#include <optional>

#include "base/error.h"
#include "io/image.h"

namespace hone {
namespace {

std::optional<int64_t> constant(const TensorType& type, size_t axis) {
  if (!type.shape[axis].is_constant()) return std::nullopt;
  return type.shape[axis].constant();
}

}  // namespace

ImageTransform images_for(const Model& model, const TensorType& input) {
  const ImageTransform stated = image_transform_of(model);
  const auto height = constant(input, 2), width = constant(input, 3);
  if (!height && !width) return stated;
  const int64_t rows = height.value_or(stated.height), columns = width.value_or(stated.width);
  return rows > 0 && columns > 0 ? stated.with_size(rows, columns) : stated.with_size(0, 0);
}

NamedTensors image_inputs(const Model& model, const std::vector<std::string>& files) {
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
