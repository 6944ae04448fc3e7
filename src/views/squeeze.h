// The record of jobs/squeeze.h.
#pragma once

#include <string>

#include "jobs/squeeze.h"
#include "report/record.h"

namespace hone {

// Of what squeeze() made of `model` at `output`. Findings; tables "results", "comparison", "agreement", "evaluation"
// and "tensors"; bars of SQNR per tensor; the graph when Graphviz is installed.
Record view_of(const SqueezeResult& result, const Model& model, const std::string& output);

}  // namespace hone
