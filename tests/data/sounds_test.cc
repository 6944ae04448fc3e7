// WAV files, and sounds as the processors of transformers hand them to a model: goldens of
// bench/peers/preprocessors.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/sound_transform.h"
#include "io/safetensors.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace hone {
namespace {

using test::error_of;
using testing::HasSubstr;

const SafetensorsFile& goldens() {
  static const SafetensorsFile file(std::string(test::kTestData) + "/preprocessors/sounds.safetensors");
  return file;
}

std::vector<std::byte> file_of(const std::string& kind) {
  const Tensor bytes = goldens().tensor("wav." + kind);
  const auto all = std::as_bytes(bytes.as<uint8_t>());
  return {all.begin(), all.end()};
}
Sound sound_of(const std::string& kind) { return decode_wav(file_of(kind), kind); }

TEST(Wav, SamplesArePartsOfTheirRange) {
  const std::vector<float> waveform = goldens().tensor("waveform").to_floats();
  EXPECT_EQ(sound_of("pcm16").rate, 16000);
  EXPECT_EQ(sound_of("pcm16").samples, waveform);
  for (size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(sound_of("pcm24").samples.at(i), waveform[i]);
    EXPECT_NEAR(sound_of("pcm8").samples.at(i), waveform[i], 1.0 / 128);
    EXPECT_NEAR(sound_of("stereo").samples.at(i), waveform[i] / 4, 1.0 / 32768);  // the mean of x and -x / 2
  }
}

TEST(Wav, RefusesWhatIsNone) {
  std::vector<std::byte> file = file_of("pcm16");
  EXPECT_THAT(error_of([&] { decode_wav(std::span(file).first(30), "a"); }), HasSubstr("a: "));
  EXPECT_THAT(error_of([&] { decode_wav(std::span(file).first(200), "a"); }), HasSubstr("cut short"));
  EXPECT_THAT(error_of([&] { decode_wav({}, "a"); }), HasSubstr("is no WAV file"));
  std::vector<std::byte> changed = file;
  changed[20] = std::byte{2};
  EXPECT_THAT(error_of([&] { decode_wav(changed, "a"); }), HasSubstr("format 2 with 16 bits"));
  changed = file, changed[22] = std::byte{0};
  EXPECT_THAT(error_of([&] { decode_wav(changed, "a"); }), HasSubstr("0 channels"));
  for (size_t length = 0; length < 60; ++length)
    EXPECT_NE(error_of([&] { decode_wav(std::span(file).first(length), "a"); }), "") << length;
}

// transformers rounds the spectrum to f32 before it is squared; the logarithm divides that by 4 ln 10.
TEST(SoundTransform, SpectraAreWhispers) {
  const SoundTransform whisper = read_sound_processor(Json::parse(goldens().metadata().at("whisper")), "whisper");
  const Tensor found = transformed_sound(sound_of("pcm16"), whisper, "s");
  const Tensor golden = goldens().tensor("whisper");
  ASSERT_EQ(found.shape(), golden.shape());
  const std::vector<double> got = found.to_doubles(), want = golden.to_doubles();
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 4 * 0x1p-22) << i;
  EXPECT_EQ(read_sound_processor(sound_processor_of(whisper), "w"), whisper);
}

TEST(SoundTransform, WaveformsAreNormalised) {
  const SoundTransform wave = read_sound_processor(Json::parse(goldens().metadata().at("wav2vec2")), "wav2vec2");
  const std::vector<double> got = transformed_sound(sound_of("pcm16"), wave, "s").to_doubles(),
                            want = goldens().tensor("wav2vec2").to_doubles();
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-5) << i;  // numpy's mean is in f32
  EXPECT_EQ(read_sound_processor(sound_processor_of(wave), "w"), wave);
}

TEST(SoundTransform, RefusesByNameWhatItDoesNotKnow) {
  const Json good = Json::parse(goldens().metadata().at("whisper"));
  const auto refusal = [&](const char* key, const Json& value) {
    Json config = good;
    config[key] = value;
    return error_of([&] { read_sound_processor(config, "p.json"); });
  };
  EXPECT_THAT(refusal("dither", 0.5), HasSubstr("key \"dither\" is 0.5"));
  EXPECT_THAT(refusal("preemphasis", 0.97), HasSubstr("preemphasis"));
  EXPECT_THAT(refusal("feature_extractor_type", "SpeechT5FeatureExtractor"), HasSubstr("is not known"));
  EXPECT_THAT(refusal("n_fft", 401), HasSubstr("even"));
  EXPECT_THAT(refusal("hop_length", 0), HasSubstr("\"hop_length\" is 0"));
  Sound other = sound_of("pcm16");
  other.rate = 44100;
  EXPECT_THAT(error_of([&] { transformed_sound(other, read_sound_processor(good, "p"), "s"); }),
              HasSubstr("has 44100 samples a second; the model takes 16000"));
}

}  // namespace
}  // namespace hone
