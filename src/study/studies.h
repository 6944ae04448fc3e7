// Looking at studies: which there are in a storage, what became of their trials, and what was found.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "study/storage.h"

namespace hone {

struct StudiesOptions {
  std::string storage;             // as open_storage takes it
  std::vector<std::string> names;  // where there is one study only, none is needed
};

struct OpenedStudy {
  std::string storage;  // as it was given
  StudyRecord record;
  std::shared_ptr<const TrialList> trials;

  std::vector<std::string> objectives() const;  // names: those that Optuna was given for them, or "value"
  std::vector<TrialPtr> best() const;           // complete and feasible: the best one, or the front
  int64_t count(TrialState state) const;
};

struct StudyList {
  struct Entry {
    OpenedStudy study;    // its trials null where they can't be read
    std::string problem;  // why not
  };
  std::string storage;
  std::vector<Entry> studies;
};
StudyList list_studies(const StudiesOptions& options);

// The one of that name. Throws Error where there is none, and without a name where there are several.
OpenedStudy open_study(const StudiesOptions& options);

// With at least one complete, feasible trial, else throws Error.
struct BestTrials {
  OpenedStudy study;
  std::vector<TrialPtr> trials;
};
BestTrials best_trials(const StudiesOptions& options);

// (complete and feasible trials, the best value of them), in the order in which they ended; of one objective.
using BestSoFar = std::vector<std::pair<double, double>>;
BestSoFar best_so_far(const OpenedStudy& study);

// Studies of the same direction side by side.
struct ComparedStudies {
  std::vector<OpenedStudy> studies;
  std::vector<BestSoFar> curves;  // of each
  size_t common = 0;              // how many complete trials all have
};
ComparedStudies compare_studies(const StudiesOptions& options);

struct DeletedStudies {
  struct Entry {
    std::string name;
    std::optional<size_t> trials;  // none: they could not be read, and went all the same
  };
  std::string storage;
  std::vector<Entry> studies;
};
// Each named study; at least one must be named, and all be there.
DeletedStudies delete_studies(const StudiesOptions& options);

// "12 trials, 10 complete, 2 pruned".
std::string trials_text(const OpenedStudy& study);

}  // namespace hone
