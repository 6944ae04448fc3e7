// How a sweep trains variants of a model, all alike.
#pragma once

#include <string>

#include "jobs/evaluation.h"
#include "jobs/train_model.h"

namespace hone {

// What decides a trained variant besides the variant: for the name that it is remembered under.
std::string training_key(const TrainModelOptions& training);

// In canonical form. `name` goes before what is told. Texts are cut as they are where the variant is judged.
Graph trained_variant(const Model& variant, TrainModelOptions training, const EvaluationOptions& judged,
                      const std::string& name, const TaskContext& context);

}  // namespace hone
