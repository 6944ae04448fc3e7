// What a model's metadata say of its images (ir/row_keys.h).
#pragma once

#include "data/image_transform.h"
#include "importers/model.h"

namespace hone {

// What the metadata say, else images stay as they are.
ImageTransform image_transform_of(const Model& model);
// Writes it down, without what is drawn anew in each epoch.
void describe_images(Model& model, const ImageTransform& images);

// The only input of four dimensions; kNone: the model takes no images.
ValueId image_input_of(const Graph& graph);

}  // namespace hone
