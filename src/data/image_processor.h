// preprocessor_config.json: how Hugging Face's processors of images make of one what a network reads.
#pragma once

#include <string>

#include "base/json.h"
#include "data/image_transform.h"

namespace hone {

// The file of a model's folder, and an older or newer one's key that holds the same.
constexpr const char *kPreprocessorConfig = "preprocessor_config.json", *kProcessorConfig = "processor_config.json";

// Follows the processors of ViT, DeiT, CLIP, BiT (which DINOv2 has), ConvNeXt (which ResNet has) and MobileNet, older
// files of theirs too. Throws Error that names `source` and what it does not know: other processors, other keys that
// say something, and values without a meaning.
ImageTransform read_image_processor(const Json& config, const std::string& source);

// The same as a processor of CLIP's, whose keys can say all of it.
Json image_processor_of(const ImageTransform& transform);

}  // namespace hone
