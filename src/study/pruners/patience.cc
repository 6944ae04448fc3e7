// Ends a trial that has not become better for a while: the best of its last reports is not better, by min-delta, than
// what came before. As Optuna's PatientPruner without another one inside.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "study/pruner.h"

namespace hone {
namespace {

struct PatienceOptions {
  int64_t patience = 5;
  double min_delta = 0;
  static constexpr const char* kPass = "patience";
  static std::span<const OptionField<PatienceOptions>> fields();
};

constexpr OptionField<PatienceOptions> kFields[] = {
    {"patience", "reports without improvement that are borne", &PatienceOptions::patience},
    {"min-delta", "how much better counts as better", &PatienceOptions::min_delta},
};

class PatiencePruner : public Pruner {
 public:
  explicit PatiencePruner(const PatienceOptions& o) : options_(o) {
    if (o.patience < 0) fail("patience is {}; accepted: 0 and more", o.patience);
    if (!(o.min_delta >= 0)) fail("min-delta is {}; accepted: 0 and more", o.min_delta);
  }

  bool prune(const PruneContext& context) override {
    const auto& reports = context.trial.intermediate;
    const auto window = static_cast<size_t>(options_.patience) + 1;
    if (reports.size() <= window) return false;
    const double sign = context.maximizes() ? -1 : 1;
    const auto best = [&](size_t begin, size_t end) {
      double least = std::numeric_limits<double>::quiet_NaN();
      for (size_t i = begin; i < end; ++i) least = std::fmin(least, sign * reports[i].second);  // passes over NaN
      return least;
    };
    const size_t split = reports.size() - window;
    return best(0, split) + options_.min_delta < best(split, reports.size());
  }

 private:
  PatienceOptions options_;
};

}  // namespace

std::span<const OptionField<PatienceOptions>> PatienceOptions::fields() { return kFields; }

extern constinit const PrunerDef patience_pruner_def{
    .name = "patience",
    .doc = "ends what has not become better for some reports",
    .options = &option_table<PatienceOptions>,
    .make = [](const std::any& options) -> std::unique_ptr<Pruner> {
      return std::make_unique<PatiencePruner>(std::any_cast<const PatienceOptions&>(options));
    }};

}  // namespace hone
