#include "study/study.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/error.h"
#include "base/stop.h"
#include "study/timestamp.h"

namespace hone {
namespace {

// Streams of random numbers: a trial has this many, one for each attempt at a point that meets the constraints. A
// sampler that has learnt a place beyond them may go on proposing it: the later half of the points are uniform.
constexpr int kAttempts = 1000, kOfSampler = kAttempts / 2;
constexpr uint64_t kStreams = 1024;

Philox stream_of(uint64_t seed, int64_t number, int attempt) {
  return Philox(seed, static_cast<uint64_t>(number) * kStreams + static_cast<uint64_t>(attempt));
}

StudyRecord open_or_create(Storage& storage, const StudyConfig& config) {
  if (config.directions.empty()) fail("a study has at least one direction");
  bool is_new = false;
  for (int attempt = 0;; ++attempt) {
    for (StudyRecord& study : storage.studies()) {
      if (study.name != config.name) continue;
      if (!config.may_resume && !is_new)
        fail("{}: there is a study \"{}\" already; go on with it (--resume), delete it, or give another name",
             storage.name(), config.name);
      if (study.directions != config.directions)
        fail("{}: study \"{}\" has other directions than were asked for ({} and {} objectives); give another name",
             storage.name(), config.name, study.directions.size(), config.directions.size());
      return study;
    }
    if (!config.may_create) return find_study(storage, config.name);  // says which there are
    try {
      storage.create_study(config.name, config.directions);
      is_new = true;
    } catch (const Error&) {
      if (attempt > 0) throw;  // otherwise another worker may have been faster
    }
  }
}

const Json* fixed_value(const TrialRecord& trial, const std::string& name) {
  if (!trial.system_attributes.is_object()) return nullptr;
  const auto fixed = trial.system_attributes.find(kFixedParametersKey);
  if (fixed == trial.system_attributes.end() || !fixed->is_object()) return nullptr;
  const auto value = fixed->find(name);
  return value == fixed->end() ? nullptr : &*value;
}

const TrialParameter* find_in(std::span<const TrialParameter> all, const std::string& name) {
  const auto at = std::ranges::find(all, name, &TrialParameter::name);
  return at == all.end() ? nullptr : &*at;
}

bool same_parameters(const TrialRecord& trial, const Json& parameters) {
  for (const auto& [name, value] : parameters.items()) {
    if (const TrialParameter* p = trial.find(name)) {
      if (p->distribution->outside(p->value) != value) return false;
    } else if (const Json* fixed = fixed_value(trial, name); !fixed || *fixed != value) {
      return false;
    }
  }
  return true;
}

}  // namespace

Study::Study(std::shared_ptr<Storage> storage, StudyConfig config, std::unique_ptr<Sampler> sampler,
             std::unique_ptr<Pruner> pruner)
    : storage_(std::move(storage)),
      config_(std::move(config)),
      sampler_(std::move(sampler)),
      pruner_(std::move(pruner)),
      record_(open_or_create(*storage_, config_)) {
  if (pruner_ && record_.directions.size() > 1)
    fail("study \"{}\" has several objectives; pruners compare one", config_.name);
  if (config_.heartbeat_seconds > 0) {
    if (!storage_->has_heartbeats())
      fail("{}: keeps no signs of life of workers; use a SQLite file or a server, or no heartbeat", storage_->name());
    heart_ = std::jthread([this](std::stop_token stop) { keep_beating(std::move(stop)); });
  }
}

Study::~Study() = default;

LiveTrial Study::begin() {
  fail_silent_trials();
  TrialRecord record = storage_->begin_trial(record_.id, now_us());
  if (config_.heartbeat_seconds > 0) {
    const TrialKey key{record_.id, record.id, record.number};
    storage_->beat({&key, 1});
    beating_.insert({record.number, record.id});
  }
  const int64_t number = record.number;
  return LiveTrial(*this, std::move(record), stream_of(config_.seed, number, 0));
}

// The list is given back before anything is written: storages copy a list that somebody holds.
template <class Use>
auto Study::with_view(int64_t number, Use&& use) {
  static const auto none = std::make_shared<const TrialList>();
  const std::shared_ptr<const TrialList> all =
      pruner_ || sampler_->reads_trials() ? storage_->trials(record_.id) : none;
  StudyView view{.name = record_.name, .directions = record_.directions, .trials = *all};
  TrialList same;
  if (pruner_ && number >= 0) view.bracket = pruner_->bracket(view, number);
  if (view.bracket >= 0) {
    StudyView whole = view;
    for (const TrialPtr& trial : *all)
      if (pruner_->bracket(whole, trial->number) == view.bracket) same.push_back(trial);
    view.trials = same;
  }
  return use(view);
}

LiveTrial Study::ask() {
  const std::lock_guard lock(mutex_);
  LiveTrial trial = begin();
  with_view(trial.number(), [&](const StudyView& view) {
    trial.relative_ =
        sampler_->relative({view, trial.record_, nullptr, trial.rng_, trial.unwritten_.system_attributes});
  });
  if (!trial.unwritten_.system_attributes.empty()) write(trial);
  return trial;
}

LiveTrial Study::ask(const Space& space) {
  const std::lock_guard lock(mutex_);
  LiveTrial trial = begin();
  trial.space_ = &space;
  try {
    if (!choose_all(trial, space))
      fail("no point that meets the constraints was found in {} draws; loosen them, or narrow the parameters' ranges",
           kAttempts);
    write(trial);
  } catch (const TrialEnded&) {
    throw;
  } catch (const Error&) {
    beating_.erase({trial.record_.number, trial.record_.id});
    change(trial, {.state = TrialState::failed, .ended = now_us()});
    throw;
  }
  return trial;
}

bool Study::choose_all(LiveTrial& trial, const Space& space) {
  const TrialRecord begun = trial.record_;
  const bool given = begun.system_attributes.is_object() && begun.system_attributes.contains(kFixedParametersKey);
  return with_view(trial.number(), [&](const StudyView& view) {
    const int attempts = space.constraints().empty() || !sampler_->draws_again() ? 1 : kAttempts;
    for (int attempt = 0; attempt < attempts; ++attempt) {
      check_stop();
      if (attempt > 0) {
        trial.record_ = begun;
        trial.unwritten_ = {};
        trial.rng_ = stream_of(config_.seed, trial.number(), attempt);
      }
      trial.attempt_ = attempt;
      const SampleContext context{view, trial.record_, &space, trial.rng_, trial.unwritten_.system_attributes, attempt};
      trial.relative_ = attempt < kOfSampler ? sampler_->relative(context) : std::vector<TrialParameter>();
      for (const SpaceParameter& parameter : space.parameters()) {
        if (!space.is_active(parameter, trial.record_.parameters)) continue;
        DistributionPtr& distribution = of_space_[&parameter];
        if (!distribution || !(*distribution == parameter.distribution))
          distribution = pool_.get(parameter.distribution);
        choose(trial, parameter.name, distribution, view);
      }
      if (space.violation(trial.record_.parameters) == 0) return true;
      if (given) fail("the point that was enqueued as trial {} violates the constraints of the space", trial.number());
    }
    return false;
  });
}

void Study::check_distribution(const std::string& name, const DistributionPtr& distribution) {
  auto known = known_.find(name);
  if (known == known_.end()) {
    const std::shared_ptr<const TrialList> all = storage_->trials(record_.id);
    for (; scanned_ < all->size(); ++scanned_)
      for (const TrialParameter& p : (*all)[scanned_]->parameters) known_.try_emplace(p.name, p.distribution);
    known = known_.try_emplace(name, distribution).first;
  }
  if (known->second != distribution) check_compatible(name, *known->second, *distribution);
}

DistributionPtr Study::pooled(const Distribution& distribution) {
  const std::lock_guard lock(mutex_);
  return pool_.get(distribution);
}

// As in Optuna: what the trial has, what was enqueued, the only one, what was chosen together, what is chosen now.
double Study::choose(LiveTrial& trial, const std::string& name, const DistributionPtr& distribution,
                     const StudyView& view) {
  check_distribution(name, distribution);
  if (const TrialParameter* have = trial.record_.find(name)) return have->value;
  double value = 0;
  if (const Json* fixed = fixed_value(trial.record_, name)) {
    value = distribution->inside(*fixed, name);
    if (!distribution->contains(value))
      fail("parameter {}: the enqueued value {} is out of {}", name, json_excerpt(*fixed), distribution->describe());
  } else if (distribution->is_single()) {
    value = distribution->low;
  } else if (const TrialParameter* p = find_in(trial.relative_, name); p && distribution->contains(p->value)) {
    value = p->value;
  } else {
    const SampleContext context{
        view, trial.record_, trial.space_, trial.rng_, trial.unwritten_.system_attributes, trial.attempt_};
    value = trial.attempt_ < kOfSampler ? sampler_->independent(context, name, distribution)
                                        : uniform_value(*distribution, trial.rng_);
    CHECK(distribution->contains(value), "{} of {}", value, distribution->describe());
  }
  trial.record_.parameters.push_back({name, value, distribution});
  trial.unwritten_.parameters.push_back(trial.record_.parameters.back());
  return value;
}

// A trial that another worker ended gives no signs of life any more.
void Study::change(const LiveTrial& trial, const TrialChanges& changes) {
  try {
    storage_->change(key_of(trial), changes);
  } catch (const TrialEnded&) {
    beating_.erase({trial.record_.number, trial.record_.id});
    throw;
  }
}

void Study::write(LiveTrial& trial) {
  if (trial.unwritten_.empty()) return;
  change(trial, trial.unwritten_);
  trial.unwritten_ = {};
}

TrialState Study::tell(LiveTrial& trial, TrialState state, std::vector<double> values) {
  if (!is_finished(state)) fail("a trial ends as complete, pruned or failed, not as {}", to_string(state));
  const std::lock_guard lock(mutex_);
  TrialChanges& changes = trial.unwritten_;
  if (state == TrialState::complete) {
    if (!values.empty() && values.size() != record_.directions.size())
      fail("trial {} gave {} values; the study has {} objectives", trial.number(), values.size(),
           record_.directions.size());
    if (values.empty() || std::ranges::any_of(values, [](double v) { return std::isnan(v); })) {
      state = TrialState::failed;
      values.clear();
    }
  } else {
    values.clear();
    const auto& reports = trial.record_.intermediate;
    if (state == TrialState::pruned && record_.directions.size() == 1 && !reports.empty() &&
        std::isfinite(reports.back().second))
      values = {reports.back().second};
  }
  changes.state = state;
  changes.values = std::move(values);
  changes.ended = now_us();
  change(trial, changes);
  apply_changes(trial.record_, changes);
  changes = {};
  beating_.erase({trial.record_.number, trial.record_.id});
  return state;
}

bool Study::enqueue(const Json& parameters, bool skip_existing, const Json& user_attributes) {
  if (!parameters.is_object()) fail("a point to try is a table of parameters, found {}", json_excerpt(parameters));
  if (skip_existing)
    for (const TrialPtr& trial : *trials())
      if (trial->state != TrialState::failed && same_parameters(*trial, parameters)) return false;
  TrialRecord trial{.state = TrialState::waiting, .user_attributes = user_attributes};
  set_member(trial.system_attributes, kFixedParametersKey, parameters);
  storage_->create_trial(record_.id, trial);
  return true;
}

void Study::set_user_attribute(const std::string& key, const Json& value) {
  storage_->set_study_attribute(record_.id, StudyAttribute::user, key, value);
}

std::shared_ptr<const TrialList> Study::trials() const { return storage_->trials(record_.id); }

std::vector<TrialPtr> Study::best() const { return pareto_front(*trials(), record_.directions); }

double Study::suggest(LiveTrial& trial, const std::string& name, const DistributionPtr& distribution) {
  const std::lock_guard lock(mutex_);
  return with_view(trial.number(), [&](const StudyView& view) { return choose(trial, name, distribution, view); });
}

bool Study::decide_pruning(LiveTrial& trial) {
  const std::lock_guard lock(mutex_);
  if (!pruner_ || trial.record_.intermediate.empty()) return false;
  const bool prune = with_view(trial.number(), [&](const StudyView& view) {
    return pruner_->prune({view, trial.record_, trial.unwritten_.system_attributes});
  });
  write(trial);
  return prune;
}

int64_t Study::optimize(const Objective& objective, const Run& run, const Space* space) {
  std::atomic<int64_t> left{run.trials}, done{0};
  std::exception_ptr failure;
  std::mutex of_failure;
  const auto end = [&](LiveTrial& trial, TrialState state, std::vector<double> values = {}) {
    try {
      tell(trial, state, std::move(values));
    } catch (const TrialEnded&) {
      drop(trial);
    }
  };
  const auto next = [&] {
    for (;;) {
      try {
        return space ? ask(*space) : ask();
      } catch (const TrialEnded&) {  // before its parameters were written
      }
    }
  };
  const auto one = [&] {
    LiveTrial trial = next();
    try {
      end(trial, TrialState::complete, objective(trial));
    } catch (const TrialPruned&) {
      end(trial, TrialState::pruned);
    } catch (const Stopped&) {
      const Unstoppable until_written;
      retry(trial);
      throw;
    } catch (const TrialEnded&) {  // found out by a report
      drop(trial);
    } catch (const Error& e) {
      trial.set_user_attribute("error", e.what());
      end(trial, TrialState::failed);
      if (!run.go_on) throw;
    } catch (...) {
      end(trial, TrialState::failed);
      throw;
    }
    ++done;
    if (run.after) {
      const std::lock_guard lock(of_failure);
      run.after(trial.record());
    }
  };
  const auto work = [&] {
    try {
      while (left.fetch_sub(1) > 0) {
        check_stop();
        {
          const std::lock_guard lock(mutex_);
          if (run.enough && run.enough(*storage_->trials(record_.id))) return;
          if (with_view(-1, [&](const StudyView& view) { return sampler_->exhausted(view, space).has_value(); }))
            return;
        }
        one();
      }
    } catch (...) {
      const std::lock_guard lock(of_failure);
      left = 0;
      if (!failure) failure = std::current_exception();
    }
  };
  if (run.threads <= 1) {
    work();
  } else {
    std::vector<std::jthread> workers;
    for (int i = 0; i < run.threads; ++i) workers.emplace_back(work);
  }
  if (failure) std::rethrow_exception(failure);
  return done;
}

}  // namespace hone
