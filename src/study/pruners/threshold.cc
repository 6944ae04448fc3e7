// Ends a trial whose report is NaN or leaves a range.
#include <cmath>
#include <limits>

#include "base/error.h"
#include "study/pruners/percentile.h"

namespace hone {
namespace {

struct ThresholdOptions {
  double lower = -std::numeric_limits<double>::infinity(), upper = std::numeric_limits<double>::infinity();
  int64_t warmup = 0, interval = 1;
  static constexpr const char* kPass = "threshold";
  static std::span<const OptionField<ThresholdOptions>> fields();
};

constexpr OptionField<ThresholdOptions> kFields[] = {
    {"lower", "reports below this end a trial", &ThresholdOptions::lower},
    {"upper", "reports above this end a trial", &ThresholdOptions::upper},
    {"warmup", "steps of each trial that are not looked at", &ThresholdOptions::warmup},
    {"interval", "steps between two looks", &ThresholdOptions::interval},
};

class ThresholdPruner : public Pruner {
 public:
  explicit ThresholdPruner(const ThresholdOptions& o) : options_(o) {
    if (std::isinf(o.lower) && std::isinf(o.upper)) fail("pruner threshold: give lower, upper or both");
    if (!(o.lower <= o.upper)) fail("pruner threshold: lower {} is above upper {}", o.lower, o.upper);
    if (o.warmup < 0 || o.interval < 1) fail("warmup is 0 or more, interval 1 or more");
  }

  bool prune(const PruneContext& context) override {
    if (!is_first_in_interval(context.trial, options_.warmup, options_.interval)) return false;
    const double value = context.trial.intermediate.back().second;
    return !(value >= options_.lower && value <= options_.upper);
  }

 private:
  ThresholdOptions options_;
};

}  // namespace

std::span<const OptionField<ThresholdOptions>> ThresholdOptions::fields() { return kFields; }

extern constinit const PrunerDef threshold_pruner_def{
    .name = "threshold",
    .doc = "ends what reports NaN or a value out of a range",
    .options = &option_table<ThresholdOptions>,
    .make = [](const std::any& options) -> std::unique_ptr<Pruner> {
      return std::make_unique<ThresholdPruner>(std::any_cast<const ThresholdOptions&>(options));
    }};

}  // namespace hone
