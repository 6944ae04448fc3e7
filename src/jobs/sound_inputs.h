// Sounds as the inputs of a model, by what its metadata say of them (ir/row_keys.h).
#pragma once

#include <string>
#include <vector>

#include "data/sound_transform.h"
#include "jobs/load_model.h"
#include "runtime/session.h"

namespace hone {

// What the metadata say; rate 0 where they say nothing.
SoundTransform sound_transform_of(const LoadedModel& model);
void describe_sounds(LoadedModel& model, const SoundTransform& sounds);

// The input that takes waveforms (input_values) or spectra (input_features); kNone: the model takes no sounds.
ValueId sound_input_of(const Graph& graph);

// WAV files as that input, f32[files,samples] or f32[files,mels,frames]. Throws Error where the model takes no sounds,
// for files that do not decode or have another rate, and for waveforms of several lengths.
NamedTensors sound_inputs(const LoadedModel& model, const std::vector<std::string>& files);

}  // namespace hone
