// Images as tokens, the way ViT and its descendants read them: patches that do not overlap, one token each, behind
// learned tokens, each with a learned position. Positions are a square grid of the patches of the images that the model
// was trained on; those of images of another size lie between them (bicubic), as Hugging Face interpolates.
#pragma once

#include <string>
#include <vector>

#include "models/config.h"
#include "models/transformer.h"

namespace hone {

struct PatchGrid {
  int64_t channels = 0, image_size = 0;  // of images
  int64_t patch = 0;                     // pixels a side
  int64_t side() const { return image_size / patch; }
};

// Of num_channels, image_size and patch_size, of which the latter may be numbers or pairs of equal ones.
PatchGrid read_patch_grid(const ModelConfig& config, int64_t usual_patch);

// The input "pixel_values" f32[B,channels,H,W] of a model with no other.
ValueId image_input(LayerBuilder& builder, const PatchGrid& grid);

struct ImageTokens {
  int64_t hidden = 0;
  std::string projection;  // NAME.weight[hidden,channels,patch,patch]
  bool biased = true;
  std::vector<ValueId> first = {};  // the tokens before the patches, each f32[1,1,hidden]
  ValueId positions = kNone;        // f32[1, first + side * side, hidden]
};

// f32[B,C,H,W] → f32[B, first + H/patch * W/patch, hidden]
ValueId image_tokens(TransformerBuilder& builder, ValueId image, const PatchGrid& grid, const ImageTokens& tokens);

}  // namespace hone
