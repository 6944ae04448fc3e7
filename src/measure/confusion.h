// Which classes are taken for which.
#pragma once

#include <cstdint>
#include <vector>

#include "measure/metric.h"

namespace hone {

class Confusion {
 public:
  void add(const Answers& answers);  // of classes; Error when they are more or fewer than before

  int64_t classes() const { return classes_; }
  int64_t rows() const { return rows_; }
  int64_t count(int64_t right, int64_t predicted) const {
    return counts_[static_cast<size_t>(right * classes_ + predicted)];
  }
  int64_t not_a_number() const { return not_a_number_; }  // rows with a NaN among their scores: in no cell

  // Pairs of different classes, most frequent first, those that occur.
  struct Pair {
    int64_t right = 0, predicted = 0, count = 0;
  };
  std::vector<Pair> mistakes() const;

 private:
  int64_t classes_ = 0, rows_ = 0, not_a_number_ = 0;
  std::vector<int64_t> counts_;
};

}  // namespace hone
