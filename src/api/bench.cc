#include "jobs/bench.h"

#include <hone/bench.h>

#include "api/given_options.h"
#include "api/guarded.h"
#include "api/judged.h"

namespace hone::api {
namespace {

TimedModel described(const hone::TimedModel& model) {
  TimedModel timed{.name = model.name,
                   .sha256 = model.file.sha256,
                   .file_bytes = model.file.bytes,
                   .weight_bytes = model.weight_bytes,
                   .arena_bytes = model.arena_bytes,
                   .batch = model.batch,
                   .median_ns = model.timing.p50,
                   .min_ns = model.timing.min,
                   .p90_ns = model.timing.p90,
                   .p99_ns = model.timing.p99,
                   .median_ci95_ns = wrapped(model.timing.median_ci95),
                   .samples_ns = model.timing.samples_ns};
  if (model.comparison)
    timed.comparison = SpeedComparison{.ratio = model.comparison->ratio.value,
                                       .ci95 = wrapped(model.comparison->ratio.ci95),
                                       .cosine = model.comparison->quality.cosine,
                                       .may_claim = model.comparison->may_claim,
                                       .verdict = model.comparison->verdict};
  return timed;
}

}  // namespace

BenchResult bench(const std::vector<Model>& models, const BenchOptions& options, const Task& task) {
  return guarded([&] {
    const std::vector<hone::Model> all = engine(models);
    const hone::BenchResult found = hone::bench(all, options_of<hone::BenchOptions>(given(options)), context_of(task));
    BenchResult result;
    for (const hone::TimedModel& model : found.models) result.models.push_back(described(model));
    if (found.quality) result.evaluation = wrapped(*found.quality);
    result.notes = found.notes;
    return result;
  });
}

}  // namespace hone::api
