// Sounds as the inputs of a model, by what its metadata say of them (importers/sound_metadata.h).
#pragma once

#include <string>
#include <vector>

#include "importers/sound_metadata.h"
#include "jobs/load_model.h"
#include "runtime/session.h"

namespace hone {

// WAV files as that input, f32[files,samples] or f32[files,mels,frames]. Throws Error where the model takes no sounds,
// for files that do not decode or have another rate, and for waveforms of several lengths.
NamedTensors sound_inputs(const Model& model, const std::vector<std::string>& files);

}  // namespace hone
