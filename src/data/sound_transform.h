// From the samples of a sound to what a network reads: the waveform, or the log-mel spectrum that Whisper reads.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "io/wav.h"
#include "ir/tensor.h"

namespace hone {

struct SoundTransform {
  int64_t rate = 0;         // of the samples; 0: nothing is known
  bool normalises = false;  // mean 0 and variance 1
  // Of spectra; 0 of the first: the waveform. Sounds are cut to `samples`, or silence is put behind them. A window of
  // `window` samples (Hann) stands every `hop`.
  int64_t mels = 0, window = 0, hop = 0, samples = 0;
  bool operator==(const SoundTransform&) const = default;
};

// Follows preprocessor_config.json of Whisper and wav2vec 2.0. Throws Error that names `source` and what it does not
// know, as read_image_processor does.
SoundTransform read_sound_processor(const Json& config, const std::string& source);
Json sound_processor_of(const SoundTransform& transform);

// f32[samples], or f32[mels,frames]. Throws Error where the rate is another.
Tensor transformed_sound(const Sound& sound, const SoundTransform& transform, const std::string& source);

}  // namespace hone
