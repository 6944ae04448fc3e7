// What a search that is under way says of itself: "trial 7 of 30, best accuracy 0.912 (trial 3), 1 failed, 4 min left".
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "jobs/progress.h"
#include "study/trial_record.h"

namespace hone {

class SearchState {
 public:
  SearchState(std::string study, Progress progress) : study_(std::move(study)), progress_(std::move(progress)) {}

  void begin(int64_t ended, int64_t of, int64_t workers);
  void ended(const TrialRecord& trial, const std::string& best);
  // Of a trial's own steps, after what is known of all.
  Progress of_trial(int64_t number);

 private:
  std::string text() const;

  const std::string study_;
  const Progress progress_;
  mutable std::mutex mutex_;
  int64_t ended_ = 0, ended_here_ = 0, of_ = 0, failed_ = 0, workers_ = 1, begin_ns_ = 0;
  std::string best_;
};

}  // namespace hone
