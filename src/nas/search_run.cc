#include "nas/search_run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/hash.h"
#include "base/stop.h"
#include "jobs/save_model.h"
#include "nas/format_losses.h"
#include "nas/search_space.h"
#include "study/pruners/make_pruner.h"
#include "study/samplers/make_sampler.h"

namespace hone {
namespace {

constexpr const char* kIdentity = "hone:search";            // attribute of a study: what it is of
constexpr const char* kMetricNames = "study:metric_names";  // as Optuna calls the objectives

constexpr double kHeartbeat = 30;  // seconds: trials of a worker that was killed are tried again after two of them

// A trial that ended for its own sake: those that a stop put back are tried again.
bool counts(const TrialRecord& trial) {
  const bool is_failure =
      trial.state == TrialState::failed && trial.user_attributes.is_object() && trial.user_attributes.contains("error");
  return trial.state == TrialState::complete || trial.state == TrialState::pruned || is_failure;
}

std::string best_text(const Study& study, std::span<const Objective> objectives) {
  const std::vector<TrialPtr> best = study.best();
  if (best.empty()) return "";
  if (objectives.size() > 1) return fmt::format("a front of {}", best.size());
  return fmt::format("{} {:.4g} so far (trial {})", objectives[0].text, best[0]->values[0], best[0]->number);
}

std::vector<Direction> directions_of(const SearchStudy& study) {
  std::vector<Direction> directions;
  for (const Objective& o : study.objectives) directions.push_back(o.direction);
  return directions;
}

// What of an identity has changed, in words; empty: nothing.
std::string changed(const Json& before, const Json& now) {
  for (const auto& [key, value] : now.items()) {
    if (!before.contains(key) && value.is_null()) continue;  // what studies of earlier versions could not have
    if (!before.contains(key)) return fmt::format("has no {} noted", key);
    if (before.at(key) == value) continue;
    if (!value.is_object() || !before.at(key).is_object())
      return fmt::format("has another {}: {}, and now {}", key, json_excerpt(before.at(key)), json_excerpt(value));
    for (const auto& [name, is] : value.items())
      if (!before.at(key).contains(name))
        return fmt::format("has no {} {}, which is now {}", key, name, json_excerpt(is));
      else if (before.at(key).at(name) != is)
        return fmt::format("has another {} {}: {}, and now {}", key, name, json_excerpt(before.at(key).at(name)),
                           json_excerpt(is));
    for (const auto& [name, was] : before.at(key).items())
      if (!value.contains(name)) return fmt::format("has {} {}: {}, and now none", key, name, json_excerpt(was));
  }
  return "";
}

}  // namespace

SearchRun::SearchRun(SearchStudy study, std::shared_ptr<const EvaluationData> data, const SearchModelOptions& options,
                     const TaskContext& context, CandidateResults& results, bool is_folder)
    : config_(std::move(study)),
      options_(options),
      context_(context),
      results_(results),
      life_(config_.life, std::move(data)),
      space_(make_space()),
      best_(options.output, is_folder, config_.name),
      state_(config_.name, context.progress) {
  const std::vector<Direction> directions = directions_of(config_);
  const StudyView none{.name = config_.name, .directions = directions, .trials = {}};
  make_sampler(config_.sampler, config_.seed, config_.sampler_options)->exhausted(none, &space_);  // for its errors
  make_pruner(config_.pruner, config_.pruner_options);
  if (config_.pruner != "none") {
    const Objective& o = config_.objectives[0];
    if (o.terms.size() != 1 || life_.metric_of(o.terms[0].figure).empty())
      fail("{}: pruners go by what validations of a training report, and \"{}\" is no single metric", config_.source,
           o.text);
  }
  if (config_.supernet) check_supernet(supernet_request());
  check_budget();
}

Progress SearchRun::progress() const {
  return [this](const std::string& next) { context_.tell(next); };
}

SupernetRequest SearchRun::supernet_request() const {
  return {.config = *config_.supernet,
          .space = space_,
          .fixed = config_.fixed,
          .data = config_.life.data,
          .reading = config_.life.judged.data.reading,
          .session = config_.life.session,
          .network = [this](const TrialPlan& plan) { return life_.network(plan); },
          .parent_sha256 = config_.life.inherit.empty() ? "" : load_model(config_.life.inherit).sha256(),
          .progress = [this](const std::string& next) { context_.tell(config_.name + ": " + next); }};
}

std::string SearchRun::supernet_text() const {
  if (!config_.supernet) return "";
  std::string text = config_.supernet->decisive();
  for (const SpaceParameter& p : space_.parameters())
    if (p.name.starts_with("build.") || p.name.starts_with("layer."))
      text += p.name + " = " + p.distribution.describe() + "\n";
  return text;
}

void SearchRun::begin_with_supernet(std::map<std::string, std::shared_ptr<const Supernet>>& known) {
  if (!config_.supernet) return;
  std::string key =
      fmt::format("{}{}\n{}\n{}\n{}\n{}\n{}\n{}", supernet_text(), config_.supernet->file, model_sha256_,
                  config_.life.data, config_.life.tokenizer, config_.life.vocabulary, config_.life.inherit,
                  options_toml(DataOptions::fields(), config_.life.judged.data.reading));
  for (const auto& [name, value] : config_.fixed.build) key += name + "=" + value + "\n";
  auto& supernet = known[key];
  if (!supernet) supernet = std::make_shared<const Supernet>(supernet_request());
  notes_.push_back(config_.name + ": " + supernet->what());
  life_.set_supernet(supernet);
}

Space SearchRun::make_space() {
  if (!config_.parameters.is_object() || config_.parameters.empty())
    fail("{}: [parameters] has no entries; nothing to search", config_.source);
  const TrialPlan largest = largest_plan(config_.parameters, config_.fixed);
  const Model model = life_.start(largest);
  if (!options_.output.empty()) refuse_source_as_output(options_.output, model);
  if (largest.is_built()) model_sha256_ = sha256_hex(config_.fixed.model + model.files.at("config.json"));
  else model_sha256_ = model.sha256();
  const Graph graph = canonicalise(model.graph);
  const Json parameters = expanded_parameters(config_.parameters, graph, config_.source);
  Json tree{{"parameters", parameters}};
  if (!config_.constraints.empty()) tree["constraints"] = config_.constraints;
  Space space = parse_space(tree, config_.source);
  check_space(space, config_.fixed, config_.source);
  check_addresses(space, graph, config_.source);
  return space;
}

// Limits of the file alone; what answers are worth, and how long they take, is known of trained candidates only.
void SearchRun::check_budget() const {
  std::vector<FigureLimit> limits;
  for (const FigureLimit& limit : config_.limits)
    if (figure_kind(limit.figure).source == FigureSource::file) limits.push_back(limit);
  if (!limits.empty()) context_.tell(config_.name + ": whether anything meets the budget");
  require_reachable(space_, limits, [&](const Json& values) {
    check_stop();
    return life_.of_untrained(plan_of(config_.fixed, values));
  });
}

// What must be the same where a study goes on.
Json SearchRun::identity() const {
  Json objectives = Json::array(), budgets = Json::array(), space = Json::object();
  for (const Objective& o : config_.objectives) objectives.push_back(o.text);
  for (const FigureLimit& limit : config_.limits) budgets.push_back(limit.text);
  for (const SpaceParameter& p : space_.parameters()) space[p.name] = p.distribution.describe();
  for (const SpaceTie& tie : space_.ties()) space[tie.name] = "same as " + tie.same_as;
  return {{"model", model_sha256_},
          {"data", life_.data_sha256()},
          {"rows", fmt::format("{} {}", config_.life.judged.data.split, config_.life.judged.data.limit)},
          {"objective", objectives},
          {"budget", budgets},
          {"parameter", space},
          {"key", config_.shared},
          {"supernet", config_.supernet ? Json(supernet_text()) : Json()},
          {"seed of weights", config_.life.seed}};
}

void SearchRun::hold_to_identity(Study& study) const {
  const Json now = identity();
  const Json& known = study.record().user_attributes;
  if (!known.is_object() || !known.contains(kIdentity)) {
    if (!study.trials()->empty())
      fail("{}: study \"{}\" was not made by hone search; give another --study name", storage_->name(), config_.name);
    study.set_user_attribute(kIdentity, now);
    Json names = Json::array();
    for (const Objective& o : config_.objectives) names.push_back(o.text);
    storage_->set_study_attribute(study.record().id, StudyAttribute::system, kMetricNames, names);
    return;
  }
  if (const std::string what = changed(known.at(kIdentity), now); !what.empty())
    fail("{}: study \"{}\" {}; give another --study name, or what it was made with", storage_->name(), config_.name,
         what);
}

std::string SearchRun::file_of(int64_t number) const {
  return fmt::format("{}/{}.safetensors", scratch_.path(), number);
}

// Two points that set the same keys are one candidate, whichever keys are parameters.
std::string SearchRun::candidate_of(const Json& values) const {
  std::map<std::string, Json> keys;
  for (const Json* table : {&config_.shared, &values})
    for (const auto& [name, value] : table->items()) keys[name] = value;
  std::string text = fmt::format("{} {} {} {} {} {} {} {}\n", config_.fixed.model, model_sha256_, life_.data_sha256(),
                                 life_.data_title(), config_.life.judged.output,
                                 fmt::format("{}{}", config_.life.tokenizer, config_.life.vocabulary),
                                 config_.life.inherit, config_.life.seed);
  for (const auto& [name, value] : keys) text += name + "=" + value.dump() + "\n";
  return sha256_128(text + supernet_text()).hex();
}

void SearchRun::report(LiveTrial& trial, int64_t step, const Figures& figures) const {
  if (config_.objectives.size() != 1) return;
  const Objective& o = config_.objectives[0];
  if (o.terms.size() != 1) return;
  const std::string figure = o.terms[0].figure, metric = life_.metric_of(figure);
  if (metric.empty()) return;
  const auto found = figures.find(figure == "loss" ? "loss" : metric);
  if (found == figures.end() || !std::isfinite(found->second)) return;
  trial.report(o.terms[0].weight * found->second, step);
  if (trial.should_prune()) throw TrialPruned{};
}

Figures SearchRun::live(LiveTrial& trial, const TrialPlan& plan) {
  const auto progress = [this, tell = state_.of_trial(trial.number())](const std::string& next) {
    context_.check();
    if (tell) tell(next);
  };
  return life_.run(
      plan, file_of(trial.number()),
      {.progress = progress, .report = [&](int64_t step, const Figures& figures) { report(trial, step, figures); }});
}

std::vector<double> SearchRun::evaluate(LiveTrial& trial) {
  const Json values = trial.values();
  const std::string candidate = candidate_of(values);
  trial.set_user_attribute(kCandidateKey, candidate);
  Figures figures;
  if (const auto known = results_.known_or_mine(candidate, config_.life.figures)) {
    figures = known->figures;
    trial.set_user_attribute(kSameAsKey, known->trial);
  } else {
    try {
      figures = live(trial, plan_of(config_.fixed, values));
    } catch (...) {
      results_.abandon(candidate);
      throw;
    }
    results_.finish(candidate, {figures, fmt::format("{} {}", config_.name, trial.number())});
  }
  trial.set_user_attribute(kFiguresKey, figures_json(figures));
  std::vector<double> result, excess;
  for (const FigureLimit& limit : config_.limits) excess.push_back(limit.excess(figures));
  if (!excess.empty()) trial.set_constraints(excess);
  for (const Objective& o : config_.objectives) {
    result.push_back(o.value(figures));
    if (!std::isfinite(result.back())) fail("{} is {}", o.text, result.back());
  }
  return result;
}

// One that solves for measured losses is given them.
std::unique_ptr<Sampler> SearchRun::sampler() const {
  std::unique_ptr<Sampler> made = make_sampler(config_.sampler, config_.seed, config_.sampler_options);
  if (!made->learns()) return made;
  const auto figures_of = [&](const Json& values) { return life_.of_untrained(plan_of(config_.fixed, values)); };
  made->learn(format_losses(config_, space_, figures_of, progress()));
  return made;
}

int64_t SearchRun::left(const Study& study) const {
  const auto all = study.trials();
  return config_.trials - std::ranges::count_if(*all, [](const TrialPtr& t) { return counts(*t); });
}

// What is not possible is not among them: a trial of it would say why.
void SearchRun::enqueue_first(Study& study) const {
  const FirstPoints& first = config_.first;
  if (first.by.empty() || !study.trials()->empty()) return;
  context_.tell(fmt::format("{}: {} of {} points", config_.name, first.by, first.of));
  const FigureKind kind = figure_kind(first.by);
  Study drawn(open_storage("memory"), {.name = config_.name, .seed = config_.seed},
              make_sampler("random", config_.seed, {}));
  std::vector<std::pair<double, Json>> points;
  for (int64_t i = 0; i < first.of; ++i) {
    check_stop();
    LiveTrial trial = drawn.ask(space_);
    Json values = trial.values();
    drawn.tell(trial, TrialState::failed);
    try {
      const TrialPlan plan = plan_of(config_.fixed, values);
      const Figures figures = kind.source == FigureSource::start ? life_.of_start(plan) : life_.of_untrained(plan);
      const double value = figures.at(first.by);
      for (const SpaceTie& tie : space_.ties()) values.erase(tie.name);
      points.emplace_back(kind.larger_is_better ? -value : value, std::move(values));
    } catch (const Stopped&) {
      throw;
    } catch (const Error&) {
      if (i + 1 == first.of && points.empty()) throw;
    }
  }
  std::ranges::stable_sort(points, {}, &std::pair<double, Json>::first);
  int64_t taken = 0;
  for (const auto& [value, values] : points)
    if (taken < first.take && study.enqueue(values, true)) ++taken;
}

void SearchRun::run() {
  Study study(storage_,
              {.name = config_.name,
               .directions = directions_of(config_),
               .may_resume = options_.resume,
               .seed = config_.seed,
               .heartbeat_seconds = storage_->has_heartbeats() ? kHeartbeat : 0},
              sampler(), make_pruner(config_.pruner, config_.pruner_options));
  hold_to_identity(study);
  enqueue_first(study);
  const int64_t trials = left(study);
  state_.begin(config_.trials - trials, config_.trials, options_.workers);
  const auto after = [&](const TrialRecord& trial) {
    state_.ended(trial, best_text(study, config_.objectives));
    const std::string file = file_of(trial.number);
    if (!std::filesystem::exists(file)) return;
    const Unstoppable until_it_is_kept;
    if (trial.state == TrialState::complete) best_.offer(study, trial.number, file);
    std::filesystem::remove(file);
  };
  // With those that other processes have begun since.
  const auto before = std::ssize(*study.trials());
  const auto enough = [&](std::span<const TrialPtr> all) {
    return std::ranges::count_if(all, [&](const TrialPtr& t) {
             return counts(*t) || (t->state == TrialState::running && t->number >= before);
           }) >= config_.trials;
  };
  if (trials > 0) {
    const int64_t done = study.optimize([&](LiveTrial& trial) { return evaluate(trial); },
                                        {.trials = trials,
                                         .threads = static_cast<int>(options_.workers),
                                         .go_on = true,
                                         .after = after,
                                         .enough = enough},
                                        &space_);
    if (done < trials && !enough(*study.trials()))
      notes_.push_back(fmt::format("{}: ended after {} of {} trials, since the sampler has no further points",
                                   config_.name, config_.trials - trials + done, config_.trials));
  }
  write_missing(study);
}

void SearchRun::write_missing(Study& study) {
  for (const TrialPtr& trial : best_.missing(study)) {
    context_.tell(fmt::format("{}: making the candidate of trial {} again", config_.name, trial->number));
    const std::string file = file_of(trial->number);
    const Figures now = rebuild(*trial, file);
    best_.offer(study, trial->number, file);
    std::filesystem::remove(file);
    for (const auto& [name, value] : figures_of(*trial))
      if (figure_kind(name).source != FigureSource::time && now.contains(name) && now.at(name) != value)
        notes_.push_back(fmt::format("{}: trial {} made again has {} {:.6g}, and had {:.6g}", config_.name,
                                     trial->number, name, now.at(name), value));
  }
}

Figures SearchRun::rebuild(const TrialRecord& trial, const std::string& output) const {
  return life_.run(plan_of(config_.fixed, space_.values(trial.parameters)), output, {.progress = progress()});
}

}  // namespace hone
