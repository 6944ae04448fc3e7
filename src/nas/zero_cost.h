// Zero-cost scores: what a candidate promises before it is trained (Abdelfattah et al., "Zero-cost proxies for
// lightweight NAS", 2021). More is better of each; what they are worth is for rank correlations to say.
#pragma once

#include <set>
#include <string>

#include "data/reader.h"
#include "jobs/default_inputs.h"
#include "jobs/load_model.h"
#include "nas/search_figures.h"
#include "runtime/session.h"

namespace hone {

struct ZeroCostOptions {
  std::string data;  // of snip and gradient_norm: labelled rows for training
  DataOptions reading;
  int64_t samples = 64;  // the first so many of them
  ShapeOptions shapes;   // of the ones that synflow sends through
  SessionOptions session;
};

// snip: sum |w dL/dw|; gradient_norm: of dL/dw of all weights; synflow: prune/synaptic_flow.h. Those of them that are
// in `wanted`. Throws Error where the data have no labels, or the model has no gradient.
Figures zero_cost_figures(const Model& model, const std::set<std::string>& wanted, const ZeroCostOptions& options);

}  // namespace hone
