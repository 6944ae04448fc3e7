#include <hone/evaluate.h>

#include <cmath>

#include "api/given_options.h"
#include "api/guarded.h"
#include "api/judged.h"

namespace hone::api {
namespace {

Figure described(const hone::Figure& figure) {
  return {.name = figure.name,
          .title = figure.title,
          .value = figure.estimate.value,
          .ci95 = wrapped(figure.estimate.ci95),
          .samples = figure.estimate.samples,
          .is_share = figure.is_share(),
          .larger_is_better = figure.larger_is_better()};
}

}  // namespace

std::vector<hone::Model> engine(const std::vector<Model>& models) {
  if (models.empty()) fail("no model is given; at least one is needed");
  std::vector<hone::Model> all;
  for (const Model& model : models) all.push_back(engine(model));
  return all;
}

EvaluateResult wrapped(const QualityComparison& comparison) {
  EvaluateResult result{comparison.data, {}, comparison.class_names, comparison.notes};
  for (const ModelQuality& model : comparison.models) {
    EvaluatedModel& evaluated = result.models.emplace_back();
    evaluated.name = model.name, evaluated.sha256 = model.file.sha256, evaluated.file_bytes = model.file.bytes;
    for (const hone::Figure& figure : model.evaluated.figures) evaluated.figures.push_back(described(figure));
    for (const Difference& difference : model.differences)
      evaluated.differences.push_back({difference.value, wrapped(difference.ci95)});
  }
  return result;
}

OutputQuality wrapped(const OutputDistance& distance) {
  OutputQuality quality{.error = distance.error};
  if (std::isfinite(distance.error_ci95.high)) quality.error_ci95 = wrapped(distance.error_ci95);
  if (distance.figure) {
    quality.metric = distance.figure->value;
    quality.metric_ci95 = wrapped(distance.figure->ci95);
  }
  if (distance.difference) quality.difference = {distance.difference->value, wrapped(distance.difference->ci95)};
  return quality;
}

EvaluateResult evaluate(const std::vector<Model>& models, const EvaluateOptions& options, const Task& task) {
  return guarded([&] {
    const std::vector<hone::Model> all = engine(models);
    return wrapped(hone::evaluate(all, options_of<hone::EvaluateOptions>(given(options)), context_of(task)));
  });
}

}  // namespace hone::api
