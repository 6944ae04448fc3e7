// Keys of a graph's metadata that say what the rows are that its model takes: written by training, and read by every
// verb that gives it rows. An ONNX file has them under "hone." and their name.
#pragma once

#include <string_view>

namespace hone {

constexpr const char* kTextLength = "text.max_length";  // tokens that texts are cut to; the model may take more
constexpr const char* kTextHead = "text.head";          // what a builder put behind an encoder of texts
constexpr const char* kMaskedWords = "masked_words";    // of these: scores of each word in each place
constexpr const char* kTextPrompt = "text.prompt";      // stands before every text
constexpr const char* kTextPrompts = "text.prompts";    // a JSON object: those that can be chosen, by their names
// "ignored": the model tells the texts of a pair apart by token types, which its graph does not take.
constexpr const char* kTextTypes = "text.types";
constexpr const char* kImageSize = "image.size";  // "height,width" that images get
// What they are resized to before the middle of that size is cut out: "height,width"; the length of their shorter side;
// or "none". Without it they are resized to kImageSize.
constexpr const char* kImageResize = "image.resize";
constexpr const char* kImageResampling = "image.resampling";  // the filter's name; without it bilinear
constexpr const char* kImageScale = "image.scale";            // of pixels; without it 1/255
// How images are normalised: a number a channel, of scaled values, with commas.
constexpr const char *kImageMean = "image.mean", *kImageDeviation = "image.deviation";
constexpr const char* kSoundRate = "sound.rate";              // samples a second
constexpr const char* kSoundSpectrum = "sound.spectrum";      // "mels,window,hop,samples" of log-mel spectra
constexpr const char* kSoundNormalised = "sound.normalised";  // "true": waveforms get mean 0 and variance 1
constexpr const char* kClassNames = "classes";                // a JSON list, by the model's numbers
constexpr const char* kCarriedFile = "file.";        // begins the key of a file that rides along in ONNX: its tokenizer
constexpr const char* kPositions = "max_positions";  // of the model's table

inline bool says_what_rows_are(std::string_view key) {
  return key == kClassNames || key == kPositions || key.starts_with("text.") || key.starts_with("image.") ||
         key.starts_with("sound.") || key.starts_with("tokenizer.") || key.starts_with(kCarriedFile);
}

}  // namespace hone
