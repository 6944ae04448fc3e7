// Images as the inputs of a model, by what its metadata say of them (ir/row_keys.h).
#pragma once

#include <string>
#include <vector>

#include "data/image_transform.h"
#include "jobs/load_model.h"
#include "runtime/session.h"

namespace hone {

// What the metadata say, else images stay as they are.
ImageTransform image_transform_of(const LoadedModel& model);
// Writes it down, without what is drawn anew in each epoch.
void describe_images(LoadedModel& model, const ImageTransform& images);

// For an input f32[rows,channels,height,width] of the model, in its size where it states one.
ImageTransform images_for(const LoadedModel& model, const TensorType& input);

// The only input of four dimensions; kNone: the model takes no images.
ValueId image_input_of(const Graph& graph);

// PNG and JPEG files as that input, f32[files,channels,height,width]. Throws Error where the model takes no images, for
// files that do not decode, and for images whose sizes stay and differ.
NamedTensors image_inputs(const LoadedModel& model, const std::vector<std::string>& files);

}  // namespace hone
