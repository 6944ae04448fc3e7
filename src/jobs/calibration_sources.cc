#include "jobs/calibration_sources.h"

#include "calibrate/collect.h"
#include "calibrate/ranges.h"

namespace hone {

CalibrationSources calibration_sources(std::shared_ptr<const CalibrationData> data, const SessionOptions& session) {
  if (!data) return {};
  return {[data, session](const Graph& graph, bool moments) {
            return collect_statistics(graph, data->batches, {.moments = moments, .session = session});
          },
          [data, session](const Graph& graph, std::span<const ObservedInput> inputs) {
            return observed_ranges(graph, inputs, data->batches, session);
          }};
}

}  // namespace hone
