#include "runtime/interpreted_step.h"

#include "ops/evaluate.h"
#include "runtime/drained.h"

namespace hone {

InterpretedStep::InterpretedStep(const RunPlan& plan, const Step& step)
    : node_(plan.graph().node(step->group.nodes[0])),
      attributes_(substituted(node_.attributes, plan.sizes.bindings())) {
  for (ValueId v : node_.results) {
    results_.push_back(plan.graph().type(v));
    results_.back().shape = to_shape(plan.sizes.shape(v));
  }
}

void InterpretedStep::run(const RunValues& values) const {
  std::vector<Tensor> operands(node_.operands.size());
  std::vector<const Tensor*> pointers(node_.operands.size(), nullptr);
  for (size_t o = 0; o < operands.size(); ++o)
    if (node_.operands[o] != kNone) {
      operands[o] = values.view(node_.operands[o]);
      pointers[o] = &operands[o];
    }
  const std::vector<Tensor> results = evaluate_op(*node_.op, {pointers, attributes_, results_});
  const Drained drained(values.queue());  // before the results go
  for (size_t r = 0; r < results.size(); ++r) values.set(node_.results[r], results[r]);
  values.queue().synchronise();
}

}  // namespace hone
