// NSGA-II: generations of trials, of which the next one's parents are those that no other dominates, and of these the
// ones that lie apart. Generations are counted in the trials as Optuna's NSGAIISampler counts them.
// Deb et al., "A fast and elitist multiobjective genetic algorithm" (2002).
#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "study/domination.h"
#include "study/sampler.h"

namespace hone {
namespace {

struct Nsga2Options {
  int64_t population = 50;
  double crossover = 0.9, swapping = 0.5, mutation = -1;
  static constexpr const char* kPass = "nsga2";
  static std::span<const OptionField<Nsga2Options>> fields();
};

constexpr OptionField<Nsga2Options> kFields[] = {
    {"population", "trials of a generation", &Nsga2Options::population},
    {"crossover", "share of trials that have two parents", &Nsga2Options::crossover},
    {"swapping", "share of parameters that come from the second one", &Nsga2Options::swapping},
    {"mutation", "share of parameters that are drawn anew; -1: one of them", &Nsga2Options::mutation},
};

constexpr const char* kGeneration = "NSGAIISampler:generation";

int64_t generation_of(const TrialRecord& trial) {
  if (!trial.system_attributes.is_object()) return -1;
  const auto at = trial.system_attributes.find(kGeneration);
  const bool counts = at != trial.system_attributes.end() && at->is_number_integer();
  return counts ? std::clamp<int64_t>(at->get<int64_t>(), -1, int64_t{1} << 40) : -1;
}

class Nsga2Sampler : public Sampler {
 public:
  explicit Nsga2Sampler(const Nsga2Options& o) : options_(o) {
    if (o.population < 2) fail("population is {}; accepted: 2 and more", o.population);
    for (double share : {o.crossover, o.swapping})
      if (!(share >= 0 && share <= 1)) fail("crossover and swapping are shares from 0 to 1, found {}", share);
    if (o.mutation != -1 && !(o.mutation >= 0 && o.mutation <= 1))
      fail("mutation is a share from 0 to 1 or -1, found {}", o.mutation);
  }

  std::vector<TrialParameter> relative(const SampleContext& context) override {
    std::map<int64_t, TrialList> generations;
    for (const TrialPtr& trial : context.study.trials)
      if (trial->state == TrialState::complete && trial->values.size() == context.study.directions.size())
        if (const int64_t g = generation_of(*trial); g >= 0) generations[g].push_back(trial);
    int64_t generation = 0;
    if (!generations.empty()) {
      generation = generations.rbegin()->first;
      if (static_cast<int64_t>(generations.rbegin()->second.size()) >= options_.population) ++generation;
    }
    context.set_system(kGeneration, generation);
    if (generation == 0) return {};
    return child(context, parents(context, generations, generation));
  }

  double independent(const SampleContext& context, const std::string&, const DistributionPtr& distribution) override {
    return uniform_value(*distribution, context.rng);
  }

 private:
  // The best of the generation before and of its parents. Kept by bracket and generation.
  TrialList parents(const SampleContext& context, const std::map<int64_t, TrialList>& generations, int64_t generation) {
    TrialList best;
    for (const auto& [g, members] : generations) {
      if (g >= generation) break;
      const auto [at, added] = parents_.try_emplace({context.study.bracket, g + 1});
      if (added) {
        best.insert(best.end(), members.begin(), members.end());
        at->second = best_of(std::move(best), context.study.directions);
      }
      best = at->second;
    }
    return best;
  }

  TrialList best_of(TrialList trials, std::span<const Direction> directions) const {
    const auto count = static_cast<size_t>(options_.population);
    std::ranges::stable_sort(trials, {}, [](const TrialPtr& t) { return t->violation(); });
    const auto feasible_end = std::ranges::find_if(trials, [](const TrialPtr& t) { return t->violation() > 0; });
    const TrialList feasible(trials.begin(), feasible_end);
    const Points points = losses_of(feasible, directions);
    const std::vector<int> ranks = domination_ranks(points);
    TrialList chosen;
    for (int rank = 0; chosen.size() < std::min(count, feasible.size()); ++rank) {
      std::vector<size_t> front;
      Points of_front;
      for (size_t i = 0; i < feasible.size(); ++i)
        if (ranks[i] == rank) front.push_back(i), of_front.push_back(points[i]);
      std::vector<size_t> order(front.size());
      std::iota(order.begin(), order.end(), size_t{0});
      if (front.size() > count - chosen.size()) {
        const std::vector<double> apart = crowding_distances(of_front);
        std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return apart[i]; });
        order.resize(count - chosen.size());
      }
      for (size_t i : order) chosen.push_back(feasible[front[i]]);
    }
    for (auto at = feasible_end; at != trials.end() && chosen.size() < count; ++at) chosen.push_back(*at);
    return chosen;
  }

  // The better of two: feasible before infeasible, then by domination; the second where neither is.
  static const TrialPtr& tournament(const TrialList& trials, std::span<const Direction> directions, Philox& rng) {
    const TrialPtr& a = trials[rng.below(static_cast<uint32_t>(trials.size()))];
    const TrialPtr& b = trials[rng.below(static_cast<uint32_t>(trials.size()))];
    const double va = a->violation(), vb = b->violation();
    if (va != vb) return va < vb ? a : b;
    const Points points = losses_of(TrialList{a, b}, directions);
    return dominates(points[0], points[1]) ? a : b;
  }

  std::vector<TrialParameter> child(const SampleContext& context, const TrialList& parents) const {
    Philox& rng = context.rng;
    if (parents.empty()) return {};
    std::vector<TrialParameter> parameters;
    if (rng.uniform() < options_.crossover && parents.size() > 1) {
      const TrialPtr& first = tournament(parents, context.study.directions, rng);
      TrialList rest = parents;
      std::erase(rest, first);
      const TrialPtr& second = tournament(rest, context.study.directions, rng);
      parameters = first->parameters;
      for (TrialParameter& p : parameters) {
        const TrialParameter* other = second->find(p.name);
        if (other && rng.uniform() >= options_.swapping) p = *other;
      }
      for (const TrialParameter& p : second->parameters)  // what only it has: it counts where its condition holds
        if (!first->find(p.name)) parameters.push_back(p);
    } else {
      parameters = parents[rng.below(static_cast<uint32_t>(parents.size()))]->parameters;
    }
    const double share =
        options_.mutation >= 0 ? options_.mutation : 1.0 / static_cast<double>(std::max<size_t>(parameters.size(), 1));
    std::erase_if(parameters, [&](const TrialParameter&) { return rng.uniform() < share; });
    return parameters;
  }

  Nsga2Options options_;
  std::map<std::pair<int, int64_t>, TrialList> parents_;
};

}  // namespace

std::span<const OptionField<Nsga2Options>> Nsga2Options::fields() { return kFields; }

extern constinit const SamplerDef nsga2_sampler_def{
    .name = "nsga2",
    .doc = "NSGA-II: generations, for one objective or several",
    .options = &option_table<Nsga2Options>,
    .make = [](const std::any& options, uint64_t) -> std::unique_ptr<Sampler> {
      return std::make_unique<Nsga2Sampler>(std::any_cast<const Nsga2Options&>(options));
    }};

}  // namespace hone
