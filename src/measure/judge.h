// Counts what a model says to batches of samples: how its scores are held against what is right, for any number of
// metrics at once.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "measure/confusion.h"
#include "measure/estimate.h"

namespace hone {

enum class Judged : uint8_t {
  rows,         // each sample by its labels
  words,        // each word of a text by its class
  next_tokens,  // each token of a text by the one after it, or, of a model that names hidden words, by itself
  partners,     // the second text of a pair, among those of all
  groups,       // samples of the same class, among all
  similarity,   // the number of a pair, by the cosine of its texts
};
// Samples are pairs, and the model gives an embedding for each side.
inline bool is_of_pairs(Judged judged) { return judged == Judged::partners || judged == Judged::similarity; }

class Judge {
 public:
  Judge(Judged judged, std::span<const Metric> metrics);

  // Rows of `width` scores, equally many for each sample. `second`: of the other sides of pairs. Throws Error where
  // they don't fit what is right.
  void add(const RightAnswers& right, int64_t samples, int64_t width, std::span<const float> scores,
           std::span<const float> second = {});

  std::vector<Evidence> finish();                            // of each metric; Error where none of the samples counts
  const Confusion& confusion() const { return confusion_; }  // of classes

 private:
  void count(const Answers& answers);

  Judged judged_;
  std::vector<MetricSamples> samples_;
  Confusion confusion_;
};

}  // namespace hone
