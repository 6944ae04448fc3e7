// What a graph computes on calibration data, as passes and the search read it (gathered by calibrate/).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "formats/format.h"

namespace hone {

// Of the vectors that a weight is multiplied with: the inputs of a linear or matmul, the windows of a conv. Their K
// elements are in the order of the columns of the weight's matrix (for a conv: ky, kx, channel of the group).
struct LayerStatistics {
  int64_t vectors = 0;               // seen, of each group
  int64_t width = 0;                 // K
  int64_t groups = 1;                // of a grouped conv; the vectors below then lie group behind group
  std::vector<float> mean, max_abs;  // [groups * K]
  std::vector<float> moment;         // [groups, K, K]: mean of x x^T; empty when it was not asked for
};

// Of the values of an activation; 0 lies within: the values of padding are none of the data's.
struct ValueRange {
  float low = 0, high = 0;
};

// An activation whose scale calibration data choose: how, and what was found.
struct ObservedInput {
  int32_t value = -1;  // its id in the graph that is quantized
  Format format;
  std::string observer;
  ValueRange range = {};
};

struct Statistics {
  std::map<std::string, LayerStatistics> layers;  // by the label of the weight
};

}  // namespace hone
