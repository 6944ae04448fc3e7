// The space of a search, of parameters that are keys of a TrialPlan.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "ir/graph.h"
#include "nas/search_figures.h"
#include "nas/trial_plan.h"
#include "study/space.h"

namespace hone {

// `parameters` as parse_space takes them (study/space.h), with two short forms:
//   format = {each = "op:linear", choices = ["int4", "int8"]}   one parameter for each weight that the address is of
//   layer = {each = "attention", choices = ["linear", "identity"]}   for each square linear layer, by a regular
//                                                                    expression of its name
// and, in choices of formats, patterns: "int{8,16}.f{2,4}", "keep", and "*" for an example of every format.
// `largest` is the model with every part that any candidate has. Throws Error for what matches nothing.
Json expanded_parameters(const Json& parameters, const Graph& largest, const std::string& source);

// The plan of a point: what is fixed, then each value. Throws Error, the parameter first.
TrialPlan plan_of(const TrialPlan& fixed, const Json& values);

// Every value of every parameter is tried on the plan. Throws Error for unknown names and values that are not
// accepted.
void check_space(const Space& space, const TrialPlan& fixed, const std::string& source);

// The plan with each parameter of the architecture at its largest; of lists, each element at its largest.
TrialPlan largest_plan(const Json& parameters, const TrialPlan& fixed);
// The same of a space, and with the smallest, which lacks the layers that may be left out.
enum class Corner : uint8_t { smallest, largest };
TrialPlan corner_plan(const Space& space, const TrialPlan& fixed, Corner corner);

// Names in "format." and "layer." of the space must be in `largest`.
void check_addresses(const Space& space, const Graph& largest, const std::string& source);

// Walks the space down one parameter after the other from its cheapest looking point until all limits hold. Throws
// Error with the least that was found when none holds. `measure` may throw Error for points that can't be.
void require_reachable(const Space& space, std::span<const FigureLimit> limits,
                       const std::function<Figures(const Json& values)>& measure);

}  // namespace hone
