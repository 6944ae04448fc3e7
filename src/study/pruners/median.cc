// A trial goes on while its best report is not worse than the median of complete trials at this step.
#include "study/pruners/percentile.h"

namespace hone {
namespace {

struct MedianOptions {
  int64_t startup = 5, warmup = 0, interval = 1, least = 1;
  static constexpr const char* kPass = "median";
  static std::span<const OptionField<MedianOptions>> fields();
};

constexpr OptionField<MedianOptions> kFields[] = {
    {"startup", "complete trials before any is pruned", &MedianOptions::startup},
    {"warmup", "steps of each trial that are not looked at", &MedianOptions::warmup},
    {"interval", "steps between two looks", &MedianOptions::interval},
    {"least", "reports of other trials at a step that are enough to compare with", &MedianOptions::least},
};

}  // namespace

std::span<const OptionField<MedianOptions>> MedianOptions::fields() { return kFields; }

extern constinit const PrunerDef median_pruner_def{
    .name = "median",
    .doc = "goes on while not worse than the median of complete trials at the same step",
    .options = &option_table<MedianOptions>,
    .make = [](const std::any& options) {
      const auto& o = std::any_cast<const MedianOptions&>(options);
      return percentile_pruner({50, o.startup, o.warmup, o.interval, o.least});
    }};

}  // namespace hone
