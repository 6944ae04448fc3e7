#include <hone/prune.h>

#include "api/given_options.h"
#include "api/guarded.h"
#include "api/judged.h"
#include "jobs/prune_model.h"

namespace hone::api {

PruneResult prune(const Model& model, const PruneOptions& options, const Task& task) {
  return guarded([&] {
    PrunedModel pruned = prune_model(engine(model), options_of<PruneFlags>(given(options)), context_of(task));
    PruneResult result{.model = wrapped(std::move(pruned.model)),
                       .is_smaller = pruned.is_smaller,
                       .parts = {},
                       .weights_before = pruned.weights_before,
                       .weights_after = pruned.weights_after,
                       .whole_bytes = pruned.stored.whole,
                       .sparse_bytes = pruned.stored.sparse,
                       .training = {},
                       .notes = pruned.passed_over};
    for (const hone::PrunedPart& part : pruned.parts)
      result.parts.push_back({part.name, part.all, part.gone, part.kept_because});
    for (const hone::StageTraining& stage : pruned.trained)
      result.training.push_back(
          {stage.outcome.steps, stage.data_rows, stage.outcome.seconds, wrapped(stage.outcome.best)});
    return result;
  });
}

}  // namespace hone::api
