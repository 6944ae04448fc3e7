// The generated table of metrics.
#pragma once

#include <span>

#include "measure/metric.h"

namespace hone::measure {

std::span<const MetricDef* const> all();

}  // namespace hone::measure
