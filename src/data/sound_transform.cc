#include "data/sound_transform.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory_limit.h"
#include "base/settings.h"
#include "data/log_mel.h"

namespace hone {
namespace {

constexpr Setting kSettings[] = {{"feature_extractor_type"},
                                 {"image_processor_type"},
                                 {"processor_class"},
                                 {"feature_size"},
                                 {"sampling_rate"},
                                 {"do_normalize"},
                                 {"n_fft"},
                                 {"hop_length"},
                                 {"chunk_length"},
                                 // What follows from these.
                                 {"n_samples"},
                                 {"nb_max_frames"},
                                 {"mel_filters"},
                                 // Of sounds of several lengths, which are refused in one run.
                                 {"padding_value", "0 | 0.0"},
                                 {"padding_side"},
                                 {"return_attention_mask"},
                                 {"dither", "0 | 0.0"}};

int64_t count(const Json& config, const char* key, int64_t fallback, int64_t most, const std::string& source) {
  const Json value = config.value(key, Json(fallback));
  if (!value.is_number_integer() || value < 1 || value > most)
    fail("{}: key \"{}\" is {}; accepted: 1 to {}", source, key, json_excerpt(value), most);
  return value.get<int64_t>();
}

bool flag(const Json& config, const char* key, bool fallback, const std::string& source) {
  return config.contains(key) && !config[key].is_null() ? json_get<bool>(config, key, source) : fallback;
}

Tensor waveform(std::vector<float> samples, bool normalises) {
  if (normalises) {
    double sum = 0, squares = 0;
    const auto n = static_cast<double>(samples.size());
    for (const float v : samples) sum += static_cast<double>(v);
    const double mean = sum / n;
    for (const float v : samples) squares += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
    const double scale = 1 / std::sqrt(squares / n + 1e-7);
    for (float& v : samples) v = static_cast<float>((static_cast<double>(v) - mean) * scale);
  }
  const auto length = std::ssize(samples);
  return Tensor::of<float>({length}, samples);
}

}  // namespace

SoundTransform read_sound_processor(const Json& config, const std::string& source) {
  constexpr int64_t kMostRate = 1 << 20, kMostMels = 1 << 10, kMostWindow = 1 << 14, kMostSeconds = 3600;
  if (!config.is_object()) fail("{}: holds {}; expected an object", source, config.type_name());
  const bool is_of_spectra = config.contains("n_fft") || config.contains("chunk_length");
  const std::string type = config.contains("feature_extractor_type")
                               ? json_get<std::string>(config, "feature_extractor_type", source)
                           : is_of_spectra ? "WhisperFeatureExtractor"
                                           : "Wav2Vec2FeatureExtractor";  // older files do not say
  check_settings(config, kSettings, source);
  SoundTransform transform{.rate = count(config, "sampling_rate", 16000, kMostRate, source)};
  if (type == "Wav2Vec2FeatureExtractor") {
    count(config, "feature_size", 1, 1, source);
    transform.normalises = flag(config, "do_normalize", true, source);
    return transform;
  }
  if (type != "WhisperFeatureExtractor")
    fail("{}: the processor \"{}\" is not known; accepted: WhisperFeatureExtractor, Wav2Vec2FeatureExtractor", source,
         type);
  if (flag(config, "do_normalize", false, source))
    fail("{}: key \"do_normalize\" is true; accepted of spectra: false", source);
  transform.mels = count(config, "feature_size", 80, kMostMels, source);
  transform.window = count(config, "n_fft", 400, kMostWindow, source);
  transform.hop = count(config, "hop_length", 160, kMostWindow, source);
  transform.samples = count(config, "chunk_length", 30, kMostSeconds, source) * transform.rate;
  if (transform.window % 2 != 0 || transform.window > transform.samples || transform.hop > transform.samples)
    fail("{}: n_fft {} and hop_length {} of {} samples; accepted: an even n_fft, and no more than the samples", source,
         transform.window, transform.hop, transform.samples);
  return transform;
}

Json sound_processor_of(const SoundTransform& t) {
  Json json{{"sampling_rate", t.rate}, {"padding_value", 0.0}, {"padding_side", "right"}};
  if (t.mels == 0) {
    json.update(
        {{"feature_extractor_type", "Wav2Vec2FeatureExtractor"}, {"feature_size", 1}, {"do_normalize", t.normalises}});
    return json;
  }
  json.update({{"feature_extractor_type", "WhisperFeatureExtractor"},
               {"feature_size", t.mels},
               {"n_fft", t.window},
               {"hop_length", t.hop},
               {"chunk_length", t.samples / t.rate}});
  return json;
}

Tensor transformed_sound(const Sound& sound, const SoundTransform& transform, const std::string& source) {
  if (transform.rate != 0 && sound.rate != transform.rate)
    fail("{}: has {} samples a second; the model takes {}. Convert it: ffmpeg -i FILE -ac 1 -ar {} out.wav", source,
         sound.rate, transform.rate, transform.rate);
  const int64_t length = std::max(std::ssize(sound.samples), transform.samples);
  const MemoryCharge charge(checked_mul(length, sizeof(float)), source);
  std::vector<float> samples = sound.samples;
  if (transform.mels == 0) return waveform(std::move(samples), transform.normalises);
  samples.resize(static_cast<size_t>(transform.samples));
  return log_mel(samples, transform.mels, transform.window, transform.hop, transform.rate);
}

}  // namespace hone
