// How each step of a run is computed.
#pragma once

#include <map>
#include <vector>

#include "runtime/interpreted_step.h"
#include "runtime/run_plan.h"
#include "runtime/shared_kernels.h"

namespace hone {

struct StepCalls {
  explicit StepCalls(const RunPlan& plan);  // without code
  void find_code(const RunPlan& plan, SharedKernels& shared);

  // checked: a kernel that trusts values which the run computes, and which are looked at first.
  enum class How : uint8_t { nothing, kernel, checked, interpreted };
  struct Ready {
    How how = How::nothing;
    Code code = nullptr;
    Launch call;
  };
  std::vector<Ready> ready;  // per step
  // Likewise: sizes, and what they make of pointers, complete when a run is bound (argument_pointers.h).
  std::vector<KernelArgs> args;
  std::map<size_t, InterpretedStep> interpreted;  // by step
  std::vector<size_t> checked_first;              // steps that trust what is given, looked at before a run begins
  int64_t scratch_bytes = 0;                      // of each area
};

// Throws Error for a value that the kernel of the step trusts, and which is out of its range.
void check_trusted(const RunPlan& plan, const Step& step, KernelArgs args, const RunValues& values);

}  // namespace hone
