// Images as the inputs of a model, by what its metadata say of them (importers/image_metadata.h).
#pragma once

#include <string>
#include <vector>

#include "importers/image_metadata.h"
#include "jobs/load_model.h"
#include "runtime/session.h"

namespace hone {

// For an input f32[rows,channels,height,width] of the model, in its size where it states one.
ImageTransform images_for(const Model& model, const TensorType& input);

// PNG and JPEG files as that input, f32[files,channels,height,width]. Throws Error where the model takes no images, for
// files that do not decode, and for images whose sizes stay and differ.
NamedTensors image_inputs(const Model& model, const std::vector<std::string>& files);

}  // namespace hone
