// A search of few dimensions about measured losses: TPE chooses a factor for each block of parameters, by which their
// losses count, and the knapsack that follows is solved exactly. Every trial keeps the budget; the first one trusts the
// measurements.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "study/samplers/choice_solver.h"
#include "study/samplers/make_sampler.h"

namespace hone {
namespace {

struct IlpTpeOptions {
  int64_t blocks = 8;
  double range = 3;
  static constexpr const char* kPass = "ilp-tpe";
  static std::span<const OptionField<IlpTpeOptions>> fields();
};
constexpr OptionField<IlpTpeOptions> kFields[] = {
    {"blocks", "of parameters that share a factor, one after the other", &IlpTpeOptions::blocks},
    {"range", "largest logarithm of a factor, up and down", &IlpTpeOptions::range},
};

constexpr const char* kPoint = "hone:ilp_tpe";  // {"factors": [0.2, -1.1], "share": 0.7}

class IlpTpeSampler : public Sampler {
 public:
  IlpTpeSampler(const IlpTpeOptions& options, uint64_t seed)
      : options_(options), tpe_(make_sampler("tpe", seed, {{"startup", "4"}, {"multivariate", "true"}})) {
    if (options.blocks < 1 || options.blocks > 64) fail("blocks is {}; accepted: 1 to 64", options.blocks);
    if (!(options.range > 0 && options.range <= 20)) fail("range is {}; accepted: above 0, at most 20", options.range);
  }

  bool learns() const override { return true; }
  void learn(ChoiceTable table) override {
    solver_ = ChoiceSolver(std::move(table));
    const auto range =
        std::make_shared<const Distribution>(real_distribution("factor", -options_.range, options_.range));
    const size_t blocks = std::min(static_cast<size_t>(options_.blocks), solver_.size());
    for (size_t b = 0; b < blocks; ++b) space_.push_back({fmt::format("factor{}", b), 0, range});
    // Of several objectives, or without a budget, what is spent is searched, too.
    share_ = {"share", 1, std::make_shared<const Distribution>(real_distribution("share", 0, 1))};
  }

  std::vector<TrialParameter> relative(const SampleContext& context) override {
    if (!solver_.has_table()) refuse_without_table("ilp-tpe");
    std::vector<TrialParameter> point = space_;
    const bool spends = !solver_.has_budget() || context.study.directions.size() > 1;
    if (spends) point.push_back(share_);
    const TrialList known = points_of(context.study, point);
    std::set<std::vector<int>> tried;
    for (const TrialPtr& t : known) tried.insert(selection_of(t->parameters).chosen);
    if (!known.empty()) choose(context, known, point);
    // What leads to choices that were tried is moved on.
    for (int attempt = 0; attempt < kAttempts && tried.contains(selection_of(point).chosen); ++attempt)
      for (TrialParameter& p : point) {
        const double width = (p.distribution->high - p.distribution->low) * kStep * (1 + attempt);
        p.value = std::clamp(p.value + width * static_cast<double>(context.rng.normal()), p.distribution->low,
                             p.distribution->high);
      }
    context.set_system(kPoint, as_json(point));
    return solver_.parameters(selection_of(point), context.space);
  }

  double independent(const SampleContext& context, const std::string&, const DistributionPtr& distribution) override {
    return uniform_value(*distribution, context.rng);
  }

 private:
  static constexpr int kAttempts = 20;
  static constexpr double kStep = 0.02;  // of the range, growing from attempt to attempt

  Solution selection_of(std::span<const TrialParameter> point) const {
    std::vector<double> factors(solver_.size());
    for (size_t i = 0; i < factors.size(); ++i) factors[i] = std::exp(point[i * space_.size() / factors.size()].value);
    return solver_.solve(point.size() > space_.size() ? point.back().value : 1, factors);
  }

  static Json as_json(std::span<const TrialParameter> point) {
    Json values = Json::object();
    for (const TrialParameter& p : point) values[p.name] = p.value;
    return values;
  }

  // The study as one of the factors.
  static TrialList points_of(const StudyView& study, std::span<const TrialParameter> point) {
    TrialList all;
    for (const TrialPtr& trial : study.trials) {
      if (!trial->system_attributes.is_object() || !trial->system_attributes.contains(kPoint)) continue;
      const Json& values = trial->system_attributes.at(kPoint);
      TrialRecord shadow = *trial;
      shadow.parameters.assign(point.begin(), point.end());
      bool whole = values.is_object();
      for (TrialParameter& p : shadow.parameters) {
        whole = whole && values.contains(p.name) && values.at(p.name).is_number();
        if (whole) p.value = std::clamp(values.at(p.name).get<double>(), p.distribution->low, p.distribution->high);
      }
      if (whole) all.push_back(std::make_shared<const TrialRecord>(std::move(shadow)));
    }
    return all;
  }

  void choose(const SampleContext& context, const TrialList& known, std::vector<TrialParameter>& point) {
    const StudyView view{.name = context.study.name, .directions = context.study.directions, .trials = known};
    TrialRecord trial{.number = context.trial.number};
    Space space;
    for (const TrialParameter& p : point) space.add({p.name, *p.distribution});
    std::vector<std::pair<std::string, Json>> unused;
    const SampleContext inner{view, trial, &space, context.rng, unused};
    const std::vector<TrialParameter> together = tpe_->relative(inner);
    for (TrialParameter& p : point) {
      const auto found = std::ranges::find(together, p.name, &TrialParameter::name);
      p.value = found != together.end() ? found->value : tpe_->independent(inner, p.name, p.distribution);
    }
  }

  IlpTpeOptions options_;
  std::unique_ptr<Sampler> tpe_;
  ChoiceSolver solver_;
  std::vector<TrialParameter> space_;
  TrialParameter share_;
};

}  // namespace

std::span<const OptionField<IlpTpeOptions>> IlpTpeOptions::fields() { return kFields; }

extern constinit const SamplerDef ilp_tpe_sampler_def{
    .name = "ilp-tpe",
    .doc = "TPE over a few factors of measured losses, each point a solution of their knapsack",
    .options = &option_table<IlpTpeOptions>,
    .make = [](const std::any& options, uint64_t seed) -> std::unique_ptr<Sampler> {
      return std::make_unique<IlpTpeSampler>(std::any_cast<const IlpTpeOptions&>(options), seed);
    }};

}  // namespace hone
