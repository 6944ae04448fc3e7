#include "jobs/sweep_training.h"

#include "base/hash.h"
#include "passes/pipelines.h"

namespace hone {

std::string training_key(const TrainModelOptions& training) {
  return sha256_hex(decisive_options(training.training, training.reading) + training.data).substr(0, 16);
}

Graph trained_variant(const Model& variant, TrainModelOptions training, const EvaluationOptions& judged,
                      const std::string& name, const TaskContext& context) {
  if (training.training.max_length == 0) training.training.max_length = judged.max_length;
  const TaskContext of_training{.progress = [&](const std::string& next) { context.tell(name + ": " + next); },
                                .cancelled = context.cancelled};
  return canonicalise(train_model(variant, training, of_training).model.graph);
}

}  // namespace hone
