// What an optimizer is: nodes that compute, from a parameter, its gradient and what earlier steps left, the parameter
// after this step. One file each, found by its OptimizerDef. What is the same for all elements is computed once for a
// group of parameters, as scalars; the rest is pointwise, so that one parameter's update is one kernel where each node
// of it feeds the next.
#pragma once

#include <any>
#include <span>
#include <string>
#include <string_view>

#include "ir/graph.h"
#include "base/any_options.h"

namespace hone {

// f32, of one shape.
struct Trained {
  ValueId w = kNone, gradient = kNone;
  ValueId moved = kNone;  // of a lazy table: [rows,1], the rows that a step changes, those with a gradient
};

// A step of parameters that share a rate and a decay.
class GroupStep {
 public:
  // `rate` and `step` are f32[]: the rate of this step, and its number, 1 for the first.
  GroupStep(Graph& graph, ValueId rate, ValueId step, double decay, std::span<const Trained> parameters)
      : rate(rate), step(step), decay(decay), parameters(parameters), graph_(graph) {}

  Graph& graph() { return graph_; }

  // What the optimizer keeps of a parameter from step to step: zeros at first.
  ValueId state(const Trained& parameter, const char* name, Shape shape);
  ValueId state(const Trained& parameter, const char* name) {
    return state(parameter, name, graph_.type(parameter.w).shape);
  }
  // `target` is w or a state. What lies like w takes the value in rows that move, and stays as it is in others.
  void update(const Trained& parameter, ValueId target, ValueId value);

  ValueId number(double value) { return graph_.add_scalar(static_cast<float>(value)); }
  ValueId keep();  // f32[]: 1 - rate · decay, the share that decoupled decay leaves
  // The gradient of w with decay joined in: that of loss + decay/2 · |w|².
  ValueId decayed_gradient(const Trained& parameter);

  const ValueId rate, step;
  const double decay;
  const std::span<const Trained> parameters;

 private:
  Graph& graph_;
};

struct OptimizerDef {
  const char* name;
  const char* doc;
  double rate, decay;  // where the user says nothing
  const OptionTable* options;
  void (*step)(GroupStep& step, const std::any& options);  // a struct of that table
};

// The state `name` of the parameter called `parameter`.
std::string state_label(std::string_view parameter, std::string_view name);

}  // namespace hone
