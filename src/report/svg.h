// Plots as SVG elements: complete, without scripts, fonts or links, readable on light and dark ground (text takes the
// colour of the page around it), with a title and a description for screen readers.
#pragma once

#include <string>

#include "report/record.h"

namespace hone {

std::string svg(const ScatterPlot& plot);
std::string svg(const LinePlot& plot);
std::string svg(const BarChart& chart);

}  // namespace hone
