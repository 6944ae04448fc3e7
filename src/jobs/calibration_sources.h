// What passes ask of calibration data, as they take it.
#pragma once

#include <memory>

#include "jobs/calibration_data.h"
#include "passes/pipelines.h"
#include "runtime/session.h"

namespace hone {

struct CalibrationSources {
  StatisticsSource statistics;
  RangeSource ranges;
};

// Both empty where there are no data.
CalibrationSources calibration_sources(std::shared_ptr<const CalibrationData> data, const SessionOptions& session);

}  // namespace hone
