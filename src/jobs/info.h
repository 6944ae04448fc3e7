// hone info: what is in a model.
#pragma once

#include "jobs/default_inputs.h"
#include "jobs/load_model.h"
#include "report/record.h"

namespace hone {

// Inputs, outputs, ops, parameters, formats, bytes, and FLOP of one run under the shapes.
Record info(const LoadedModel& model, const ShapeOptions& shapes);

// FLOP of one run, per op name, largest first.
std::vector<std::pair<std::string, double>> flops_by_op(const Graph& graph, const Bindings& bindings);

}  // namespace hone
