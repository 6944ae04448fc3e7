// [passes.quantize] of MASE on a graph, as rules of hone's (passes/compress/quantize.h).
#pragma once

#include <string>
#include <vector>

#include "io/mase/config.h"
#include "io/mase/formats.h"
#include "ir/graph.h"

namespace hone {

struct MaseRules {
  std::vector<std::string> rule;   // in the order in which they are to be given
  std::vector<std::string> notes;  // what became of each key of the file: a sentence
};

// `graph` is in canonical form. Throws Error for a key of no layer, with the nearest; for layers and settings that no
// rule can say; and where the file chooses nothing.
MaseRules mase_rules(const MaseQuantize& pass, const Graph& graph, MaseBits bits);

}  // namespace hone
