#include "nas/search_model.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/stop.h"
#include "base/text.h"
#include "jobs/open_session.h"
#include "nas/search_run.h"
#include "study/storage.h"

namespace hone {
namespace {

class SearchJob {
 public:
  // `rebuilds`: a trial is made again, and nothing searched.
  SearchJob(const SearchModelOptions& options, const TaskContext& context, bool rebuilds)
      : options_(options), context_(context) {
    if (options.workers < 1 || options.workers > 256) fail("workers are {}; accepted: 1 to 256", options.workers);
    studies_ = studies_of(options.tree, options.flags, options.source, options.study, options.session);
    const bool is_folder = studies_.size() > 1 || studies_[0].objectives.size() > 1;
    for (SearchStudy& study : studies_) {
      context.tell(study.name + ": checking");
      auto data = data_for(study);
      runs_.push_back(std::make_unique<SearchRun>(std::move(study), std::move(data), options, context, results_,
                                                  is_folder && !rebuilds));
    }
    // Nothing is made before all has been checked.
    storage_ = open_storage(options.storage, {.may_create = !rebuilds});
    if (!options.resume && !rebuilds) refuse_known();
    for (const auto& run : runs_) run->keep_in(storage_);
  }

  SearchResult run() {
    results_.recall(*storage_);
    try {
      for (const auto& run : runs_) {
        run->begin_with_supernet(supernets_);
        run->run();
      }
    } catch (const Stopped&) {
      if (options_.storage != "memory")
        context_.note(fmt::format("{}: trials under way were put back; the same command with --resume goes on",
                                  storage_->name()));
      throw;
    }
    refuse_failures();
    SearchResult result{
        .model = runs_[0]->config().fixed.model, .data_title = runs_[0]->data_title(), .storage = options_.storage};
    for (const auto& run : runs_)
      result.studies.push_back({.name = run->config().name,
                                .group = run->config().group,
                                .objectives = run->config().objectives,
                                .figures = run->config().life.figures,
                                .trials = run->trials(),
                                .notes = run->notes()});
    return result;
  }

  RebuiltTrial rebuild(int64_t number) {
    if (runs_.size() != 1) fail("{} studies are given; name the one of the trial by --study", runs_.size());
    if (options_.output.empty()) fail("--rebuild writes a model; give -o FILE.safetensors");
    SearchRun& run = *runs_[0];
    const auto trials = run.trials();
    const auto found = std::ranges::find(*trials, number, [](const TrialPtr& t) { return t->number; });
    if (found == trials->end())
      fail("{}: study \"{}\" has no trial {}; it has {}", storage_->name(), run.config().name, number, trials->size());
    run.begin_with_supernet(supernets_);
    return {.study = run.config().name,
            .storage = options_.storage,
            .output = options_.output,
            .trial = *found,
            .now = run.rebuild(**found, options_.output)};
  }

 private:
  void refuse_known() const {
    const std::vector<StudyRecord> known = storage_->studies();
    for (const auto& run : runs_)
      if (std::ranges::count(known, run->config().name, &StudyRecord::name) > 0)
        fail(
            "{}: there is a study \"{}\" already; go on with it (--resume), delete it (hone study delete), or give "
            "another name (--study)",
            storage_->name(), run->config().name);
  }

  // Where no candidate came through, what stopped the first is what to look at.
  void refuse_failures() const {
    std::string first;
    size_t failed = 0;
    for (const auto& run : runs_)
      for (const TrialPtr& t : *run->trials()) {
        if (t->state == TrialState::complete || t->state == TrialState::pruned) return;
        if (!t->user_attributes.is_object() || !t->user_attributes.contains("error")) continue;
        ++failed;
        if (first.empty()) first = t->user_attributes.at("error").get<std::string>();
      }
    if (failed > 0) fail("all {} trials have failed; the first one: {}", failed, first);
  }

  // Studies of the same rows share them.
  std::shared_ptr<const EvaluationData> data_for(const SearchStudy& study) {
    const DataChoice& choice = study.life.judged.data;
    const std::string key = fmt::format("{}\n{}\n{}\n{}", study.life.data, choice.split, choice.limit,
                                        options_toml(DataOptions::fields(), choice.reading));
    auto& data = data_[key];
    if (!data) data = TrialLife::read_data(study.life);
    return data;
  }

  const SearchModelOptions& options_;
  const TaskContext& context_;
  std::vector<SearchStudy> studies_;
  std::shared_ptr<Storage> storage_;
  CandidateResults results_;
  std::map<std::string, std::shared_ptr<const Supernet>> supernets_;
  std::map<std::string, std::shared_ptr<const EvaluationData>> data_;
  std::vector<std::unique_ptr<SearchRun>> runs_;
};

}  // namespace

std::vector<Direction> SearchedStudy::directions() const {
  std::vector<Direction> all;
  for (const Objective& o : objectives) all.push_back(o.direction);
  return all;
}

std::vector<TrialPtr> SearchedStudy::ranked() const {
  const std::vector<Direction> towards = directions();
  std::vector<TrialPtr> all;
  if (towards.size() > 1) all = pareto_front(*trials, towards);
  else
    for (const TrialPtr& t : *trials)
      if (t->state == TrialState::complete && t->violation() == 0) all.push_back(t);
  std::ranges::stable_sort(all, [&](const TrialPtr& a, const TrialPtr& b) {
    return towards[0] == Direction::maximize ? a->values[0] > b->values[0] : a->values[0] < b->values[0];
  });
  return all;
}

SearchResult search_model(const SearchModelOptions& options, const TaskContext& context) {
  require_training(options.session);
  return SearchJob(options, context, false).run();
}

RebuiltTrial rebuild_trial(const SearchModelOptions& options, int64_t number, const TaskContext& context) {
  require_training(options.session);
  return SearchJob(options, context, true).rebuild(number);
}

}  // namespace hone
