// hone search: candidates of a space, each built, trained, compressed and measured as the file that it becomes, by
// studies that can be stopped and gone on with.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "jobs/task.h"
#include "nas/search_figures.h"
#include "runtime/session.h"
#include "study/trial_record.h"

namespace hone {

struct SearchModelOptions {
  Json tree = Json::object();   // search_config.h
  Json flags = Json::object();  // keys that win over the tree, and over its studies
  std::string source;           // of the tree, for errors
  std::string storage = "memory", study;
  std::string output;  // the best model; a folder where several are best
  int64_t workers = 1;
  bool resume = false;  // go on with studies of these names, where there are some
  SessionOptions session;
};

// One study, as far as it has come.
struct SearchedStudy {
  std::string name, group;  // group: what studies that differ in their seeds have in common
  std::vector<Objective> objectives;
  std::set<std::string> figures;  // that each candidate is measured by
  std::shared_ptr<const TrialList> trials;
  std::vector<std::string> notes;  // of its supernet, its end, and candidates that were made again: sentences

  std::vector<Direction> directions() const;
  std::vector<TrialPtr> ranked() const;  // the best first; of several objectives the front, by the first of them
};

struct SearchResult {
  std::string model;  // what candidates are made of
  std::vector<SearchedStudy> studies;
  std::string data_title;  // what they were judged on: "128 rows of …"; empty: on no data
  std::string storage;
};

// Throws Error before anything is trained: for keys, values and parameters that are not known or not possible, a grid
// that is too large, a budget that nothing meets, and a study that is of another model, data, objective or space; and
// where all trials have failed. Trials under way when it is stopped are tried again by the run that resumes it.
SearchResult search_model(const SearchModelOptions& options, const TaskContext& context = {});

// A trial's candidate that was made again, as the file `output`.
struct RebuiltTrial {
  std::string study, storage, output;
  TrialPtr trial;
  Figures now;  // what it measures
};
// Of the one study of the options. Throws Error where there is no such trial.
RebuiltTrial rebuild_trial(const SearchModelOptions& options, int64_t number, const TaskContext& context = {});

}  // namespace hone
