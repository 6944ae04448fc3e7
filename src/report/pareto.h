// The points that no other point beats: smaller x is better (bytes, time), larger y is better (accuracy).
#pragma once

#include <vector>

#include "report/record.h"

namespace hone {

std::vector<Point> pareto_front(std::vector<Point> points);  // by ascending x, strictly ascending y

}  // namespace hone
