#include "importers/sound_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/text.h"
#include "ir/row_keys.h"

namespace hone {
namespace {

std::vector<int64_t> numbers_in(const Model& model, const char* key, size_t count) {
  std::vector<int64_t> numbers;
  const auto found = model.graph.metadata.find(key);
  if (found == model.graph.metadata.end()) return numbers;
  constexpr int64_t kMost = int64_t{1} << 32;
  for (const std::string& text : split(found->second, ',')) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() && number >= 1 && number <= kMost)
      numbers.push_back(number);
  }
  if (numbers.size() != count || std::ssize(split(found->second, ',')) != static_cast<ptrdiff_t>(count))
    fail("{}: metadata \"{}\" is \"{}\"; {} whole numbers above 0 are expected", model.path, key, found->second, count);
  return numbers;
}

}  // namespace

SoundTransform sound_transform_of(const Model& model) {
  SoundTransform sounds;
  if (const auto rate = numbers_in(model, kSoundRate, 1); !rate.empty()) sounds.rate = rate[0];
  if (const auto spectrum = numbers_in(model, kSoundSpectrum, 4); !spectrum.empty()) {
    sounds.mels = spectrum[0], sounds.window = spectrum[1], sounds.hop = spectrum[2], sounds.samples = spectrum[3];
    constexpr int64_t kMostMels = 1 << 10, kMostWindow = 1 << 14;
    if (sounds.window % 2 != 0 || sounds.window > std::min(sounds.samples, kMostWindow) ||
        sounds.hop > std::min(sounds.samples, kMostWindow) || sounds.mels > kMostMels)
      fail(
          "{}: metadata \"{}\" is \"{}\"; at most 1024 mels, an even window and a hop of at most 16384, within the "
          "samples, are expected",
          model.path, kSoundSpectrum, model.graph.metadata.at(kSoundSpectrum));
  }
  const auto normalised = model.graph.metadata.find(kSoundNormalised);
  sounds.normalises = normalised != model.graph.metadata.end() && normalised->second == "true";
  return sounds;
}

void describe_sounds(Model& model, const SoundTransform& sounds) {
  auto& metadata = model.graph.metadata;
  metadata[kSoundRate] = std::to_string(sounds.rate);
  if (sounds.mels > 0)
    metadata[kSoundSpectrum] = fmt::format("{},{},{},{}", sounds.mels, sounds.window, sounds.hop, sounds.samples);
  if (sounds.normalises) metadata[kSoundNormalised] = "true";
}

ValueId sound_input_of(const Graph& graph) {
  for (const ValueId input : graph.arguments()) {
    const Value& value = graph.value(input);
    const bool is_wave = value.label == "input_values" && value.type.rank() == 2;
    const bool is_spectrum = value.label == "input_features" && value.type.rank() == 3;
    if ((is_wave || is_spectrum) && is_float(value.type.dtype)) return input;
  }
  return kNone;
}

}  // namespace hone
