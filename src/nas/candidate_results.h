// What is known of candidates, so that none is evaluated twice, in whatever study it comes up.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "nas/search_figures.h"
#include "study/storage.h"

namespace hone {

// Attributes of trials.
constexpr const char *kCandidateKey = "candidate", *kFiguresKey = "figures", *kSameAsKey = "same as";

class CandidateResults {
 public:
  struct Known {
    Figures figures;
    std::string trial;  // "random 7"
  };

  // Complete trials of all studies in the storage.
  void recall(Storage& storage);

  // What is known of the candidate, with all of `needed`. None: the caller evaluates it, and says so by finish() or
  // abandon(); others who ask for it wait until then.
  std::optional<Known> known_or_mine(const std::string& candidate, const std::set<std::string>& needed);
  void finish(const std::string& candidate, Known known);
  void abandon(const std::string& candidate);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Known> known_;
  std::set<std::string> at_work_;
};

Figures figures_of(const TrialRecord& trial);  // as stored; empty where there are none
Json figures_json(const Figures& figures);

}  // namespace hone
