// Hyperband: several successive halvings side by side, which begin to decide at different steps. A trial's bracket
// follows from the study's name and its number, as in Optuna, so that all workers agree; samplers see one bracket
// alone. Li et al., "Hyperband" (2018).
#include <zlib.h>

#include <cmath>

#include "base/error.h"
#include "study/pruners/successive_halving.h"

namespace hone {
namespace {

struct HyperbandOptions {
  int64_t min_resource = 1, max_resource = 0, reduction = 3, bootstrap = 0;
  static constexpr const char* kPass = "hyperband";
  static std::span<const OptionField<HyperbandOptions>> fields();
};

constexpr OptionField<HyperbandOptions> kFields[] = {
    {"min-resource", "steps before the first decision of the first bracket", &HyperbandOptions::min_resource},
    {"max-resource", "steps of a whole trial; 0: what the first complete one took", &HyperbandOptions::max_resource},
    {"reduction", "one in so many goes on", &HyperbandOptions::reduction},
    {"bootstrap", "trials that a rung ends before any goes beyond it", &HyperbandOptions::bootstrap},
};

class HyperbandPruner : public Pruner {
 public:
  explicit HyperbandPruner(const HyperbandOptions& o) : options_(o) {
    if (o.min_resource < 1) fail("min-resource is {}; accepted: 1 and more", o.min_resource);
    if (o.max_resource != 0 && o.max_resource < o.min_resource)
      fail("max-resource {} is below min-resource {}", o.max_resource, o.min_resource);
    if (o.reduction < 2) fail("reduction is {}; accepted: 2 and more", o.reduction);
    if (o.bootstrap < 0) fail("bootstrap is {}; accepted: 0 and more", o.bootstrap);
    if (o.bootstrap > 0 && o.max_resource == 0) fail("bootstrap needs a max-resource; give one");
  }

  bool prune(const PruneContext& context) override {
    if (context.study.bracket < 0) return false;  // how long a trial takes is not known yet
    return halve(context, {.min_resource = options_.min_resource,
                           .reduction = options_.reduction,
                           .early_stopping_rate = context.study.bracket,
                           .bootstrap = options_.bootstrap});
  }

  int bracket(const StudyView& study, int64_t number) override {
    if (budgets_.empty()) set_budgets(study);
    if (budgets_.empty()) return -1;
    const std::string name = std::string(study.name) + "_" + std::to_string(number);
    auto n =
        static_cast<int64_t>(crc32(0, reinterpret_cast<const Bytef*>(name.data()), static_cast<uInt>(name.size()))) %
        total_;
    for (size_t b = 0; b < budgets_.size(); ++b)
      if ((n -= budgets_[b]) < 0) return static_cast<int>(b);
    return -1;
  }

 private:
  void set_budgets(const StudyView& study) {
    int64_t most = options_.max_resource;
    if (most == 0) {
      const std::optional<int64_t> steps = steps_of_first_complete(study);
      if (!steps) return;
      most = *steps + 1;
    }
    // floor(log_reduction(most / least)) + 1, counted, as logarithms round.
    int64_t brackets = 1;
    for (int64_t r = options_.min_resource; r <= most / options_.reduction; r *= options_.reduction) ++brackets;
    for (int64_t s = brackets - 1; s >= 0; --s) {
      budgets_.push_back(static_cast<int64_t>(std::ceil(
          static_cast<double>(brackets) * std::pow(static_cast<double>(options_.reduction), static_cast<double>(s)) /
          static_cast<double>(s + 1))));
      total_ += budgets_.back();
    }
  }

  HyperbandOptions options_;
  std::vector<int64_t> budgets_;
  int64_t total_ = 0;
};

}  // namespace

std::span<const OptionField<HyperbandOptions>> HyperbandOptions::fields() { return kFields; }

extern constinit const PrunerDef hyperband_pruner_def{
    .name = "hyperband",
    .doc = "several successive halvings that begin to decide at different steps",
    .options = &option_table<HyperbandOptions>,
    .make = [](const std::any& options) -> std::unique_ptr<Pruner> {
      return std::make_unique<HyperbandPruner>(std::any_cast<const HyperbandOptions&>(options));
    }};

}  // namespace hone
