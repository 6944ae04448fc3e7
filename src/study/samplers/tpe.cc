// The tree-structured Parzen estimator: of the points that a mixture of the good trials gives, the one whose density
// among the good is largest beside that among the others. As Optuna has it, whose defaults of version 4 or 5 are a
// choice; log densities are equal to its own.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "study/domination.h"
#include "study/python_json.h"
#include "study/samplers/parzen.h"
#include "study/samplers/tpe_history.h"

namespace hone {
namespace {

void check_auto(const std::string& text) {
  if (text != "auto" && text != "true" && text != "false") fail("expected auto, true or false, found \"{}\"", text);
}
void check_version(const std::string& text) {
  if (text != "4" && text != "5")
    fail("expected 4 or 5, the version of Optuna whose defaults hold; found \"{}\"", text);
}

struct TpeOptions {
  int64_t startup = 10, candidates = 24;
  std::string multivariate = "auto", constant_liar = "auto";
  bool group = false;
  std::string optuna = "5";
  static constexpr const char* kPass = "tpe";
  static std::span<const OptionField<TpeOptions>> fields();
};

constexpr OptionField<TpeOptions> kFields[] = {
    {"startup", "trials that are drawn at random first", &TpeOptions::startup},
    {"candidates", "points that are compared", &TpeOptions::candidates},
    {"multivariate", "parameters are chosen together; auto: of one objective in Optuna 5's way, not in 4's",
     &TpeOptions::multivariate, check_auto},
    {"group", "parameters that always come together are chosen together", &TpeOptions::group},
    {"constant-liar",
     "running trials count as bad ones, so that workers keep apart; auto: in Optuna 5's way, not in 4's",
     &TpeOptions::constant_liar, check_auto},
    {"optuna", "whose defaults and bandwidths hold: 4 or 5", &TpeOptions::optuna, check_version},
};

class TpeSampler : public Sampler {
 public:
  explicit TpeSampler(const TpeOptions& options) : options_(options) {
    if (options.startup < 0 || options.candidates < 1) fail("startup is 0 or more and candidates 1 or more");
    if (options.group && options.multivariate == "false")
      fail("group chooses parameters together; set multivariate to true");
  }

  std::vector<TrialParameter> relative(const SampleContext& context) override {
    const bool joint = is_joint(context);
    TpeHistory& history = updated(context);
    if (!joint || history.finished() < options_.startup) return {};
    std::vector<TrialParameter> chosen;
    const auto choose = [&](const std::map<std::string, DistributionPtr>& space) {
      std::vector<std::string> names;
      std::vector<DistributionPtr> distributions;
      for (const auto& [name, distribution] : space) {
        if (distribution->is_single() || !distribution->is_exact()) continue;
        names.push_back(name);
        distributions.push_back(distribution);
      }
      if (names.empty()) return;
      const std::vector<double> best = sample(context, names, distributions);
      for (size_t i = 0; i < names.size(); ++i) chosen.push_back({names[i], best[i], distributions[i]});
    };
    if (options_.group) std::ranges::for_each(history.groups(), choose);
    else choose(history.intersection());
    if (!chosen.empty() && liar() && !context.space) tell_others(context, chosen);
    return chosen;
  }

  double independent(const SampleContext& context, const std::string& name,
                     const DistributionPtr& distribution) override {
    const TpeHistory& history = histories_[context.study.bracket];
    if (updated_for_ != context.trial.number) updated(context);
    if (history.finished() < options_.startup) return uniform_value(*distribution, context.rng);
    return sample(context, {name}, {distribution})[0];
  }

 private:
  bool is_five() const { return options_.optuna == "5"; }
  bool liar() const { return options_.constant_liar == "auto" ? is_five() : options_.constant_liar == "true"; }
  bool is_joint(const SampleContext& context) const {
    if (options_.group) return true;
    if (options_.multivariate != "auto") return options_.multivariate == "true";
    return is_five() && context.study.directions.size() == 1;
  }

  // What is good is decided once a trial.
  TpeHistory& updated(const SampleContext& context) {
    TpeHistory& history = histories_[context.study.bracket];
    history.update(context.study, is_joint(context));
    updated_for_ = context.trial.number;
    const bool several = context.study.directions.size() > 1;
    const auto tenth = static_cast<size_t>(std::ceil(0.1 * static_cast<double>(history.finished())));
    const size_t below = several && is_five() ? tenth : std::min<size_t>(tenth, 25);
    split_ = history.split(below, liar(), context.trial.number);
    weights_ = several && !is_five() ? contributions(history, context.study.directions) : std::vector<double>();
    return history;
  }

  // Optuna 4: a good trial of several objectives counts by what the front loses without it.
  std::vector<double> contributions(const TpeHistory& history, std::span<const Direction> directions) const {
    constexpr double kLeast = 1e-12;
    std::vector<double> weights(split_.below.size(), kLeast);
    std::vector<TrialPtr> feasible;
    std::vector<size_t> place;
    for (size_t i = 0; i < split_.below.size(); ++i) {
      const TrialRecord& trial = history.trial(split_.below[i]);
      if (trial.violation() > 0 || trial.values.size() != directions.size()) continue;
      weights[i] = 1;
      feasible.push_back(std::make_shared<const TrialRecord>(trial));
      place.push_back(i);
    }
    if (feasible.size() <= 1) return weights;
    const Points points = losses_of(feasible, directions);
    const std::vector<double> reference = reference_point(points);
    const std::vector<int> ranks = domination_ranks(points);
    Points front;
    std::vector<size_t> of_front;
    for (size_t i = 0; i < points.size(); ++i)
      if (ranks[i] == 0) front.push_back(points[i]), of_front.push_back(i);
    const double all = hypervolume(front, reference);
    if (std::isinf(all)) return weights;
    std::vector<double> lost(points.size(), 0);
    for (size_t i = 0; i < front.size(); ++i) {
      Points without = front;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
      lost[of_front[i]] = all - hypervolume(without, reference);
    }
    const double most = std::max(*std::ranges::max_element(lost), kLeast);
    for (size_t i = 0; i < points.size(); ++i) weights[place[i]] = std::max(lost[i] / most, kLeast);
    return weights;
  }

  struct Observed {
    Columns columns;
    std::vector<double> weights;
  };

  // Another program may have given a parameter other choices, or what has no logarithm.
  static bool is_usable(const Distribution& d, double value) {
    if (std::isnan(value)) return false;
    return d.is_category() ? value >= 0 && value < static_cast<double>(d.choices.size()) : !d.log || value > d.step / 2;
  }

  // Of the rows that have all of the parameters.
  static Observed observe(const TpeHistory& history, std::span<const uint32_t> rows,
                          const std::vector<std::string>& names, std::span<const DistributionPtr> space,
                          std::span<const double> weights) {
    Observed result{.columns = Columns(names.size())};
    std::vector<const std::vector<double>*> columns;
    for (const std::string& name : names) {
      columns.push_back(history.column(name));
      if (!columns.back()) return result;
    }
    std::vector<char> has_all(rows.size(), 1);
    for (size_t k = 0; k < names.size(); ++k)
      for (size_t i = 0; i < rows.size(); ++i) has_all[i] &= is_usable(*space[k], (*columns[k])[rows[i]]) ? 1 : 0;
    std::vector<uint32_t> used;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (!has_all[i]) continue;
      used.push_back(rows[i]);
      if (!weights.empty()) result.weights.push_back(weights[i]);
    }
    for (size_t k = 0; k < names.size(); ++k) {
      result.columns[k].reserve(used.size() + 1);
      for (uint32_t row : used) result.columns[k].push_back((*columns[k])[row]);
    }
    return result;
  }

  std::vector<double> sample(const SampleContext& context, const std::vector<std::string>& names,
                             const std::vector<DistributionPtr>& space) {
    const TpeHistory& history = histories_[context.study.bracket];
    const Bandwidth bandwidth = !is_five() && is_joint(context) ? Bandwidth::scott : Bandwidth::neighbours;
    Observed good = observe(history, split_.below, names, space, weights_);
    if (context.study.directions.size() > 1 && is_five()) good.weights.assign(good.columns[0].size(), 1.0);
    Observed others = observe(history, split_.above, names, space, {});
    const ParzenEstimator below(space, std::move(good.columns), bandwidth, std::move(good.weights));
    const ParzenEstimator above(space, std::move(others.columns), bandwidth);
    const Columns points = below.sample(context.rng, static_cast<size_t>(options_.candidates));
    const std::vector<double> likely = below.log_pdf(points), unlikely = above.log_pdf(points);
    // Where the best of all violates constraints, the best of those that do not.
    std::optional<size_t> found;
    for (const bool all : {false, true})
      for (size_t i = 0; i < likely.size() && !(all && found); ++i) {
        const bool better = !found || likely[i] - unlikely[i] > likely[*found] - unlikely[*found];
        if (better && (all || violation(context, names, space, points, i) == 0)) found = i;
      }
    const size_t best = *found;
    std::vector<double> values;
    for (const std::vector<double>& column : points) values.push_back(column[best]);
    return values;
  }

  static double violation(const SampleContext& context, const std::vector<std::string>& names,
                          const std::vector<DistributionPtr>& space, const Columns& points, size_t i) {
    if (!context.space || context.space->constraints().empty()) return 0;
    std::vector<TrialParameter> chosen = context.trial.parameters;
    for (size_t k = 0; k < names.size(); ++k) chosen.push_back({names[k], points[k][i], space[k]});
    return context.space->violation(chosen);
  }

  // As Optuna's workers do: what was chosen and is not yet asked for, as JSON in pieces of what a column of theirs
  // holds.
  static void tell_others(const SampleContext& context, std::span<const TrialParameter> chosen) {
    constexpr size_t kPiece = 2045;
    Json values = Json::object();
    for (const TrialParameter& p : chosen) values[p.name] = p.distribution->outside(p.value);
    const std::string text = python_json(values);
    for (size_t i = 0; i * kPiece < text.size(); ++i)
      context.set_system("tpe:relative_params:" + std::to_string(i), text.substr(i * kPiece, kPiece));
  }

  TpeOptions options_;
  std::map<int, TpeHistory> histories_;  // by bracket
  TpeHistory::Split split_;
  std::vector<double> weights_;
  int64_t updated_for_ = -1;
};

}  // namespace

std::span<const OptionField<TpeOptions>> TpeOptions::fields() { return kFields; }

extern constinit const SamplerDef tpe_sampler_def{
    .name = "tpe",
    .doc = "tree-structured Parzen estimators of good trials and of others",
    .options = &option_table<TpeOptions>,
    .make = [](const std::any& options, uint64_t) -> std::unique_ptr<Sampler> {
      return std::make_unique<TpeSampler>(std::any_cast<const TpeOptions&>(options));
    }};

}  // namespace hone
