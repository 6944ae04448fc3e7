#include "measure/confusion.h"

#include <algorithm>

#include "base/error.h"
#include "measure/prediction.h"

namespace hone {

constexpr int64_t kMostClasses = 4096;  // squared, a table of 128 MB

void Confusion::add(const Answers& answers) {
  CHECK(answers.kind == TargetKind::classes);
  check(answers);
  if (classes_ == 0) {
    if (answers.width > kMostClasses)
      fail("a confusion table of {} classes; at most {} are counted", answers.width, kMostClasses);
    classes_ = answers.width;
    counts_.resize(static_cast<size_t>(classes_ * classes_));
  }
  if (answers.width != classes_) fail("{} classes after {} of the batches before", answers.width, classes_);
  for (int64_t r = 0; r < answers.rows(); ++r) {
    const int64_t right = answers.classes[static_cast<size_t>(r)];
    if (right == kIgnored) continue;
    ++rows_;
    if (const int64_t predicted = predicted_class(answers.row(r)); predicted < 0) ++not_a_number_;
    else ++counts_[static_cast<size_t>(right * classes_ + predicted)];
  }
}

std::vector<Confusion::Pair> Confusion::mistakes() const {
  std::vector<Pair> pairs;
  for (int64_t right = 0; right < classes_; ++right)
    for (int64_t predicted = 0; predicted < classes_; ++predicted)
      if (const int64_t times = count(right, predicted); right != predicted && times > 0)
        pairs.push_back({right, predicted, times});
  std::ranges::stable_sort(pairs, std::greater(), &Pair::count);
  return pairs;
}

}  // namespace hone
