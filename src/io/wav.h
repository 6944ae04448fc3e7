// WAV files (RIFF) as waveforms: PCM of 8 to 32 bits and floats, of any number of channels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hone {

struct Sound {
  int64_t rate = 0;            // samples a second
  std::vector<float> samples;  // the mean of the channels, PCM as parts of its range: -1 to 1
};

// Throws Error that starts with `source`: no WAV file, compressed, damaged, or without a sample.
Sound decode_wav(std::span<const std::byte> bytes, const std::string& source);
Sound read_wav(const std::string& path);

}  // namespace hone
