// Several models as tasks take them, and what is found of their answers.
#pragma once

#include <hone/evaluate.h>
#include <hone/train.h>

#include "api/models.h"
#include "jobs/evaluate.h"
#include "jobs/quality_scale.h"
#include "jobs/training_run.h"

namespace hone::api {

// Throws Error where there is none.
std::vector<hone::Model> engine(const std::vector<Model>& models);

inline Interval wrapped(const hone::Interval& interval) { return {interval.low, interval.high}; }
inline std::optional<Interval> wrapped(const std::optional<hone::Interval>& interval) {
  return interval ? std::optional(wrapped(*interval)) : std::nullopt;
}
EvaluateResult wrapped(const QualityComparison& comparison);
OutputQuality wrapped(const OutputDistance& distance);
std::optional<ValidationResult> wrapped(const std::optional<Validation>& validation);
inline std::string metric_name(const QualityScale& scale) { return scale.metric ? scale.metric->name() : ""; }

}  // namespace hone::api
