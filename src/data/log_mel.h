// Log-mel spectra as Whisper reads them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/tensor.h"

namespace hone {

// Weights [mels, window / 2 + 1] of the frequencies of a window: triangles that overlap by half on the scale of
// Slaney's Auditory Toolbox, up to 8 kHz, each of area 1.
std::vector<double> mel_filters(int64_t mels, int64_t window, int64_t rate);

// f32[mels, samples / hop] of samples that are mirrored at both ends: with P the sum of a window's powers by a filter's
// weights, L = log10 max(P, 1e-10), (max(L, largest L - 8) + 4) / 4. `window` is even and at most the number of
// samples.
Tensor log_mel(std::span<const float> samples, int64_t mels, int64_t window, int64_t hop, int64_t rate);

}  // namespace hone
