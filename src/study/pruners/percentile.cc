#include "study/pruners/percentile.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace hone {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// Linear between the two nearest, as numpy.percentile; p in percent.
double percentile_of(std::vector<double> values, double p) {
  std::ranges::sort(values);
  const double place = p / 100 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const double share = place - static_cast<double>(below);
  if (below + 1 >= values.size() || share == 0) return values[below];
  return values[below] + share * (values[below + 1] - values[below]);
}

double best_report(const TrialRecord& trial, bool maximize) {
  double best = kMissing;
  for (const auto& [step, value] : trial.intermediate)
    if (!std::isnan(value) && (std::isnan(best) || (maximize ? value > best : value < best))) best = value;
  return best;
}

class PercentilePruner : public Pruner {
 public:
  explicit PercentilePruner(const PercentileOptions& o) : options_(o) {
    if (!(o.percentile >= 0 && o.percentile <= 100)) fail("percentile is {}; accepted: 0 to 100", o.percentile);
    if (o.startup < 0 || o.warmup < 0 || o.interval < 1 || o.least < 1)
      fail("startup and warmup are 0 or more, interval and least 1 or more");
  }

  bool prune(const PruneContext& context) override {
    const int64_t step = context.trial.intermediate.back().first;
    std::vector<double> others;
    int64_t complete = 0;
    for (const TrialPtr& trial : context.study.trials) {
      if (trial->state != TrialState::complete) continue;
      ++complete;
      for (const auto& [at, value] : trial->intermediate)
        if (at == step && !std::isnan(value)) others.push_back(value);
    }
    if (complete == 0 || complete < options_.startup || step < options_.warmup) return false;
    if (!is_first_in_interval(context.trial, options_.warmup, options_.interval)) return false;
    const double best = best_report(context.trial, context.maximizes());
    if (std::isnan(best)) return true;
    if (others.empty() || static_cast<int64_t>(others.size()) < options_.least) return false;
    const double bar =
        percentile_of(std::move(others), context.maximizes() ? 100 - options_.percentile : options_.percentile);
    return context.maximizes() ? best < bar : best > bar;
  }

 private:
  PercentileOptions options_;
};

struct NamedOptions : PercentileOptions {
  static constexpr const char* kPass = "percentile";
  static std::span<const OptionField<NamedOptions>> fields();
};

constexpr OptionField<NamedOptions> kFields[] = {
    {"percentile", "how many percent of trials are better than what may go on", &NamedOptions::percentile},
    {"startup", "complete trials before any is pruned", &NamedOptions::startup},
    {"warmup", "steps of each trial that are not looked at", &NamedOptions::warmup},
    {"interval", "steps between two looks", &NamedOptions::interval},
    {"least", "reports of other trials at a step that are enough to compare with", &NamedOptions::least},
};

}  // namespace

std::span<const OptionField<NamedOptions>> NamedOptions::fields() { return kFields; }

bool is_first_in_interval(const TrialRecord& trial, int64_t warmup, int64_t interval) {
  const auto& reports = trial.intermediate;
  const int64_t step = reports.back().first;
  if (step < warmup) return false;
  const int64_t begin = warmup + (step - warmup) / interval * interval;
  return reports.size() < 2 || reports[reports.size() - 2].first < begin;
}

std::unique_ptr<Pruner> percentile_pruner(const PercentileOptions& options) {
  return std::make_unique<PercentilePruner>(options);
}

extern constinit const PrunerDef percentile_pruner_def{
    .name = "percentile",
    .doc = "goes on while among the best percent of complete trials at the same step",
    .options = &option_table<NamedOptions>,
    .make = [](const std::any& options) { return percentile_pruner(std::any_cast<const NamedOptions&>(options)); }};

}  // namespace hone
