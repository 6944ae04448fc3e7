// A study: trials that are asked for, carried out by whoever asked, and told back. What happens in between is the
// caller's; several threads and processes may work on one study.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "study/pruner.h"
#include "study/sampler.h"
#include "study/space.h"
#include "study/storage.h"

namespace hone {

struct StudyConfig {
  std::string name = "study";
  std::vector<Direction> directions = {Direction::minimize};
  bool may_create = true, may_resume = true;
  uint64_t seed = 0;
  // Running trials give a sign of life so often, and those of workers whose sign did not change for `grace_seconds` (0:
  // twice as long), at two looks behind the first, have failed and are tried again, up to `max_retries` times. 0: no
  // signs. How long is by this worker's own clock: what time a sign has is not read.
  double heartbeat_seconds = 0, grace_seconds = 0;
  int max_retries = 3;
  std::function<std::chrono::steady_clock::time_point()> clock = std::chrono::steady_clock::now;
};

// Thrown by an objective that ends because should_prune() said so.
struct TrialPruned {};

class Study;

class LiveTrial {
 public:
  int64_t number() const { return record_.number; }
  const TrialRecord& record() const { return record_; }

  // The value of a parameter, chosen when it is first asked for. Throws Error for a distribution that contradicts the
  // study's trials or is not possible.
  double suggest_real(const std::string& name, double low, double high, double step = 0, bool log = false);
  int64_t suggest_integer(const std::string& name, int64_t low, int64_t high, int64_t step = 1, bool log = false);
  Json suggest_category(const std::string& name, std::vector<Json> choices);
  double suggest(const std::string& name, const DistributionPtr& distribution);  // inside

  Json values() const;  // of all parameters, as JSON by name; with Study::ask(space) those that are tied, too

  void report(double value, int64_t step);
  bool should_prune();
  void set_user_attribute(const std::string& key, Json value);
  void set_constraints(const std::vector<double>& values);  // feasible where none is above 0

 private:
  friend class Study;
  LiveTrial(Study& study, TrialRecord record, Philox rng) : study_(&study), record_(std::move(record)), rng_(rng) {}

  Study* study_;
  const Space* space_ = nullptr;
  TrialRecord record_;
  Philox rng_;
  int attempt_ = 0;
  std::vector<TrialParameter> relative_;
  TrialChanges unwritten_;
};

class Study {
 public:
  // Opens the study or makes it. Throws Error when its directions differ, or it may not be made or gone on with.
  Study(std::shared_ptr<Storage> storage, StudyConfig config, std::unique_ptr<Sampler> sampler,
        std::unique_ptr<Pruner> pruner = nullptr);
  ~Study();
  Study(const Study&) = delete;
  Study& operator=(const Study&) = delete;

  // A trial that waits (enqueued, or to be tried again), or a new one.
  LiveTrial ask();
  // The same with all parameters of the space chosen; `space` outlives the trial. Throws Error when no point that meets
  // its constraints is found.
  LiveTrial ask(const Space& space);

  // Values: one for each objective of a complete trial; without them, or with NaN, it has failed. A pruned trial's
  // value is its last report. What is told is written when this returns. TrialEnded: another worker took this one for
  // lost and ended the trial; ask for the next.
  TrialState tell(LiveTrial& trial, TrialState state, std::vector<double> values = {});
  TrialState tell(LiveTrial& trial, std::vector<double> values) {
    return tell(trial, TrialState::complete, std::move(values));
  }

  // Parameters of a trial to come, as JSON by name; what is not given is sampled. With skip_existing, not again what
  // was tried or waits.
  bool enqueue(const Json& parameters, bool skip_existing = false, const Json& user_attributes = nullptr);
  // Failed, and the same once more, unless another worker has done so: for a trial that a stop cut off.
  void retry(LiveTrial& trial);

  using Objective = std::function<std::vector<double>(LiveTrial&)>;
  struct Run {
    int64_t trials = 0;  // to carry out, waiting ones included
    int threads = 1;
    bool go_on = false;  // when the objective throws Error: the trial has failed, with the text as attribute "error"
    std::function<void(const TrialRecord&)> after = {};
    std::function<bool(std::span<const TrialPtr>)> enough =
        {};  // asked before each trial: other workers make some, too
  };
  // Returns how many were carried out: fewer where the sampler is exhausted, or there are enough. What a trial gave
  // that another worker ended meanwhile is dropped, with a note in the log.
  int64_t optimize(const Objective& objective, const Run& run, const Space* space = nullptr);

  std::shared_ptr<const TrialList> trials() const;
  std::vector<TrialPtr> best() const;  // of one objective at most one; of several the front, by number
  const StudyRecord& record() const { return record_; }
  Storage& storage() const { return *storage_; }
  void set_user_attribute(const std::string& key, const Json& value);

 private:
  friend class LiveTrial;
  LiveTrial begin();
  double suggest(LiveTrial& trial, const std::string& name, const DistributionPtr& distribution);
  void check_distribution(const std::string& name, const DistributionPtr& distribution);
  double choose(LiveTrial& trial, const std::string& name, const DistributionPtr& distribution, const StudyView& view);
  bool choose_all(LiveTrial& trial, const Space& space);
  DistributionPtr pooled(const Distribution& distribution);
  void write(LiveTrial& trial);
  bool decide_pruning(LiveTrial& trial);
  template <class Use>
  auto with_view(int64_t number, Use&& use);
  void change(const LiveTrial& trial, const TrialChanges& changes);
  void drop(LiveTrial& trial);
  void look_for_signs();
  void fail_silent_trials();
  void keep_beating(std::stop_token stop);
  void add_retry(const TrialRecord& failed);
  TrialKey key_of(const LiveTrial& trial) const { return {record_.id, trial.record_.id, trial.record_.number}; }

  std::shared_ptr<Storage> storage_;
  StudyConfig config_;
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<Pruner> pruner_;
  StudyRecord record_;
  mutable std::mutex mutex_;  // of what follows, and of the sampler and the pruner
  std::map<std::string, DistributionPtr> known_;
  size_t scanned_ = 0;
  DistributionPool pool_;
  std::map<const SpaceParameter*, DistributionPtr> of_space_;
  std::set<std::pair<int64_t, int64_t>> beating_;  // number and id
  // A sign as it was at a look, and at how many later ones it was the same.
  struct Silence {
    TrialKey trial;
    std::string sign;
    std::chrono::steady_clock::time_point since;
    int looks = 0;
  };
  std::optional<std::chrono::steady_clock::time_point> looked_;
  std::map<int64_t, Silence> silences_;  // of others' trials, by id
  std::jthread heart_;
};

// Complete, feasible, and by no other such trial dominated.
std::vector<TrialPtr> pareto_front(std::span<const TrialPtr> trials, std::span<const Direction> directions);

}  // namespace hone
