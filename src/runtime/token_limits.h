// What a model of tokens accepts, told before it runs: ids that its tables have, and no more tokens than it has
// positions. For models that state their positions, which builders of token models do. ONNX's Gather counts negative
// indices from the end, so graphs from elsewhere keep that; no tokenizer gives them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace hone {

struct TokenLimits {
  struct Input {
    std::string label;
    int64_t rows = 0;  // of the table that it selects from; 0: of none
  };
  std::vector<Input> inputs;  // the integer ones of shape [B,S]
  int64_t positions = 0;      // 0: not stated, and nothing is checked
};

TokenLimits token_limits(const Graph& graph);

// Throws Error naming the input, what was found where, what is accepted, and the way out.
void check_tokens(const TokenLimits& limits, const std::map<std::string, Tensor>& inputs);

}  // namespace hone
