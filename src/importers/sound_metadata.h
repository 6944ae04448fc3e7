// What a model's metadata say of its sounds (ir/row_keys.h).
#pragma once

#include "data/sound_transform.h"
#include "importers/model.h"

namespace hone {

// What the metadata say; rate 0 where they say nothing.
SoundTransform sound_transform_of(const Model& model);
void describe_sounds(Model& model, const SoundTransform& sounds);

// The input that takes waveforms (input_values) or spectra (input_features); kNone: the model takes no sounds.
ValueId sound_input_of(const Graph& graph);

}  // namespace hone
