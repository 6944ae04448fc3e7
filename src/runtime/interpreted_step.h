// A step that no kernel computes: by its op's own evaluation, on the host.
#pragma once

#include <vector>

#include "runtime/run_values.h"

namespace hone {

class InterpretedStep {
 public:
  InterpretedStep(const RunPlan& plan, const Step& step);  // the sizes of runs put in
  void run(const RunValues& values) const;

 private:
  const Node& node_;
  Attributes attributes_;
  std::vector<TensorType> results_;
};

}  // namespace hone
