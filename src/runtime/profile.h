// What a run did, step by step: plain data that jobs turn into tables.
#pragma once

#include <string>
#include <vector>

namespace hone {

struct StepProfile {
  std::string name;             // of the value the step computes
  std::string kind;             // "gemm" "row" ... or "interpreted"
  std::string ops;              // "linear+gelu"
  std::string why_interpreted;  // empty for compiled steps
  double milliseconds = 0;      // of the last run
  double flops = 0, bytes = 0;  // predicted
};

struct RunProfile {
  std::vector<StepProfile> steps;
  double total_milliseconds = 0;  // of the whole run; what the steps don't explain is dispatch and copying
};

}  // namespace hone
