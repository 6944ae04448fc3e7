// Curves of a training, as `hone train` gives them.
#pragma once

#include <string>

#include "labs/lab_results.h"
#include "report/record.h"

namespace hone {

// `plot` with the lines of a curve of the step's record: curve_accuracy, curve_loss.
LinePlot training_curve(const LabResults& results, const std::string& step, const std::string& curve, LinePlot plot);

// The validations of such a plot of accuracy, numbered.
Table epoch_table(const LinePlot& accuracy);

}  // namespace hone
