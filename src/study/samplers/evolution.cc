// Evolution by level switches: a trial is the best one so far with some parameters a level up and as many a level down,
// so that what a budget allows stays about what is used. Choices of a category are taken to be in ascending order.
// Sieberling et al., "EvoPress" (2024).
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "study/sampler.h"
#include "study/study.h"

namespace hone {
namespace {

void check_balance(const std::string& text) {
  if (text != "auto" && text != "true" && text != "false") fail("expected auto, true or false, found \"{}\"", text);
}

struct EvolutionOptions {
  int64_t startup = 1;
  double switches = 0.5, spread = 0.1;
  std::string balance = "auto";
  static constexpr const char* kPass = "evolution";
  static std::span<const OptionField<EvolutionOptions>> fields();
};

constexpr OptionField<EvolutionOptions> kFields[] = {
    {"startup", "trials that are drawn at random first", &EvolutionOptions::startup},
    {"switches", "how many switches, on average, there are besides the first", &EvolutionOptions::switches},
    {"spread", "standard deviation of a step of a continuum, as a share of its range", &EvolutionOptions::spread},
    {"balance", "each step up comes with a step down; auto: where the space has constraints",
     &EvolutionOptions::balance, check_balance},
};

class EvolutionSampler : public Sampler {
 public:
  explicit EvolutionSampler(const EvolutionOptions& o) : options_(o) {
    if (o.startup < 0) fail("startup is {}; accepted: 0 and more", o.startup);
    if (!(o.switches >= 0 && o.switches <= 1000)) fail("switches is {}; accepted: 0 to 1000", o.switches);
    if (!(o.spread > 0 && o.spread <= 1)) fail("spread is {}; accepted: above 0, at most 1", o.spread);
  }

  std::vector<TrialParameter> relative(const SampleContext& context) override {
    const auto finished = std::ranges::count_if(context.study.trials, [](const TrialPtr& t) {
      return t->state == TrialState::complete || t->state == TrialState::pruned;
    });
    const TrialList best = pareto_front(context.study.trials, context.study.directions);
    if (finished < options_.startup || best.empty()) return {};
    const TrialRecord& parent = *best[context.rng.below(static_cast<uint32_t>(best.size()))];
    const bool balanced = options_.balance == "auto" ? context.space && !context.space->constraints().empty()
                                                     : options_.balance == "true";
    // What was tried once says nothing new; where nearly all was, it is nevertheless what there is.
    constexpr int kTries = 50;
    std::vector<TrialParameter> child;
    for (int i = 0; i < kTries; ++i) {
      child = mutated(parent.parameters, balanced, context);
      if (!was_tried(context.study.trials, child)) break;
    }
    return child;
  }

  double independent(const SampleContext& context, const std::string&, const DistributionPtr& distribution) override {
    return uniform_value(*distribution, context.rng);
  }

 private:
  std::vector<TrialParameter> mutated(std::vector<TrialParameter> child, bool balanced,
                                      const SampleContext& context) const {
    Philox& rng = context.rng;
    int switches = 1;
    for (double left = std::exp(-options_.switches), u = rng.uniform(), term = left; u >= left && switches < 1000;
         ++switches) {
      term *= options_.switches / switches;  // Poisson, by its cumulative distribution
      left += term;
      if (term < 1e-300) break;
    }
    std::vector<bool> touched(child.size());
    for (int i = 0; i < switches; ++i) {
      const double sign = rng.next() & 1 ? 1 : -1;
      if (!move_one(child, touched, sign, rng) || !balanced) continue;
      // Levels cost unlike amounts: as many go the other way as the constraints ask for.
      const auto violates = [&] { return context.space && context.space->violation(child) > 0; };
      while (move_one(child, touched, -sign, rng) && violates()) {
      }
    }
    return child;
  }

  // One that can go this way and was not moved yet; whether there is one.
  bool move_one(std::vector<TrialParameter>& child, std::vector<bool>& touched, double sign, Philox& rng) const {
    std::vector<size_t> able;
    for (size_t i = 0; i < child.size(); ++i)
      if (!touched[i] && moved(child[i], sign, 1) != child[i].value) able.push_back(i);
    if (able.empty()) return false;
    const size_t chosen = able[rng.below(static_cast<uint32_t>(able.size()))];
    touched[chosen] = true;
    child[chosen].value = moved(child[chosen], sign, std::abs(static_cast<double>(rng.normal())));
    return true;
  }

  // A step of a finite parameter is one level; of a continuum, or of the whole numbers of a logarithm, `size` spreads.
  double moved(const TrialParameter& p, double sign, double size) const {
    const Distribution& d = *p.distribution;
    if (d.is_category() || (d.step != 0 && !d.log)) {
      const double next = p.value + sign * (d.is_category() ? 1 : d.step);
      const auto level = static_cast<int64_t>(std::llround((next - d.low) / (d.is_category() ? 1 : d.step)));
      return level < 0 || level >= d.size() ? p.value : d.value_at(level);
    }
    const double step = sign * size * options_.spread;
    if (!d.log) return std::clamp(p.value + step * (d.high - d.low), d.low, d.high);
    const double value = std::exp(std::log(p.value) + step * (std::log(d.high) - std::log(d.low)));
    if (d.kind == DistributionKind::real) return std::clamp(value, d.low, d.high);
    const double whole = sign > 0 ? std::max(std::round(value), p.value + 1) : std::min(std::round(value), p.value - 1);
    return std::clamp(whole, d.low, d.high);
  }

  static bool was_tried(std::span<const TrialPtr> trials, const std::vector<TrialParameter>& child) {
    return std::ranges::any_of(trials, [&](const TrialPtr& t) {
      return t->parameters.size() == child.size() && t->state != TrialState::failed &&
             std::ranges::all_of(child, [&](const TrialParameter& p) {
               const TrialParameter* other = t->find(p.name);
               return other && other->value == p.value;
             });
    });
  }

  EvolutionOptions options_;
};

}  // namespace

std::span<const OptionField<EvolutionOptions>> EvolutionOptions::fields() { return kFields; }

extern constinit const SamplerDef evolution_sampler_def{
    .name = "evolution",
    .doc = "the best trial with some parameters a level up and others a level down",
    .options = &option_table<EvolutionOptions>,
    .make = [](const std::any& options, uint64_t) -> std::unique_ptr<Sampler> {
      return std::make_unique<EvolutionSampler>(std::any_cast<const EvolutionOptions&>(options));
    }};

}  // namespace hone
