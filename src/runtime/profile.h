// What a run did, step by step: plain data that jobs turn into tables.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/peaks.h"

namespace hone {

struct StepProfile {
  std::string name;                       // of the value the step computes
  std::string kind;                       // "gemm" "row" ... or "interpreted"; of the host's kernel where that runs it
  std::string ops;                        // "linear+gelu"
  std::string why_interpreted;            // empty for compiled steps
  double flops = 0, bytes = 0;            // predicted
  double weight_bytes = 0;                // the part of `bytes` that is constants
  ProductUnit unit = ProductUnit::f32;    // that multiplies
  std::vector<std::string> weights = {};  // labels of the constants it reads
  std::string why_on_host = {};           // why the host's kernel runs it; empty where it does not
  double copied_bytes = 0;                // then: to the host and back
  bool on_host() const { return !why_on_host.empty(); }
};

// Times of one run, in nanoseconds of steady_ns(). Taking them costs an event of the queue per step, on the host
// a reading of the clock; what the steps are was written down when they were compiled.
struct RunProfile {
  std::span<const StepProfile> steps;  // in the order they ran in
  std::shared_ptr<const void> owner;   // keeps `steps`
  int64_t begin_ns = 0, end_ns = 0;    // of the whole run; what the steps don't explain is dispatch, inputs, outputs
  std::vector<int64_t> marks_ns;       // the start of the first step, then the end of each

  double milliseconds(size_t step) const { return static_cast<double>(marks_ns[step + 1] - marks_ns[step]) * 1e-6; }
  double total_milliseconds() const { return static_cast<double>(end_ns - begin_ns) * 1e-6; }
};

}  // namespace hone
