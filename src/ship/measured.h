// What is remembered of a candidate that was run, as numbers.
#pragma once

#include <array>

#include "ship/promise.h"

namespace hone {

// Infinity where there is none: measurements have neither NaN nor -infinity.
using MeasuredValues = std::array<double, 15>;
MeasuredValues values_of(const AnswerQuality& quality, const Speed& speed);
AnswerQuality quality_of(const MeasuredValues& values, bool has_figure);
Speed speed_of(const MeasuredValues& values);

}  // namespace hone
