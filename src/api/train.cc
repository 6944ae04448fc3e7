#include <hone/train.h>

#include "api/given_options.h"
#include "api/guarded.h"
#include "api/judged.h"
#include "jobs/train_model.h"

namespace hone::api {
namespace {

TrainingEntry described(const LogEntry& entry) {
  return {entry.step, entry.epoch, entry.split, entry.seconds, {entry.values.begin(), entry.values.end()}};
}

}  // namespace

std::optional<ValidationResult> wrapped(const std::optional<Validation>& validation) {
  if (!validation) return std::nullopt;
  ValidationResult result{validation->step, validation->loss, validation->metric, std::nullopt};
  if (validation->estimate && validation->estimate->ci95)
    result.metric_ci95 = Interval{validation->estimate->ci95->low, validation->estimate->ci95->high};
  return result;
}

TrainResult train(const Model& model, const TrainOptions& options, const Task& task) {
  return guarded([&] {
    const auto flags = options_of<hone::TrainOptions>(given(options));
    TrainedModel trained = train_model(engine(model), flags, context_of(task));
    const TrainingOutcome& outcome = trained.outcome;
    TrainResult result{.model = wrapped(std::move(trained.model)),
                       .classes = trained.classes,
                       .trained_elements = trained.trained_elems,
                       .data_rows = trained.data_rows,
                       .steps = outcome.steps,
                       .seconds = outcome.seconds,
                       .best = wrapped(outcome.best),
                       .last = wrapped(outcome.last),
                       .ended = outcome.ended,
                       .notes = trained.notes};
    for (const LogEntry& entry : outcome.log) result.history.push_back(described(entry));
    return result;
  });
}

}  // namespace hone::api
