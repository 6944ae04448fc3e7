// One study of hone search, from its checks to its last trial.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobs/scratch_folder.h"
#include "jobs/task.h"
#include "nas/best_models.h"
#include "nas/candidate_results.h"
#include "nas/search_config.h"
#include "nas/search_model.h"
#include "nas/search_state.h"
#include "nas/trial_life.h"
#include "study/study.h"

namespace hone {

class SearchRun {
 public:
  // Checks all that can be checked without training.
  SearchRun(SearchStudy study, std::shared_ptr<const EvaluationData> data, const SearchModelOptions& options,
            const TaskContext& context, CandidateResults& results, bool is_folder);

  void keep_in(std::shared_ptr<Storage> storage) { storage_ = std::move(storage); }  // before what follows
  // Trains the supernet that it asks for, unless another study did: `known` has them by what they are of.
  void begin_with_supernet(std::map<std::string, std::shared_ptr<const Supernet>>& known);
  // Opens the study, or makes it, and carries its trials out.
  void run();
  // The candidate of a trial, written to `output`; what it measures now.
  Figures rebuild(const TrialRecord& trial, const std::string& output) const;

  const SearchStudy& config() const { return config_; }
  const Space& space() const { return space_; }
  std::shared_ptr<const TrialList> trials() const { return storage_->trials(find_study(*storage_, config_.name).id); }
  const std::vector<std::string>& notes() const { return notes_; }
  std::string data_title() const { return life_.data_title(); }

 private:
  Progress progress() const;  // the context's, which ends what a caller has cancelled
  Space make_space();
  void check_budget() const;
  SupernetRequest supernet_request() const;
  std::string supernet_text() const;  // what decides it, beside the space
  Json identity() const;
  void hold_to_identity(Study& study) const;
  void enqueue_first(Study& study) const;
  std::vector<double> evaluate(LiveTrial& trial);
  Figures live(LiveTrial& trial, const TrialPlan& plan);
  void report(LiveTrial& trial, int64_t step, const Figures& figures) const;
  void write_missing(Study& study);
  std::unique_ptr<Sampler> sampler() const;
  int64_t left(const Study& study) const;
  std::string file_of(int64_t number) const;
  std::string candidate_of(const Json& values) const;

  SearchStudy config_;
  const SearchModelOptions& options_;
  const TaskContext& context_;
  std::shared_ptr<Storage> storage_;
  CandidateResults& results_;
  TrialLife life_;
  std::string model_sha256_;
  Space space_;  // made after what stands above
  BestModels best_;
  SearchState state_;
  ScratchFolder scratch_;
  std::vector<std::string> notes_;
};

}  // namespace hone
