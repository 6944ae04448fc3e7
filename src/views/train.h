// The record of jobs/train_model.h.
#pragma once

#include <string>

#include "jobs/train_model.h"
#include "report/record.h"

namespace hone {

// `saved`: what save_trained() made of it at `output`; `original`: what was trained. Findings; "training"; curves of
// loss, metric and rate; "validation"; "confusion" of few classes.
Record view_of(const TrainedModel& trained, const Model& original, const std::string& output, const SavedModel& saved);

}  // namespace hone
