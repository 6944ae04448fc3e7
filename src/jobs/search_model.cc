#include "jobs/search_model.h"
#include "jobs/open_session.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/stop.h"
#include "base/text.h"
#include "jobs/search_record.h"
#include "jobs/search_run.h"
#include "jobs/study_report.h"
#include "search/storage.h"

namespace hone {
namespace {

class SearchJob {
 public:
  explicit SearchJob(const SearchModelOptions& options) : options_(options) {
    if (options.workers < 1 || options.workers > 256) fail("workers are {}; accepted: 1 to 256", options.workers);
    studies_ = studies_of(options.tree, options.flags, options.source, options.study, options.session);
    const bool is_folder = studies_.size() > 1 || studies_[0].objectives.size() > 1;
    for (SearchStudy& study : studies_) {
      tell(options.progress, study.name + ": checking");
      auto data = data_for(study);
      runs_.push_back(std::make_unique<SearchRun>(std::move(study), std::move(data), options, results_,
                                                  is_folder && !options.rebuild));
    }
    // Nothing is made before all has been checked.
    storage_ = open_storage(options.storage, {.may_create = !options.rebuild});
    if (!options.resume && !options.rebuild) refuse_known();
    for (const auto& run : runs_) run->keep_in(storage_);
  }

  Record run() {
    if (options_.rebuild) return rebuild();
    results_.recall(*storage_);
    try {
      for (const auto& run : runs_) {
        run->begin_with_supernet(supernets_);
        run->run();
      }
    } catch (const Stopped&) {
      if (options_.say && options_.storage != "memory")
        options_.say(fmt::format("{}: trials under way were put back; the same command with --resume goes on",
                                 storage_->name()));
      throw;
    }
    refuse_failures();
    return search_record(runs_, options_);
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

  Record rebuild() {
    if (runs_.size() != 1) fail("{} studies are given; name the one of the trial by --study", runs_.size());
    if (options_.output.empty()) fail("--rebuild writes a model; give -o FILE.safetensors");
    SearchRun& run = *runs_[0];
    const auto trials = run.trials();
    const auto found = std::ranges::find(*trials, *options_.rebuild, [](const TrialPtr& t) { return t->number; });
    if (found == trials->end())
      fail("{}: study \"{}\" has no trial {}; it has {}", storage_->name(), run.config().name, *options_.rebuild,
           trials->size());
    run.begin_with_supernet(supernets_);
    const Figures now = run.rebuild(**found, options_.output);
    return rebuild_record(run, **found, now, options_);
  }

  const SearchModelOptions& options_;
  std::vector<SearchStudy> studies_;
  std::shared_ptr<Storage> storage_;
  CandidateResults results_;
  std::map<std::string, std::shared_ptr<const Supernet>> supernets_;
  std::map<std::string, std::shared_ptr<const EvaluationData>> data_;
  std::vector<std::unique_ptr<SearchRun>> runs_;
};

}  // namespace

Record search_model(const SearchModelOptions& given) {
  require_training(given.session);
  SearchModelOptions options = given;
  options.command = without_credentials(given.command);  // as it may be shown
  return with_command(SearchJob(options).run(), given.command, given.storage);
}

}  // namespace hone
