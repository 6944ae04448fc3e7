// Pictures of studies, as SVG elements like those of svg.h.
#pragma once

#include <string>
#include <vector>

#include "report/record.h"

namespace hone {

// The best value after each trial, of runs that differ in their seeds alone.
struct StudyCurve {
  std::string label;
  std::vector<std::vector<double>> runs;
};
// A line of medians for each, with all of its runs in a band around it, as far as the shortest run goes.
Drawing best_so_far_drawing(std::string key, const Axis& value, const std::vector<StudyCurve>& curves);

// One axis for each parameter and the last for the objective; a line for each trial, the better the warmer.
struct ParallelAxis {
  std::string title;
  std::vector<std::string> labels = {};  // of a category, whose values are their places
  bool logarithmic = false;
};
struct ParallelLine {
  std::vector<double> values;  // one for each axis; NaN: the trial has none
  double goodness = 0;         // 0 to 1
  std::string tooltip = {};
};
Drawing parallel_drawing(std::string key, std::string title, const std::vector<ParallelAxis>& axes,
                         const std::vector<ParallelLine>& lines);

// Which trials were under way when.
struct TimelineBar {
  double begin = 0, end = 0;  // seconds
  std::string state, tooltip;
};
Drawing timeline_drawing(std::string key, const std::vector<TimelineBar>& bars);

}  // namespace hone
