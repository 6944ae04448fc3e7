// CMA-ES over the numbers of a space, scaled to [0, 1]; categories, and what only exists under a condition, are drawn
// at random. Each trial carries its generation and point, so that the state follows from the trials, however often a
// study was stopped and by whatever worker.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/error.h"
#include "study/sampler.h"
#include "study/samplers/cma.h"

namespace hone {
namespace {

struct CmaesOptions {
  double sigma = 1.0 / 6;
  int64_t population = 0;
  static constexpr const char* kPass = "cmaes";
  static std::span<const OptionField<CmaesOptions>> fields();
};

constexpr OptionField<CmaesOptions> kFields[] = {
    {"sigma", "standard deviation at first, as a share of ranges", &CmaesOptions::sigma},
    {"population", "trials of a generation; 0: 4 + 3 ln(parameters)", &CmaesOptions::population},
};

constexpr const char* kState = "hone:cma";  // {"generation": 3, "x": [0.2, 0.7]}

// A range as [0, 1]: steps get equal shares, logarithms are taken.
double to_unit(const Distribution& d, double value) {
  const double half = d.step / 2, low = d.low - half, high = d.high + half;
  if (d.log) return (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
  return (value - low) / (high - low);
}

class CmaesSampler : public Sampler {
 public:
  explicit CmaesSampler(const CmaesOptions& o) : options_(o) {
    if (!(o.sigma > 0 && o.sigma <= 1)) fail("sigma is {}; accepted: above 0, at most 1", o.sigma);
    if (o.population != 0 && o.population < 4) fail("population is {}; accepted: 0, and 4 and more", o.population);
  }

  std::vector<TrialParameter> relative(const SampleContext& context) override {
    if (context.study.directions.size() != 1) fail("cmaes is for one objective; nsga2 and tpe are for several");
    const std::vector<TrialParameter> space = numbers_of(context);
    if (space.empty()) return {};
    const Cma cma = state_of(context.study, space);
    // Points out of the range are drawn again, and in the end moved to its edge.
    std::vector<double> x;
    const auto inside = [&] { return std::ranges::all_of(x, [](double v) { return v >= 0 && v <= 1; }); };
    const size_t tries = 10 * space.size();
    for (size_t i = 0; i < tries; ++i)
      if (x = cma.sample(context.rng); inside()) break;
    for (double& v : x) v = std::clamp(v, 0.0, 1.0);
    context.set_system(kState, {{"generation", cma.generation()}, {"x", x}});
    std::vector<TrialParameter> chosen = space;
    constexpr double kBelowOne = 0x1.fffffffffffffp-1;
    for (size_t i = 0; i < space.size(); ++i)
      chosen[i].value = value_at_quantile(*space[i].distribution, std::min(x[i], kBelowOne));
    return chosen;
  }

  double independent(const SampleContext& context, const std::string&, const DistributionPtr& distribution) override {
    return uniform_value(*distribution, context.rng);
  }

 private:
  // The numbers that every trial has: of the space, or, where that is not known, of the first complete trial.
  std::vector<TrialParameter> numbers_of(const SampleContext& context) {
    if (numbers_.empty() && context.space) {
      for (const SpaceParameter& p : context.space->parameters())
        if (p.when.empty()) numbers_.push_back({p.name, 0, std::make_shared<const Distribution>(p.distribution)});
    } else if (numbers_.empty()) {
      for (const TrialPtr& trial : context.study.trials)
        if (trial->state == TrialState::complete && numbers_.empty()) numbers_ = trial->parameters;
    }
    std::erase_if(numbers_,
                  [](const TrialParameter& p) { return p.distribution->is_category() || p.distribution->is_single(); });
    return numbers_;
  }

  Cma state_of(const StudyView& study, const std::vector<TrialParameter>& space) const {
    struct Told {
      double violation, loss;
      std::vector<double> x;
    };
    std::map<int64_t, std::vector<Told>> generations;
    for (const TrialPtr& trial : study.trials) {
      if (trial->state != TrialState::complete || trial->values.size() != 1 || !trial->system_attributes.is_object())
        continue;
      const auto at = trial->system_attributes.find(kState);
      if (at == trial->system_attributes.end()) continue;
      std::vector<double> x = json_get<std::vector<double>>(*at, "x", "trial " + std::to_string(trial->number));
      if (x.size() != space.size()) continue;  // of another space
      for (size_t i = 0; i < x.size(); ++i)    // an enqueued value may have replaced the drawn one
        if (const TrialParameter* p = trial->find(space[i].name);
            p && value_at_quantile(*space[i].distribution, x[i]) != p->value &&
            p->value >= space[i].distribution->low && p->value <= space[i].distribution->high)
          x[i] = to_unit(*space[i].distribution, p->value);
      generations[json_get<int64_t>(*at, "generation", "trial")].push_back(
          {trial->violation(), study.directions[0] == Direction::maximize ? -trial->values[0] : trial->values[0],
           std::move(x)});
    }
    Cma cma(std::vector<double>(space.size(), 0.5), options_.sigma, options_.population);
    for (;;) {
      std::vector<Told>& told = generations[cma.generation()];
      if (told.size() < cma.population()) return cma;
      told.resize(cma.population());  // more workers than a generation has trials: the later ones are of no use
      std::ranges::stable_sort(told, {}, [](const Told& t) { return std::pair(t.violation, t.loss); });
      std::vector<std::vector<double>> points;
      for (const Told& t : told) points.push_back(t.x);
      cma.tell(points);
    }
  }

  CmaesOptions options_;
  std::vector<TrialParameter> numbers_;
};

}  // namespace

std::span<const OptionField<CmaesOptions>> CmaesOptions::fields() { return kFields; }

extern constinit const SamplerDef cmaes_sampler_def{
    .name = "cmaes",
    .doc = "covariance matrix adaptation, over numbers and for one objective",
    .options = &option_table<CmaesOptions>,
    .make = [](const std::any& options, uint64_t) -> std::unique_ptr<Sampler> {
      return std::make_unique<CmaesSampler>(std::any_cast<const CmaesOptions&>(options));
    }};

}  // namespace hone
