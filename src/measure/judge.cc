#include "measure/judge.h"

#include "base/error.h"
#include "measure/cosines.h"

namespace hone {

Judge::Judge(Judged judged, std::span<const Metric> metrics) : judged_(judged) {
  for (const Metric& metric : metrics) samples_.emplace_back(metric);
}

void Judge::count(const Answers& answers) {
  for (MetricSamples& samples : samples_) {
    Answers fitting = answers;
    if (samples.metric().fits(TargetKind::answers)) fitting.kind = TargetKind::answers;
    samples.add(fitting);
  }
  if (answers.kind == TargetKind::classes && (judged_ == Judged::rows || judged_ == Judged::words))
    confusion_.add(answers);
}

void Judge::add(const RightAnswers& right, int64_t samples, int64_t width, std::span<const float> scores,
                std::span<const float> second) {
  CHECK(is_of_pairs(judged_) == !second.empty());
  if (judged_ == Judged::partners) {
    count({.kind = TargetKind::partners, .samples = samples, .width = width, .scores = scores, .values = second});
  } else if (judged_ == Judged::similarity) {
    const Directions a(scores, width), b(second, width);
    if (a.rows() != b.rows()) fail("{} embeddings of first and {} of second texts", a.rows(), b.rows());
    std::vector<float> cosines;
    for (int64_t r = 0; r < a.rows(); ++r) cosines.push_back(a.cosine(r, b, r));
    count(answers_of(right, samples, 1, cosines));
  } else {
    Answers answers = answers_of(right, samples, width, scores);
    if (judged_ == Judged::groups) answers.kind = TargetKind::groups;
    count(answers);
  }
}

std::vector<Evidence> Judge::finish() {
  std::vector<Evidence> all;
  for (MetricSamples& samples : samples_) all.push_back(samples.finish());
  return all;
}

}  // namespace hone
