// What the options of a training, its data and the model together decide, and the line that says what it takes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jobs/load_model.h"
#include "jobs/train_model.h"
#include "jobs/training_data.h"
#include "train/loop/trainer.h"
#include "train/losses/distillation.h"

namespace hone {

// The data, with classes numbered as the model numbers them where it knows their names.
Dataset read_for(const Model& model, const TrainModelOptions& options);

// The one that is asked for, or that of the labels. Throws Error where they do not go together.
std::string loss_for(const TrainingOptions& options, const LabelNeeds& needs);
// `text`: "", "balanced" or numbers separated by commas; else throws Error.
std::vector<double> class_weights(const std::string& text, const TrainingData& data);
std::optional<DistillationOptions> distillation_of(const TrainingOptions& options, const LabelNeeds& needs);

std::string memory_line(const TrainingMemory& memory);

}  // namespace hone
