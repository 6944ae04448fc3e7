// Are two virtual CPUs two cores just now? A host may put both on one physical core, and then two threads do the work
// of one. Every two-thread figure is shown beside this.
#pragma once

#include <optional>

namespace hone {

struct CpuContention {
  double alone[2] = {};     // GFLOP/s of each CPU with the other idle
  double together[2] = {};  // and with both at work
  double ratio() const { return (together[0] + together[1]) / (alone[0] + alone[1]); }  // 1: two cores; 0.5: one
};

// By the busy_loop() of a device; takes about 0.2 s. None when this process may use fewer than two CPUs, or there is no
// such loop for this one.
std::optional<CpuContention> cpu_contention();

}  // namespace hone
