// What a training came to, as one line.
#pragma once

#include <string>

#include "jobs/training_run.h"
#include "report/record.h"

namespace hone {

// "trained on 112 rows of texts.csv for 28 steps in 3.1 s; accuracy 97.92 % (93.75 %-100.00 %) on 48 validation
// samples, with the weights of step 21".
std::string how_trained(const TrainingOutcome& outcome, int64_t rows, const std::string& data);

// The metric with its interval, where it has one, and how it is shown.
Cell metric_cell(const Validation& validation);
NumberStyle style_of(const Metric& metric);

}  // namespace hone
