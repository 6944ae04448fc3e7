// The least time that the measured peaks allow for a step, and in words what lies between that and the time it takes.
#pragma once

#include <string>

#include "base/peaks.h"
#include "runtime/profile.h"

namespace hone {

// What a step runs on.
struct StepSetting {
  double model_bytes = 0;  // of all constants: between two uses of a weight the others pass through the caches
  int threads = 1;         // peaks of one thread count as often
};

struct Bound {
  enum class By : uint8_t { unknown, compute, memory, overhead };
  By by = By::unknown;
  double compute_ms = 0, memory_ms = 0;  // what the arithmetic and the bytes need at least; 0 when no peak is known
  double share = 0;                      // the larger of the two over the time taken; 1: nothing to gain
};
const char* to_string(Bound::By by);  // "-" "compute" "memory" "overhead"

// Overhead: a step of a few microseconds that takes more than twice what the peaks allow. Otherwise the peak that
// allows less. Above 1, a share means that less was done than counted (Winograd's products, weights still in a cache).
Bound bound_of(const StepProfile& step, double milliseconds, const MachinePeaks& peaks, const StepSetting& setting);

// One sentence: "Reads 9.4 MB of weights once: memory allows 0.30 ms, it takes 0.36 ms (83 %)."
std::string why_not_faster(const StepProfile& step, double milliseconds, const Bound& bound);

}  // namespace hone
