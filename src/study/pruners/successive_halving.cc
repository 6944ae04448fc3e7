#include "study/pruners/successive_halving.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hone {
namespace {

std::string rung_key(int64_t rung) { return "completed_rung_" + std::to_string(rung); }

// What other trials, in any state, had at this rung.
std::vector<double> competitors(const PruneContext& context, const std::string& key) {
  std::vector<double> values;
  for (const TrialPtr& trial : context.study.trials) {
    if (trial->number == context.trial.number || !trial->system_attributes.is_object()) continue;
    const auto at = trial->system_attributes.find(key);
    if (at != trial->system_attributes.end() && at->is_number()) values.push_back(at->get<double>());
  }
  return values;
}

bool is_promoted(double value, std::vector<double> competing, int64_t reduction, bool maximize) {
  const auto best = static_cast<size_t>(std::max<int64_t>(static_cast<int64_t>(competing.size()) / reduction, 1)) - 1;
  std::ranges::sort(competing);
  return maximize ? value >= competing[competing.size() - 1 - best] : value <= competing[best];
}

struct NamedOptions : HalvingOptions {
  static constexpr const char* kPass = "successive-halving";
  static std::span<const OptionField<NamedOptions>> fields();
};

constexpr OptionField<NamedOptions> kFields[] = {
    {"min-resource", "steps before the first decision; 0: a hundredth of what the first complete trial took",
     &NamedOptions::min_resource},
    {"reduction", "one in so many goes on", &NamedOptions::reduction},
    {"early-stopping-rate", "how many rungs are left out at the beginning", &NamedOptions::early_stopping_rate},
    {"bootstrap", "trials that a rung ends before any goes beyond it", &NamedOptions::bootstrap},
};

class HalvingPruner : public Pruner {
 public:
  explicit HalvingPruner(const HalvingOptions& o) : options_(o) {
    if (o.min_resource < 0 || o.early_stopping_rate < 0 || o.bootstrap < 0)
      fail("min-resource, early-stopping-rate and bootstrap are 0 or more");
    if (o.reduction < 2) fail("reduction is {}; accepted: 2 and more", o.reduction);
    if (o.bootstrap > 0 && o.min_resource == 0) fail("bootstrap needs a min-resource; give one");
  }
  bool prune(const PruneContext& context) override { return halve(context, options_); }

 private:
  HalvingOptions options_;
};

}  // namespace

std::optional<int64_t> steps_of_first_complete(const StudyView& study) {
  for (const TrialPtr& trial : study.trials)
    if (trial->state == TrialState::complete && !trial->intermediate.empty()) return trial->intermediate.back().first;
  return std::nullopt;
}

bool halve(const PruneContext& context, const HalvingOptions& options) {
  const auto [step, value] = context.trial.intermediate.back();
  int64_t least = options.min_resource;
  if (least == 0) {
    const std::optional<int64_t> steps = steps_of_first_complete(context.study);
    if (!steps) return false;
    least = std::max<int64_t>(*steps / 100, 1);
  }
  const Json& attributes = context.trial.system_attributes;
  int64_t rung = 0;
  while (attributes.is_object() && attributes.contains(rung_key(rung))) ++rung;
  for (;; ++rung) {
    const double at = static_cast<double>(least) * std::pow(static_cast<double>(options.reduction),
                                                            static_cast<double>(options.early_stopping_rate + rung));
    if (static_cast<double>(step) < at) return false;
    if (std::isnan(value)) return true;
    std::vector<double> competing = competitors(context, rung_key(rung));
    context.set_system(rung_key(rung), value);
    competing.push_back(value);
    if (static_cast<int64_t>(competing.size()) <= options.bootstrap) return true;
    if (!is_promoted(value, std::move(competing), options.reduction, context.maximizes())) return true;
  }
}

std::span<const OptionField<NamedOptions>> NamedOptions::fields() { return kFields; }

extern constinit const PrunerDef successive_halving_pruner_def{
    .name = "successive-halving",
    .doc = "ASHA: at each rung the best share goes on",
    .options = &option_table<NamedOptions>,
    .make = [](const std::any& options) -> std::unique_ptr<Pruner> {
      return std::make_unique<HalvingPruner>(std::any_cast<const NamedOptions&>(options));
    }};

}  // namespace hone
